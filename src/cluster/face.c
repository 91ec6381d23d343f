/*
 * A placement by a view that is late meets what is there now (conductor.staleness). Of what the instance was
 * to hold it uses what it does hold, more or less; a part that its source has only the beginning of is
 * shortened, and begins where the blocks before it end; one that the source has nothing of is asked for in
 * vain, which takes a network start-up. The rest is computed.
 */
#include "cluster/state.h"

/* What is left of a placement. */
struct facing {
	struct mc_cluster *cluster;
	const struct mc_score *placed;
	struct mc_score now;
	uint32_t steps; /* of the prompt's way through the pools' own tree: c->steps */
	uint32_t lost;  /* blocks that were counted on and are not there */
};

/* The Conductor has counted it; it learns as late as of any that nothing is sent. */
static void not_asked(struct facing *x, const struct mc_part *part)
{
	struct mc_cluster *c = x->cluster;
	uint32_t home = mc_view_home(&c->view, part->node);
	struct mc_node_change over = {.sends = -(home != x->placed->prefill), .reads = -(home != part->node)};

	c->view.node[home].sends += home != x->placed->prefill;
	c->view.node[home].reads += home != part->node;
	mc_cluster_report_change(c, home, &over);
}

static void face_part(struct facing *x, const struct mc_part *part)
{
	struct mc_cluster *c = x->cluster;
	uint32_t has = mc_tree_match_resident(c->tree, c->steps.at, x->steps, part->node);
	uint32_t to = has < part->to ? has : part->to, from = x->now.hit;

	x->lost += part->to - (to > part->from ? to : part->from);
	if (part->to <= from || (to <= from && mc_view_home(&c->view, part->node) == x->placed->prefill)) {
		not_asked(x, part);
		return;
	}
	to = to > from ? to : from;
	x->now.part[x->now.n_parts++] = (struct mc_part){part->node, from, to};
	x->now.hit = to;
}

void mc_cluster_face(struct mc_cluster *c, const struct mc_prompt *prompt, struct mc_score *placed)
{
	struct facing x = {.cluster = c, .placed = placed, .now = *placed};
	uint32_t local;

	mc_vec_reserve(&c->steps, prompt->n_blocks);
	x.steps = mc_tree_trail(c->tree, prompt->block, prompt->n_blocks, c->steps.at);
	local = mc_tree_match(c->tree, c->steps.at, x.steps, placed->prefill);
	mc_cluster_stale_given(c, prompt, placed, local);
	x.now.local = x.now.hit = local;
	x.now.n_parts = 0;
	x.lost = local < placed->local ? placed->local - local : 0;
	for (uint32_t k = 0; k < placed->n_parts; k++)
		face_part(&x, &placed->part[k]);
	c->result->stale_blocks += x.lost;
	*placed = x.now;
}
