/* A mirror knows what the pools' own tree knows, or knew when the news that have come were told. */
#include "unit.h"

#include <string.h>

#include "kv/heat.h"
#include "kv/mirror.h"
#include "kv/pool.h"
#include "kv_prompts.h"

enum { NODES = 4, LEASES = 5, DEEP = 30, STEPS = 4000, PROBES = 8, LATE = 64 };

struct held {
	uint64_t id[DEEP];
	uint32_t n;
	struct mc_lease lease;
};

/* News, with the chain that they are of. */
struct told {
	struct mc_news news;
	uint64_t id[DEEP];
	uint32_t n, step;
};

/* What the tree says of a prompt. */
struct answer {
	uint64_t id[DEEP];
	uint32_t n, held[NODES], resident[NODES], best[2];
};

struct world {
	struct rng rng;
	struct mc_tree *tree, *mirror;
	struct mc_pool *pool[NODES];
	struct held held[NODES][LEASES];
	struct {
		MC_VEC(struct told)
	} log;
	size_t done;
	uint32_t step, late;
	struct answer answer[LATE][PROBES]; /* by step, the last ones */
};

static void listener(void *arg, const struct mc_news *news)
{
	struct world *w = arg;
	struct told t = {.news = *news, .step = w->step};

	if (news->of != MC_NEWS_CLEARED)
		t.n = mc_tree_chain(w->tree, news->run, t.id);
	ck_assert_uint_le(t.n, DEEP);
	mc_vec_push(&w->log, t);
}

static void hear(struct world *w)
{
	for (; w->done < w->log.n && w->log.at[w->done].step + w->late <= w->step; w->done++) {
		const struct told *t = &w->log.at[w->done];
		struct mc_chain chain = {t->news.node, t->id, t->news.depth};

		if (t->news.of == MC_NEWS_HELD)
			mc_mirror_hold(w->mirror, &chain);
		else if (t->news.of == MC_NEWS_RESIDENT)
			mc_mirror_have(w->mirror, &chain);
		else if (t->news.of == MC_NEWS_CLEARED)
			mc_mirror_clear(w->mirror, t->news.node);
		chain.n = t->n;
		if (t->news.of == MC_NEWS_CUT)
			mc_mirror_cut(w->mirror, &chain, t->news.depth, t->news.depth);
	}
}

static void ask(const struct mc_tree *tree, struct answer *a)
{
	struct mc_step way[DEEP];
	uint32_t steps = mc_tree_trail(tree, a->id, a->n, way);

	for (uint32_t k = 0; k < NODES; k++) {
		a->held[k] = mc_tree_match(tree, way, steps, k);
		a->resident[k] = mc_tree_match_resident(tree, way, steps, k);
	}
	for (uint32_t g = 0; g < 2; g++)
		a->best[g] = mc_tree_best(tree, g, way, steps);
}

/* What the mirror says is what the tree said `late` steps ago. */
static void compare(struct world *w)
{
	for (uint32_t p = 0; p < PROBES; p++) {
		struct answer *now = &w->answer[w->step % LATE][p];
		const struct answer *was = &w->answer[(w->step - w->late) % LATE][p];
		struct answer says;

		memset(now, 0, sizeof *now);
		now->n = prompt(&w->rng, DEEP, now->id);
		ask(w->tree, now);
		if (w->step < w->late)
			continue;
		says = *was;
		ask(w->mirror, &says);
		ck_assert_msg(!memcmp(&says, was, sizeof says), "step %u, late %u", w->step, w->late);
	}
}

static void act(struct world *w)
{
	uint32_t k = rng_below(&w->rng, NODES), what = rng_below(&w->rng, 40);
	struct held *h = &w->held[k][rng_below(&w->rng, LEASES)];
	struct mc_pool *pool = w->pool[k];

	if (what == 0) {
		mc_pool_clear(pool);
		memset(w->held[k], 0, sizeof w->held[k]);
	} else if (what < 3) { /* some run of the tree, if it can go */
		struct mc_step way[DEEP];
		uint64_t id[DEEP];
		uint32_t n = prompt(&w->rng, DEEP, id), steps = mc_tree_trail(w->tree, id, n, way);

		if (steps)
			mc_pool_discard(pool, way[steps - 1].run);
	} else if (!h->n) {
		h->n = prompt(&w->rng, DEEP, h->id);
		h->lease = mc_pool_acquire(pool, h->id, h->n);
	} else if (what < 20) {
		uint32_t depth = rng_below(&w->rng, h->lease.held + 1);

		mc_pool_commit(pool, &h->lease, rng_below(&w->rng, depth + 1), depth);
	} else {
		if (what < 32)
			mc_pool_commit(pool, &h->lease, 0, h->lease.held);
		mc_pool_release(pool, &h->lease);
		h->n = 0;
	}
}

