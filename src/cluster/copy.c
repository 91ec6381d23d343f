/*
 * Copies that no request waits for: blocks that a prefill instance is to hold as well. What it holds already
 * is pinned while the rest is under way; the rest gets room, and is there, when all of it has come: until
 * then nobody counts on it.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/state.h"
#include "sched/replicate.h"

static double bytes(const struct mc_copying *y)
{
	return (double)(y->job.n - y->job.have) * (double)y->cluster->view.block_tokens *
	       y->cluster->cost->kv_bytes;
}

/* Is it one of the replication policy? */
static bool policys(const struct mc_copying *y)
{
	return y->job.bytes == &y->cluster->result->replica_bytes;
}

static void forget(struct mc_copying *y)
{
	struct mc_cluster *c = y->cluster;

	if (y->job.in_dram)
		mc_pool_release(c->pool[y->job.from], &y->source);
	mc_pool_release(c->pool[y->job.to], &y->target);
	mc_cluster_report_change(c, y->job.from, &(struct mc_node_change){.sends = -1});
	if (policys(y))
		mc_cluster_stale_moved(c, &(struct mc_replica_move){y->job.id[y->job.n - 1], y->job.to});
	c->background--;
	mc_cluster_roles_eased(c);
	*y->link = y->next;
	if (y->next)
		y->next->link = y->link;
	free((void *)y->job.id);
	free(y);
}

static void on_copied(void *arg, uint32_t transfer)
{
	struct mc_copying *y = arg;
	struct mc_cluster *c = y->cluster;
	struct mc_pool *pool = c->pool[y->job.to];
	struct mc_lease lease = mc_cluster_acquire(c, y->job.to, y->job.id, y->job.n);

	(void)transfer;
	if (lease.held > y->job.have)
		mc_pool_commit(pool, &lease, y->job.have, lease.held);
	if (c->write_through)
		mc_cluster_ssd_store(c, y->job.to, y->job.id, lease.held);
	mc_pool_release(pool, &lease);
	forget(y);
}

/* One end is lost. */
static void on_uncopied(void *arg, uint32_t transfer)
{
	struct mc_copying *y = arg;
	struct mc_cluster *c = y->cluster;
	double left = mc_cluster_broken(c, transfer, bytes(y));

	*y->job.bytes -= left;
	c->crossed -= left;
	forget(y);
}

void mc_cluster_copy(struct mc_cluster *c, const struct mc_copy_job *job)
{
	struct mc_copying *y = mc_xcalloc(1, sizeof *y);
	uint64_t *id = mc_xmalloc(job->n * sizeof *id);
	struct mc_transfer_spec spec = {
	    .from = job->from,
	    .to = job->to,
	    .startup = mc_time_from_s(c->cost->net_startup_s),
	    .done = on_copied,
	    .failed = on_uncopied,
	    .arg = y,
	};

	assert(job->have < job->n && job->from != job->to);
	memcpy(id, job->id, job->n * sizeof *id);
	y->cluster = c;
	y->job = *job;
	y->job.id = id;
	if (job->in_dram)
		y->source = mc_pool_pin(c->pool[job->from], id, job->n);
	y->target = mc_pool_pin(c->pool[job->to], id, job->have);
	y->next = c->copies;
	y->link = &c->copies;
	if (y->next)
		y->next->link = &y->next;
	c->copies = y;
	spec.bytes = bytes(y);
	*job->bytes += spec.bytes;
	c->crossed += spec.bytes;
	c->background++;
	if (policys(y)) /* who decided on it knows */
		c->view.node[job->from].sends++;
	else
		mc_cluster_report_change(c, job->from, &(struct mc_node_change){.sends = 1});
	y->transfer = mc_fabric_start(c->fabric, &spec);
}

void mc_cluster_copies_stop(struct mc_cluster *c)
{
	while (c->copies) {
		struct mc_copying *y = c->copies;
		double left = bytes(y) - mc_fabric_cancel(c->fabric, y->transfer);

		*y->job.bytes -= left;
		c->crossed -= left;
		forget(y);
	}
}
