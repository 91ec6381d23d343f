#include "sched/replicate.h"

#include <stdlib.h>

#include "kv/heat.h"
#include "sched/search.h"

/* A run that is hot, or has copies to spare. */
struct candidate {
	uint32_t heat, run, depth; /* depth: blocks up to its end */
};

struct candidates {
	MC_VEC(struct candidate)
};

/* One plan. */
struct plan {
	const struct mc_replicate *p;
	const struct mc_view *view;
	const struct mc_replica_moves *under_way;
	struct mc_replica_actions *out;
	uint32_t copies; /* of out */
	struct {
		MC_VEC(struct mc_step)
	} way; /* scratch: from the root to a run */
};

/* Does the instance have all of the run? */
static bool has(const struct plan *q, uint32_t run, uint32_t node)
{
	uint32_t n, all = mc_tree_length(q->view->tree, run), k = 0;
	const struct mc_copy *c = mc_tree_copies(q->view->tree, run, &n);

	while (k < n && c[k].node < node)
		k++;
	return k < n && c[k].node == node && c[k].resident == all;
}

/* Is a copy of the run on its way to the instance? A longer chain that is planned brings it along. */
static bool coming(const struct plan *q, uint32_t run, uint32_t node)
{
	uint64_t last = mc_tree_last(q->view->tree, run);

	for (size_t k = 0; k < q->under_way->n; k++)
		if (q->under_way->at[k].last == last && q->under_way->at[k].to == node)
			return true;
	for (size_t k = 0; k < q->out->n; k++) {
		uint32_t r = q->out->at[k].run;

		if (q->out->at[k].drop || q->out->at[k].to != node)
			continue;
		while (r != run && r != MC_NONE)
			r = mc_tree_parent(q->view->tree, r);
		if (r == run)
			return true;
	}
	return false;
}

/* Living prefill instances that have all of the run. */
static uint32_t holders(const struct plan *q, uint32_t run)
{
	uint32_t n, all = mc_tree_length(q->view->tree, run), found = 0;
	const struct mc_copy *c = mc_tree_copies(q->view->tree, run, &n);

	for (uint32_t k = 0; k < n && c[k].node < q->view->n_prefill; k++)
		found += c[k].resident == all && !q->view->node[c[k].node].down;
	return found;
}

/* Those that are about to. */
static uint32_t coming_to(const struct plan *q, uint32_t run)
{
	const struct mc_view_living *l = &q->view->prefill_living;
	uint32_t found = 0;

	for (uint32_t k = 0; k < l->n; k++)
		found += coming(q, run, l->at[k]) && !has(q, run, l->at[k]);
	return found;
}

/* The way from the root to the run's end. */
static void find_way(struct plan *q, uint32_t run)
{
	const struct mc_tree *t = q->view->tree;

	q->way.n = 0;
	for (uint32_t r = run; r != MC_NONE; r = mc_tree_parent(t, r))
		mc_vec_push(&q->way, ((struct mc_step){r, mc_tree_first(t, r) + mc_tree_length(t, r)}));
	for (size_t i = 0, j = q->way.n; i + 1 < j; i++) {
		struct mc_step x = q->way.at[--j];

		q->way.at[j] = q->way.at[i];
		q->way.at[i] = x;
	}
}

static uint32_t find_source(const struct plan *q, uint32_t run)
{
	uint32_t n, all = mc_tree_length(q->view->tree, run), pick = MC_NONE;
	const struct mc_copy *c = mc_tree_copies(q->view->tree, run, &n);
	const struct mc_view_node *node = q->view->node;

	for (uint32_t k = 0; k < n && c[k].node < mc_search_sources(q->view); k++)
		if (c[k].resident == all && !node[c[k].node].down &&
		    (pick == MC_NONE || node[c[k].node].sends < node[pick].sends))
			pick = c[k].node;
	return pick;
}