static void world_run(const struct mc_evictor *evictor, uint64_t seed, uint32_t late)
{
	struct world *w = mc_xcalloc(1, sizeof *w);
	struct mc_err err = {0};
	uint32_t most = 0;

	w->rng.at = seed;
	w->late = late;
	w->tree = mc_tree_new();
	w->mirror = mc_tree_new();
	mc_tree_groups(w->tree, 2, NODES);
	mc_tree_groups(w->mirror, 2, NODES);
	for (uint32_t k = 0; k < NODES; k++)
		w->pool[k] = mc_pool_new(w->tree, k, 15 + 20 * k, evictor);
	mc_tree_listen(w->tree, listener, w);
	for (; w->step < STEPS; w->step++) {
		act(w);
		hear(w);
		compare(w);
		most = mc_tree_blocks(w->mirror) > most ? mc_tree_blocks(w->mirror) : most;
		ck_assert_msg(w->step % 16 || !mc_tree_check(w->mirror, &err), "%s", err.text);
	}
	for (uint32_t k = 0; k < NODES; k++) {
		mc_pool_clear(w->pool[k]);
		mc_pool_free(w->pool[k]);
	}
	w->late = 0;
	hear(w);
	ck_assert_uint_eq(mc_tree_runs(w->mirror), 0); /* it keeps nothing that is gone */
	ck_assert_uint_eq(mc_tree_blocks(w->mirror), 0);
	ck_assert_uint_gt(most, 60);
	mc_tree_free(w->tree);
	mc_tree_free(w->mirror);
	mc_vec_fini(&w->log);
	free(w);
}

START_TEST(a_mirror_knows_what_the_tree_knew)
{
	const char *const name[] = {"lru", "2q", "s3fifo"};

	for (uint32_t k = 0; k < 3; k++) {
		world_run(mc_evictor_find(name[k]), 100 * k, 0);
		world_run(mc_evictor_find(name[k]), 100 * k + 1, 1);
		world_run(mc_evictor_find(name[k]), 100 * k + 2, 50);
	}
}
END_TEST

/* What was promised by who decides stays, though the node told of an eviction from before it knew. */
START_TEST(a_cut_leaves_what_is_kept)
{
	const uint64_t a[] = {1, 2, 3, 4, 5, 6}, b[] = {1, 2, 3, 14, 15}, other[] = {1, 2, 23};
	struct mc_tree *t = mc_tree_new();
	struct answer x = {.n = 6};

	memcpy(x.id, a, sizeof a);
	mc_mirror_hold(t, &(struct mc_chain){0, a, 6});
	mc_mirror_have(t, &(struct mc_chain){0, a, 5});
	mc_mirror_hold(t, &(struct mc_chain){1, other, 3}); /* cuts the runs elsewhere */
	mc_mirror_hold(t, &(struct mc_chain){0, b, 5});
	mc_mirror_cut(t, &(struct mc_chain){0, a, 6}, 1, 3); /* the leading three are promised with b */
	ask(t, &x);
	ck_assert_uint_eq(x.held[0], 3);
	ck_assert_uint_eq(x.resident[0], 1);
	ck_assert_uint_eq(x.held[1], 2);
	x = (struct answer){.n = 5};
	memcpy(x.id, b, sizeof b);
	ask(t, &x);
	ck_assert_uint_eq(x.held[0], 5);
	ck_assert_uint_eq(x.resident[0], 1);
	ck_assert(!mc_tree_check(t, NULL));
	mc_mirror_clear(t, 0);
	mc_mirror_cut(t, &(struct mc_chain){1, other, 3}, 0, 0);
	ck_assert_uint_eq(mc_tree_runs(t), 0);
	mc_tree_free(t);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("mirror");
	TCase *t = tcase_create("mirror");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, a_mirror_knows_what_the_tree_knew);
	tcase_add_test(t, a_cut_leaves_what_is_kept);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
