/* The replication policy: its rules on random worlds, choices by hand, and what becomes of them in a cluster.
 */
#include "cluster_fixture.h"

#include "kv/heat.h"
#include "kv/pool.h"
#include "sched/replicate.h"

enum { NODES = 6, DEPTH = 20, LEASES = 40 };

struct world {
	struct mc_view view;
	struct mc_tree *tree;
	struct mc_pool *pool[NODES + 1]; /* prefill instances and one decode node */
	struct mc_lease lease[LEASES];
	uint32_t at[LEASES], leases;
};

/* Prompt k: beginnings are shared, the more the lower its digits. */
static uint32_t make_prompt(uint64_t k, uint64_t *id)
{
	uint32_t n = 1 + (uint32_t)(k % DEPTH);
	uint64_t chain = 7;

	for (uint32_t b = 0; b < n; b++)
		id[b] = chain = mc_hash_pair(chain, b < 3 ? 0 : (k >> (2 * (b / 5))) % 3);
	return n;
}

static void world_init(struct world *w)
{
	*w = (struct world){.tree = mc_tree_new()};
	mc_tree_groups(w->tree, NODES, NODES + 1);
	mc_view_init(&w->view, NODES, 1);
	w->view.tree = w->tree;
	w->view.sources = MC_SOURCES_PREFILL;
	w->view.block_tokens = 16;
	for (uint32_t i = 0; i <= NODES; i++)
		w->pool[i] = mc_pool_new(w->tree, i, 200, mc_evictor_find("lru"));
}

static void world_fini(struct world *w)
{
	while (w->leases--)
		mc_pool_release(w->pool[w->at[w->leases]], &w->lease[w->leases]);
	for (uint32_t i = 0; i <= NODES; i++)
		mc_pool_free(w->pool[i]);
	mc_tree_free(w->tree);
	mc_view_fini(&w->view);
}

/* The node gets the prompt, `there` of its blocks resident, the rest promised. */
static void give(struct world *w, uint32_t node, const uint64_t *id, uint32_t n, uint32_t there)
{
	struct mc_lease l = mc_pool_acquire(w->pool[node], id, n);

	mc_pool_commit(w->pool[node], &l, 0, there);
	if (there < n && w->leases < LEASES) {
		w->at[w->leases] = node;
		w->lease[w->leases++] = l;
	} else {
		mc_pool_release(w->pool[node], &l);
	}
}

static void touch(struct world *w, const uint64_t *id, uint32_t n, uint32_t tick)
{
	struct mc_step step[DEPTH];

	mc_tree_touch(w->tree, step, mc_tree_trail(w->tree, id, n, step), tick);
}

static uint32_t whole_at(const struct world *w, uint32_t run, uint32_t node)
{
	uint32_t n;
	const struct mc_copy *c = mc_tree_copies(w->tree, run, &n);

	for (uint32_t k = 0; k < n; k++)
		if (c[k].node == node)
			return c[k].resident == mc_tree_length(w->tree, run);
	return 0;
}

static uint32_t copies(const struct world *w, uint32_t run)
{
	uint32_t found = 0;

	for (uint32_t i = 0; i < NODES; i++)
		found += !w->view.node[i].down && whole_at(w, run, i);
	return found;
}

static bool leads_to(const struct world *w, uint32_t run, uint32_t end)
{
	while (end != MC_NONE && end != run)
		end = mc_tree_parent(w->tree, end);
	return end == run;
}