static uint32_t find_target(struct plan *q, uint32_t run)
{
	const struct mc_view *v = q->view;
	uint32_t pick = MC_NONE, most = 0, all = mc_tree_first(v->tree, run) + mc_tree_length(v->tree, run);

	find_way(q, run);
	for (uint32_t k = 0; k < v->prefill_living.n; k++) {
		uint32_t i = v->prefill_living.at[k];
		uint32_t here = mc_tree_match_resident(v->tree, q->way.at, (uint32_t)q->way.n, i);

		if (here == all || coming(q, run, i))
			continue;
		if (pick == MC_NONE || here > most ||
		    (here == most && mc_rank_before(&v->prefill_rank, i, pick))) {
			pick = i;
			most = here;
		}
	}
	return pick;
}

static void plan_copies(struct plan *q, const struct candidate *c)
{
	uint32_t want =
	    q->p->replicas < q->view->prefill_living.n ? q->p->replicas : q->view->prefill_living.n;
	uint32_t have = holders(q, c->run) + coming_to(q, c->run);

	for (; have < want && q->under_way->n + q->copies < q->p->transfers; have++) {
		struct mc_replica_action a = {false, c->run, find_source(q, c->run), find_target(q, c->run)};

		if (a.from == MC_NONE || a.to == MC_NONE)
			return;
		mc_vec_push(q->out, a);
		q->copies++;
	}
}

/* The instances that are free last lose theirs. */
static void plan_drops(struct plan *q, const struct candidate *c)
{
	uint32_t n, spare = holders(q, c->run) - q->p->replicas, all = mc_tree_length(q->view->tree, c->run);
	const struct mc_copy *copy = mc_tree_copies(q->view->tree, c->run, &n);
	size_t begin = q->out->n;

	while (spare--) {
		uint32_t pick = MC_NONE;

		for (uint32_t k = 0; k < n && copy[k].node < q->view->n_prefill; k++) {
			uint32_t i = copy[k].node;
			bool taken = copy[k].resident < all || q->view->node[i].down;

			for (size_t a = begin; a < q->out->n; a++)
				taken |= q->out->at[a].to == i;
			if (!taken && (pick == MC_NONE || mc_rank_before(&q->view->prefill_rank, pick, i)))
				pick = i;
		}
		mc_vec_push(q->out, ((struct mc_replica_action){true, c->run, MC_NONE, pick}));
	}
}

static int hottest_first(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->heat != y->heat)
		return x->heat > y->heat ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth > y->depth ? -1 : 1;
	return x->run < y->run ? -1 : x->run > y->run;
}

static int coldest_first(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->heat != y->heat)
		return x->heat < y->heat ? -1 : 1;
	return hottest_first(a, b);
}

void mc_replicate_plan(const struct mc_replicate *p, const struct mc_view *view,
		       const struct mc_replica_moves *under_way, struct mc_replica_actions *out)
{
	struct plan q = {.p = p, .view = view, .under_way = under_way, .out = out};
	const struct mc_tree *t = view->tree;
	struct candidates hot = {0}, spare = {0};
	uint64_t limit = (uint64_t)p->heat * MC_TREE_HEAT;

	for (uint32_t r = mc_tree_next(t, MC_NONE); r != MC_NONE; r = mc_tree_next(t, r)) {
		struct candidate c = {mc_tree_heat(t, r, p->tick), r,
				      mc_tree_first(t, r) + mc_tree_length(t, r)};

		if (c.heat >= limit)
			mc_vec_push(&hot, c);
		else if (c.heat < limit / 2 && holders(&q, r) > p->replicas)
			mc_vec_push(&spare, c);
	}
	if (hot.n)
		qsort(hot.at, hot.n, sizeof *hot.at, hottest_first);
	for (size_t i = 0; i < hot.n && under_way->n + q.copies < p->transfers; i++)
		plan_copies(&q, &hot.at[i]);
	if (spare.n)
		qsort(spare.at, spare.n, sizeof *spare.at, coldest_first);
	for (size_t i = 0; i < spare.n; i++)
		plan_drops(&q, &spare.at[i]);
	mc_vec_fini(&hot);
	mc_vec_fini(&spare);
	mc_vec_fini(&q.way);
}
