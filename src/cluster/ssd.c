/*
 * The SSD tier of a node. It holds whole prefixes, so that what it has is of use without anything else: the
 * blocks before an evicted one are written with it if they are not there yet. One writer a node works through
 * what comes, in order; reads and writes share the device, writes have a lower limit of their own. What is
 * read stays on the SSD and comes to DRAM as well.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/state.h"

static double block_bytes(const struct mc_cluster *c)
{
	return (double)c->view.block_tokens * c->cost->kv_bytes;
}

static void write_next(struct mc_ssd *s);

static void on_written(void *arg, uint32_t transfer)
{
	struct mc_ssd *s = arg;
	struct mc_ssd_write *w = &s->write.at[s->done++];

	(void)transfer;
	s->cluster->background--;
	s->staged -= w->lease.held - w->from;
	mc_pool_commit(s->pool, &w->lease, w->from, w->lease.held);
	mc_pool_release(s->pool, &w->lease);
	if (s->done == s->write.n)
		s->done = s->write.n = 0;
	else
		write_next(s);
}

static double write_bytes(const struct mc_ssd *s)
{
	const struct mc_ssd_write *w = &s->write.at[s->done];

	return (w->lease.held - w->from) * block_bytes(s->cluster);
}

/* The node is lost: so is all that waited to be written. */
static void on_unwritten(void *arg, uint32_t transfer)
{
	struct mc_ssd *s = arg;
	struct mc_cluster *c = s->cluster;
	double left = mc_cluster_broken(c, transfer, write_bytes(s));

	c->background--;
	c->crossed -= 2 * left;
	c->result->ssd_written_bytes -= left;
	for (; s->done < s->write.n; s->done++)
		mc_pool_release(s->pool, &s->write.at[s->done].lease);
	s->staged = 0;
	s->done = s->write.n = 0;
}

static void write_next(struct mc_ssd *s)
{
	struct mc_cluster *c = s->cluster;
	struct mc_transfer_spec spec = {
	    .from = s->home,
	    .to = s->home,
	    .extra = {s->link_device, s->link_write},
	    .n_extra = 2,
	    .bytes = write_bytes(s),
	    .done = on_written,
	    .failed = on_unwritten,
	    .arg = s,
	};

	c->result->ssd_written_bytes += spec.bytes;
	c->crossed += 2 * spec.bytes;
	c->background++;
	mc_fabric_start(c->fabric, &spec);
}

void mc_cluster_ssd_store(struct mc_cluster *c, uint32_t node, const uint64_t *id, uint32_t n)
{
	struct mc_ssd *s = &c->ssd[node];
	uint32_t steps, from;
	struct mc_ssd_write w;

	if (!s->pool || !n)
		return;
	mc_vec_reserve(&c->steps, n);
	steps = mc_tree_trail(c->tree, id, n, c->steps.at);
	from = mc_tree_match(c->tree, c->steps.at, steps, c->view.ssd + node);
	if (s->staged + (n - from) > s->staging) { /* the leading part that there is room for */
		uint32_t room = s->staging > s->staged ? (uint32_t)(s->staging - s->staged) : 0;

		c->result->ssd_unstored_blocks += n - from - room;
		n = from + room;
	}
	w = (struct mc_ssd_write){mc_pool_acquire(s->pool, id, n), from};
	if (w.lease.held == from) {
		mc_pool_release(s->pool, &w.lease); /* used, all the same */
		return;
	}
	s->staged += w.lease.held - from;
	if (s->write.n == s->write.cap && s->done) { /* what is written makes room before there is more */
		memmove(s->write.at, s->write.at + s->done, (s->write.n - s->done) * sizeof *s->write.at);
		s->write.n -= s->done;
		s->done = 0;
	}
	mc_vec_push(&s->write, w);
	if (s->write.n == 1)
		write_next(s);
}

static uint32_t link_add(struct mc_cluster *c, uint32_t node, const char *what, double bytes_per_s)
{
	char name[64], end[32];

	snprintf(name, sizeof name, "%s.%s", mc_cluster_name(mc_cluster_named(c), node, end, sizeof end),
		 what);
	return mc_fabric_link_add(c->fabric, name, bytes_per_s);
}