/* What each run will have when all actions are done. */
static void check_plan(struct world *w, const struct mc_replicate *p, const struct mc_replica_moves *moves,
		       const struct mc_replica_actions *a)
{
	uint32_t begun = 0, limit = p->heat * MC_TREE_HEAT, living = w->view.prefill_living.n;
	uint32_t want = p->replicas < living ? p->replicas : living;
	bool full;

	for (size_t k = 0; k < a->n; k++) {
		const struct mc_replica_action *x = &a->at[k];
		uint32_t heat = mc_tree_heat(w->tree, x->run, p->tick);

		ck_assert(!w->view.node[x->to].down && x->to < NODES);
		ck_assert_int_eq(whole_at(w, x->run, x->to), x->drop);
		ck_assert(x->drop ? heat < limit / 2 : heat >= limit);
		ck_assert(x->drop || (whole_at(w, x->run, x->from) && !w->view.node[x->from].down));
		begun += !x->drop;
	}
	full = moves->n + begun >= p->transfers;
	ck_assert(begun == 0 || moves->n + begun <= p->transfers);
	for (uint32_t r = mc_tree_next(w->tree, MC_NONE); r != MC_NONE; r = mc_tree_next(w->tree, r)) {
		uint32_t have = copies(w, r), heat = mc_tree_heat(w->tree, r, p->tick), more = 0, gone = 0,
			 coming = 0;

		for (size_t k = 0; k < a->n; k++) {
			more +=
			    !a->at[k].drop && leads_to(w, r, a->at[k].run) && !whole_at(w, r, a->at[k].to);
			gone += a->at[k].drop && a->at[k].run == r;
		}
		for (size_t k = 0; k < moves->n; k++)
			coming += moves->at[k].last == mc_tree_last(w->tree, r);
		if (heat < limit / 2)
			ck_assert_uint_eq(have - gone, have < p->replicas ? have : p->replicas);
		else
			ck_assert_uint_eq(gone, 0);
		if (heat >= limit && !full && have) /* a source, and room for all */
			ck_assert_uint_ge(have + more + coming, want);
	}
}

START_TEST(rules_on_random_worlds)
{
	uint64_t r = (uint64_t)_i + 1;
	struct world w;
	uint64_t id[DEPTH];
	uint32_t begun = 0, dropped = 0;

	world_init(&w);
	for (int round = 0; round < 40; round++) {
		struct mc_replicate p = {1 + (uint32_t)draw(&r, NODES), 1 + (uint32_t)draw(&r, 4),
					 draw(&r, 2) ? 1 + (uint32_t)draw(&r, 4) : 1000, (uint32_t)round + 1};
		struct mc_replica_actions a = {0};
		struct mc_replica_moves moves = {0};

		for (int k = 0; k < 20; k++) {
			uint32_t n = make_prompt(draw(&r, 60), id), node = (uint32_t)draw(&r, NODES + 1);

			touch(&w, id, n, p.tick - 1);
			give(&w, node, id, n, draw(&r, 5) ? n : (uint32_t)draw(&r, n));
			w.view.node[node].sends = (uint32_t)draw(&r, 4);
			if (node < NODES)
				mc_view_prefill_set(&w.view, node, (mc_time)draw(&r, 1000));
		}
		if (!draw(&r, 4))
			mc_view_down(&w.view, (uint32_t)draw(&r, NODES - 1), draw(&r, 2));
		mc_replicate_plan(&p, &w.view, &moves, &a);
		check_plan(&w, &p, &moves, &a);
		for (size_t k = 0; k < a.n;
		     k++) { /* half of the copies are under way now; the drops are done */
			if (a.at[k].drop)
				dropped += mc_pool_discard(w.pool[a.at[k].to], a.at[k].run);
			else if (draw(&r, 2))
				mc_vec_push(&moves, ((struct mc_replica_move){
							mc_tree_last(w.tree, a.at[k].run), a.at[k].to}));
			begun += !a.at[k].drop;
		}
		a.n = 0;
		mc_replicate_plan(&p, &w.view, &moves, &a);
		check_plan(&w, &p, &moves, &a);
		mc_vec_fini(&a);
		mc_vec_fini(&moves);
	}
	ck_assert_uint_gt(begun, 10);
	ck_assert_uint_gt(dropped, 20);
	world_fini(&w);
}
END_TEST

