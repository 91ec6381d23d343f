/*
 * What fails, carried out. A node that is lost stops computing and sending at once; the Conductor knows
 * faults.detect later (or when the node is back, if that is earlier), and until then goes on as before: it
 * places requests there, and names the node as a source. Then recover.c clears up. The memory of the node is
 * gone, what its SSDs hold is there again when it is back.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/fault_events.h"
#include "cluster/state.h"
#include "engine/kinds.h"

static void plan_next(struct mc_cluster *c)
{
	if (mc_faults_next(c->faults, &c->fault))
		mc_loop_at(&c->loop, &c->fail, c->fault.at);
}

static void on_detect(struct mc_loop *loop, struct mc_event *ev)
{
	struct mc_outage *o = mc_container_of(ev, struct mc_outage, detect);

	(void)loop;
	o->known = true;
	mc_view_down(&o->cluster->view, o->node, true);
	mc_cluster_recover(o->cluster, o->node);
}

static void node_lost(struct mc_cluster *c, struct mc_outage *o)
{
	uint32_t first = c->view.n_prefill;

	o->down = true;
	o->known = false;
	o->since = c->loop.now;
	c->result->outages.nodes++;
	if (o->node < first) {
		struct mc_prefill *p = &c->prefill[o->node];
		mc_time busy = p->busy;

		mc_prefill_halt(p);
		c->result->outages.lost_prefill += p->busy - busy;
	} else {
		mc_decode_halt(&c->decode[o->node - first]);
	}
	mc_fabric_endpoint_set(c->fabric, o->node, false);
	mc_loop_at(&c->loop, &o->detect, c->loop.now + c->scenario->faults.detect);
}

static void node_back(struct mc_cluster *c, struct mc_outage *o)
{
	mc_fabric_endpoint_set(c->fabric, o->node, true);
	o->down = false;
	c->result->outages.node_down += c->loop.now - o->since;
	if (!o->known) {
		mc_loop_cancel(&c->loop, &o->detect);
		mc_cluster_recover(c, o->node);
	} else {
		mc_view_down(&c->view, o->node, false);
	}
}

static void count_nics(struct mc_cluster *c, struct mc_outage *o)
{
	c->result->outages.nic_down += o->nics * (c->loop.now - o->nics_since);
	o->nics_since = c->loop.now;
}

static void nic_set(struct mc_cluster *c, const struct mc_fault *fault)
{
	struct mc_outage *o = &c->outage[fault->node];

	count_nics(c, o);
	o->nics += fault->begins ? 1 : UINT32_MAX;
	c->result->outages.nics += fault->begins;
	mc_fabric_nic_set(c->fabric, fault->node, fault->nic, !fault->begins);
}

/* Is this link one that the fault makes slow? Those of a node are its NICs; of a group's, numbered through.
 */
static bool covers(const struct mc_cluster *c, const struct mc_fault *fault, const char *link)
{
	const char *dot = strchr(link, '.');
	char node[32], want[64];

	if (fault->node == MC_NONE)
		return !strcmp(link, fault->link);
	mc_cluster_name(mc_cluster_named(c), fault->node, node, sizeof node);
	if (strncmp(link, node, strlen(node)) || dot != link + strlen(node))
		return false;
	link = dot + 1;
	if (fault->what == MC_FAULT_SSD)
		return !strncmp(link, "ssd", 3);
	if (fault->nic == MC_NONE) {
		if (!strncmp(link, "node", 4) && strchr(link, '.'))
			link = strchr(link, '.') + 1;
		return !strcmp(link, "out") || !strcmp(link, "in") || !strncmp(link, "nic", 3);
	}
	if (mc_view_width(&c->view, fault->node) > 1)
		snprintf(want, sizeof want, "node%u.nic%u.", fault->nic / mc_cluster_nics(c),
			 fault->nic % mc_cluster_nics(c));
	else
		snprintf(want, sizeof want, "nic%u.", fault->nic);
	return !strncmp(link, want, strlen(want));
}

/* What all that is slow now leaves of the links that one of them covers; returns how many links. */
static uint32_t rescale(struct mc_cluster *c, const struct mc_fault *fault)
{
	uint32_t n = 0;
	char link[256];

	for (uint32_t l = 0; l < c->result->n_links; l++) {
		double factor = 1;

		mc_fabric_link_name(c->fabric, l, link, sizeof link);
		if (!covers(c, fault, link))
			continue;
		n++;
		for (size_t k = 0; k < c->slow.n; k++)
			if (covers(c, &c->slow.at[k], link))
				factor *= c->slow.at[k].factor;
		mc_fabric_link_scale(c->fabric, l, factor);
	}
	return n;
}