int mc_cluster_ssd_init(struct mc_cluster *c)
{
	const struct mc_scenario *sc = c->scenario;
	const struct mc_evictor *evictor = mc_evictor_find(sc->kv.ssd_evict);
	double bytes = sc->kv.ssd_tokens  ? (double)sc->kv.ssd_tokens * c->cost->kv_bytes
		       : sc->kv.ssd_bytes ? (double)sc->kv.ssd_bytes
					  : (double)c->cost->ssd_bytes;
	const char *key = sc->kv.ssd_tokens  ? "kv.ssd_tokens"
			  : sc->kv.ssd_bytes ? "kv.ssd_bytes"
					     : "hardware";
	uint32_t n = c->view.sources == MC_SOURCES_ALL ? mc_cluster_nodes(c) : c->view.n_prefill;

	if (!strcmp(sc->kv.ssd_write, "never") || !c->caching)
		return MC_OK;
	if (!(c->cost->ssd_read_bytes_per_s > 0 && c->cost->ssd_write_bytes_per_s > 0))
		return mc_scenario_bad(c->err, "kv.ssd_write",
				       "needs SSDs, and the hardware profile has none (hardware.ssds)");
	if (bytes * c->view.group / block_bytes(c) >= INT32_MAX)
		return mc_scenario_bad(c->err, key, "makes SSDs of over 2^31 blocks; use larger blocks");
	if (bytes < block_bytes(c))
		return mc_scenario_bad(c->err, key, "makes SSDs that hold not even one block");
	c->write_through = !strcmp(sc->kv.ssd_write, "through");
	c->view.ssd = mc_cluster_nodes(c);
	c->ssd = mc_xcalloc(mc_cluster_nodes(c), sizeof *c->ssd);
	if (evictor->foresee && !c->future)
		c->future = mc_future_new(c->trace);
	for (uint32_t i = 0; i < n; i++) {
		struct mc_ssd *s = &c->ssd[i];
		uint32_t width = mc_view_width(&c->view, i);

		c->ssds++;
		s->cluster = c;
		s->home = i;
		s->staging = (uint64_t)((double)sc->kv.ssd_staging_bytes * width / block_bytes(c));
		s->pool = mc_pool_new(c->tree, c->view.ssd + i, (uint32_t)(bytes * width / block_bytes(c)),
				      evictor);
		mc_pool_foresee(s->pool, c->future);
		s->link_device = link_add(c, i, "ssd", c->cost->ssd_read_bytes_per_s * width);
		s->link_write = link_add(c, i, "ssd.write", c->cost->ssd_write_bytes_per_s * width);
		if (!c->write_through && c->pool[i])
			mc_pool_note_evicted(c->pool[i], &c->evicted);
	}
	return MC_OK;
}

void mc_cluster_ssd_fini(struct mc_cluster *c)
{
	for (uint32_t i = 0; c->ssd && i < mc_cluster_nodes(c); i++) {
		mc_pool_free(c->ssd[i].pool);
		mc_vec_fini(&c->ssd[i].write);
	}
	free(c->ssd);
	mc_vec_fini(&c->evicted.id);
	mc_vec_fini(&c->evicted.end);
}

struct mc_lease mc_cluster_acquire(struct mc_cluster *c, uint32_t node, const uint64_t *id, uint32_t n)
{
	struct mc_lease lease = {MC_NONE, 0};
	uint32_t from = 0;

	if (mc_cluster_dead(c, node))
		return lease;
	lease = mc_pool_acquire(c->pool[node], id, n);
	for (size_t k = 0; k < c->evicted.end.n; k++) {
		mc_cluster_ssd_store(c, node, c->evicted.id.at + from, c->evicted.end.at[k] - from);
		from = c->evicted.end.at[k];
	}
	c->evicted.id.n = c->evicted.end.n = 0;
	return lease;
}