START_TEST(choices_by_hand)
{
	struct mc_replicate p = {3, 2, 8, 1};
	struct mc_replica_actions a = {0};
	struct mc_replica_moves moves = {0};
	struct world w;
	uint64_t id[DEPTH];
	uint32_t run;

	world_init(&w);
	for (uint32_t b = 0; b < DEPTH; b++)
		id[b] = mc_hash_u64(b + 1);
	give(&w, 0, id, 10, 10);
	give(&w, 1, id, 10, 10);
	give(&w, 2, id, 4, 4); /* has a part */
	w.view.node[0].sends = 2;
	w.view.node[1].sends = 1;
	for (int k = 0; k < 3; k++)
		touch(&w, id, 10, 0);
	mc_replicate_plan(&p, &w.view, &moves, &a); /* 3 prompts have cooled to 1.5 */
	ck_assert_uint_eq(a.n, 0);
	touch(&w, id, 10, 0);
	mc_replicate_plan(&p, &w.view, &moves, &a);
	/* The longest chain first, which brings its beginning along. */
	ck_assert_uint_eq(a.n, 1);
	run = a.at[0].run;
	ck_assert(!a.at[0].drop);
	ck_assert_uint_eq(mc_tree_first(w.tree, run) + mc_tree_length(w.tree, run), 10);
	ck_assert_uint_eq(a.at[0].from, 1);
	ck_assert_uint_eq(a.at[0].to, 2);
	/* It is under way, and one more is wanted: on the node that is free first. */
	mc_vec_push(&moves, ((struct mc_replica_move){id[9], 2}));
	mc_view_prefill_set(&w.view, 3, 500);
	mc_view_prefill_set(&w.view, 4, 300);
	mc_view_prefill_set(&w.view, 5, 400);
	p.replicas = 4;
	a.n = 0;
	mc_replicate_plan(&p, &w.view, &moves, &a);
	ck_assert_uint_ge(a.n, 1);
	ck_assert_uint_eq(a.at[0].run, run);
	ck_assert_uint_eq(a.at[0].to, 4);
	/* Only one at a time; and when it has cooled all but one go, from the busiest. */
	p.transfers = 1;
	a.n = 0;
	mc_replicate_plan(&p, &w.view, &moves, &a);
	ck_assert_uint_eq(a.n, 0);
	p = (struct mc_replicate){1, 2, 8, 9};
	mc_view_prefill_set(&w.view, 0, 900);
	mc_replicate_plan(&p, &w.view, &moves, &a);
	ck_assert_uint_eq(a.at[0].run, run); /* deepest first */
	ck_assert(a.at[0].drop);
	ck_assert_uint_eq(a.at[0].to, 0);
	for (size_t k = 0; k < a.n; k++)
		mc_pool_discard(w.pool[a.at[k].to], a.at[k].run);
	ck_assert_uint_eq(copies(&w, run), 1);
	mc_vec_fini(&a);
	mc_vec_fini(&moves);
	world_fini(&w);
}
END_TEST

START_TEST(hottest_first)
{
	struct mc_replicate p = {2, 1, 1, 1};
	struct mc_replica_actions a = {0};
	struct mc_replica_moves moves = {0};
	struct world w;

	world_init(&w);
	for (uint64_t k = 0; k < 4; k++) {
		uint64_t id = mc_hash_u64(k + 1);

		give(&w, 0, &id, 1, 1);
		for (uint64_t n = 0; n < 2 + (k == 2); n++)
			touch(&w, &id, 1, 0);
	}
	mc_replicate_plan(&p, &w.view, &moves, &a);
	ck_assert_uint_eq(a.n, 1);
	ck_assert_uint_eq(mc_tree_last(w.tree, a.at[0].run), mc_hash_u64(3));
	mc_vec_fini(&a);
	world_fini(&w);
}
END_TEST

/* In a cluster: 100 blocks, asked for four times a second, always on one node by their cache; 1.6 MB a copy.
 */
static void popular(struct setup *u, int64_t replicas)
{
	const uint64_t one[2] = {1, 1};

	setup_init(u, 16);
	setup_set(u, "run.check=true");
	setup_set(u, "run.sample=500ms");
	setup_set(u, "cluster.prefill=4");
	setup_set(u, "cluster.decode=1");
	setup_set(u, "conductor.policy=cache-aware");
	setup_set(u, "conductor.replica_interval=1s");
	setup_set(u, "conductor.replica_heat=2");
	setup_set(u, "conductor.replicas=%d", (int)replicas);
	for (int k = 0; k < 20; k++)
		add(u, k * 250 * MC_NS_PER_MS, 1600, 1, one, 100);
}