static void slow_set(struct mc_cluster *c, const struct mc_fault *fault)
{
	size_t kept = 0;

	if (fault->begins)
		mc_vec_push(&c->slow, *fault);
	for (size_t k = 0; k < c->slow.n && !fault->begins; k++)
		if (c->slow.at[k].event != fault->event)
			c->slow.at[kept++] = c->slow.at[k];
	if (!fault->begins)
		c->slow.n = kept;
	rescale(c, fault);
}

static void on_fail(struct mc_loop *loop, struct mc_event *ev)
{
	struct mc_cluster *c = mc_container_of(ev, struct mc_cluster, fail);
	const struct mc_fault *fault = &c->fault;

	(void)loop;
	if (mc_cluster_over(c))
		return;
	if (fault->what == MC_FAULT_NIC)
		nic_set(c, fault);
	else if (fault->what != MC_FAULT_NODE)
		slow_set(c, fault);
	else if (fault->begins)
		node_lost(c, &c->outage[fault->node]);
	else
		node_back(c, &c->outage[fault->node]);
	plan_next(c);
}

static int bad(struct mc_cluster *c, const struct mc_fault *fault, const char *field, const char *what)
{
	char key[64];

	snprintf(key, sizeof key, "faults.events[%u].%s", fault->event, field);
	mc_err_set(c->err, MC_USAGE, "%s", what);
	return mc_err_at(c->err, NULL, 0, 0, key);
}

/* What is to be slow exists, and does not stand still. */
static int check_slow(struct mc_cluster *c, const struct mc_spells *spells)
{
	c->slowest = 1;
	for (size_t i = 0; i < spells->n; i++) {
		const struct mc_fault *fault = &spells->at[i].fault;

		if (fault->what <= MC_FAULT_NIC)
			continue;
		c->slowest *= fault->factor;
		if (rescale(c, fault))
			continue;
		if (fault->what == MC_FAULT_SSD)
			return bad(c, fault, "node", "has no SSD tier (kv.ssd_write)");
		return bad(c, fault, "link",
			   "is no link of this cluster; results name them (network.busiest_link, link_max of "
			   "the time series)");
	}
	return MC_OK;
}

int mc_cluster_outages_init(struct mc_cluster *c)
{
	struct mc_faults_shape shape = {c->view.n_prefill, c->view.n_decode, c->view.group,
					mc_cluster_nics(c)};
	struct mc_spells spells = {0};
	int rc;

	c->slowest = 1;
	if (!mc_faults_any(c->scenario))
		return MC_OK;
	rc = mc_spells_read(c->scenario, &shape, &spells, c->err);
	if (!rc)
		rc = check_slow(c, &spells);
	mc_vec_fini(&spells);
	if (!rc)
		rc = mc_faults_new(c->scenario, &shape, &c->faults, c->err);
	if (rc)
		return rc;
	c->outage = mc_xcalloc(mc_cluster_nodes(c), sizeof *c->outage);
	for (uint32_t i = 0; i < mc_cluster_nodes(c); i++) {
		c->outage[i] = (struct mc_outage){.cluster = c, .node = i};
		mc_event_init(&c->outage[i].detect, MC_EV_FAULT, on_detect);
	}
	mc_event_init(&c->fail, MC_EV_FAULT, on_fail);
	plan_next(c);
	return MC_OK;
}

void mc_cluster_outages_fini(struct mc_cluster *c)
{
	mc_faults_free(c->faults);
	free(c->outage);
	mc_vec_fini(&c->slow);
	mc_vec_fini(&c->again);
}

void mc_cluster_outages_collect(struct mc_cluster *c)
{
	struct mc_outages *all = &c->result->outages;

	for (uint32_t i = 0; c->outage && i < mc_cluster_nodes(c); i++) {
		struct mc_outage *o = &c->outage[i];

		/* Times up to the last event of a request, the end of the run. */
		if (o->down && o->since < c->result->end)
			all->node_down += c->result->end - o->since;
		if (o->nics_since < c->result->end)
			all->nic_down += o->nics * (c->result->end - o->nics_since);
	}
}