START_TEST(as_many_as_asked_for)
{
	for (int64_t k = 0; k <= 8; k++) {
		struct mc_replicas seen = {0};
		struct mc_cluster_hooks hooks = {.replicas = &seen};
		struct setup u;
		struct mc_result r;
		uint32_t want = k < 1 ? 1 : k < 4 ? (uint32_t)k : 4;

		popular(&u, k);
		ck_assert_int_eq(
		    mc_cluster_run(&(struct mc_cluster_setup){&u.s, &u.cost, &u.trace, &hooks}, &r, NULL), 0);
		ck_assert_uint_eq(seen.copies.at[seen.copies.n - 1], want);
		ck_assert_uint_eq(r.replica_copies, want - 1);
		ck_assert_double_eq(r.replica_bytes, (want - 1) * 1.6e6);
		ck_assert_double_eq(r.fetched_bytes, 0);
		mc_replicas_fini(&seen);
		mc_result_fini(&r);
		setup_fini(&u);
	}
}
END_TEST

/* Nobody asks any more: copies beyond k go, where no request needs them; the last k stay. */
START_TEST(spare_copies_go)
{
	const uint64_t other[2] = {5, 5}, one[2] = {1, 1};
	struct mc_replicas seen = {0};
	struct mc_cluster_hooks hooks = {.replicas = &seen};
	struct setup u;
	struct mc_result r;

	popular(&u, 1);
	setup_set(&u, "conductor.policy=round-robin"); /* every node computes it */
	add(&u, 15 * MC_NS_PER_S, 1600, 1, other, 100);
	add(&u, 16 * MC_NS_PER_S, 1600, 1, one, 100);
	ck_assert_int_eq(
	    mc_cluster_run(&(struct mc_cluster_setup){&u.s, &u.cost, &u.trace, &hooks}, &r, NULL), 0);
	ck_assert_uint_eq(r.replica_copies, 0);
	ck_assert_uint_eq(r.replica_dropped_blocks, 3 * 100);
	ck_assert_uint_eq(seen.copies.at[seen.n * 10], 4); /* at 5 s */
	ck_assert_uint_eq(seen.copies.at[seen.n * 30], 1); /* at 15 s */
	mc_replicas_fini(&seen);
	mc_result_fini(&r);
	/* A request that waits for them all this time keeps them: one node's queue is 12 s long. */
	mc_trace_fini(&u.trace);
	mc_trace_init(&u.trace, 16);
	setup_set(&u, "cluster.prefill=2");
	add(&u, 0, 1600, 1, one, 100);
	add(&u, 0, 1600, 1, one, 100);
	add(&u, MC_NS_PER_S, 8000, 1, other, 0);
	add(&u, MC_NS_PER_S, 1, 1, other, 0);
	for (int k = 0; k < 12; k++) {
		const uint64_t more[2] = {6, 6 + (uint64_t)k};

		add(&u, MC_NS_PER_S, 8000, 1, more, 0);
		add(&u, MC_NS_PER_S, 1, 1, more, 0);
	}
	add(&u, MC_NS_PER_S, 1600, 1, one, 100); /* behind the long ones, with its blocks leased */
	add(&u, 30 * MC_NS_PER_S, 1, 1, other, 0);
	setup_run(&u, &r);
	ck_assert_int_gt(r.row[r.n_rows - 2].prefill_start, 8 * MC_NS_PER_S);
	ck_assert_uint_eq(r.row[r.n_rows - 2].local_hit, 1599);
	ck_assert_uint_ge(r.replica_dropped_blocks, 100);
	mc_result_fini(&r);
	setup_fini(&u);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("replicate");
	TCase *t = tcase_create("replicate");

	tcase_add_loop_test(t, rules_on_random_worlds, 0, 40);
	tcase_add_test(t, choices_by_hand);
	tcase_add_test(t, hottest_first);
	tcase_add_test(t, as_many_as_asked_for);
	tcase_add_test(t, spare_copies_go);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
