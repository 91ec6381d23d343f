/*
 * Every policy of the registries: what all of them promise on random views, and a small case on which each
 * chooses differently from every other (a new policy needs one here).
 */
#include "policy_world.h"
#include "unit.h"

#include "base/vec.h"
#include "sched/conductor.h"
#include "sched/search.h"

static void *decode_new(const struct mc_decode_policy *policy, uint64_t seed)
{
	return policy->create ? policy->create(&(struct mc_policy_params){1, seed}) : NULL;
}

static void decode_free(const struct mc_decode_policy *policy, void *state)
{
	if (policy->destroy)
		policy->destroy(state);
}

START_TEST(registries)
{
	size_t n;

	for (n = 0; mc_policies[n]; n++) {
		const struct mc_policy *p = mc_policies[n];

		ck_assert(!n || strcmp(mc_policies[n - 1]->name, p->name) < 0);
		ck_assert_str_eq(mc_policies_names[n], p->name);
		ck_assert_ptr_eq(mc_policy_find(p->name), p);
		ck_assert_uint_gt(strlen(p->help), 10);
		ck_assert_ptr_null(strchr(p->help, '\n'));
	}
	ck_assert_uint_ge(n, 5);
	ck_assert_ptr_null(mc_policies_names[n]);
	ck_assert_ptr_null(mc_policy_find("kvcache"));
	for (n = 0; mc_decode_policies[n]; n++) {
		const struct mc_decode_policy *p = mc_decode_policies[n];

		ck_assert(!n || strcmp(mc_decode_policies[n - 1]->name, p->name) < 0);
		ck_assert_str_eq(mc_decode_policies_names[n], p->name);
		ck_assert_ptr_eq(mc_decode_policy_find(p->name), p);
		ck_assert_uint_gt(strlen(p->help), 10);
		ck_assert_ptr_null(strchr(p->help, '\n'));
	}
	ck_assert_uint_ge(n, 3);
	ck_assert_ptr_null(mc_decode_policies_names[n]);
	ck_assert_ptr_null(mc_decode_policy_find(""));
}
END_TEST

/* What a placement may say, whoever made it. */
static void lawful(const struct mc_policy *policy, const struct world *w, const struct mc_prompt *p,
		   const struct mc_score *s)
{
	const struct mc_view *v = &w->view;
	uint32_t hit = mc_view_hit_tokens(v, p, s->hit);

	ck_assert_uint_lt(s->prefill, v->n_prefill);
	ck_assert(!v->node[s->prefill].down);
	ck_assert_uint_eq(s->local, mc_view_match(v, p, s->prefill));
	ck_assert_int_eq(s->queue, mc_view_queue(v, s->prefill));
	ck_assert_int_eq(s->compute, mc_view_prefill_time(v, p->tokens, hit));
	ck_assert_int_eq(s->total, s->queue + s->transfer + s->compute);
	if (!s->n_parts) {
		ck_assert_uint_eq(s->hit, s->local);
		ck_assert_int_eq(s->transfer, 0);
		return;
	}
	ck_assert(policy->fetches);
	ck_assert_uint_eq(s->n_parts, 1);
	ck_assert_uint_lt(s->part[0].node, v->n_prefill);
	ck_assert(!v->node[s->part[0].node].down);
	ck_assert_uint_ne(s->part[0].node, s->prefill);
	ck_assert_uint_eq(s->part[0].from, s->local);
	ck_assert_uint_eq(s->part[0].to, s->hit);
	ck_assert_uint_gt(s->hit, s->local);
	ck_assert_uint_ge(mc_tree_match_resident(v->tree, p->step, p->n_steps, s->part[0].node), s->hit);
	ck_assert_int_gt(s->transfer, 0);
}

static uint32_t source(const struct mc_score *s)
{
	return s->n_parts ? s->part[0].node : MC_NONE;
}

static bool same_score(const struct mc_score *a, const struct mc_score *b)
{
	return a->prefill == b->prefill && source(a) == source(b) && a->hit == b->hit && a->total == b->total;
}

/* Twins of one seed always agree; others may differ only where a policy says that it reads the seed or the
 * threshold. */
START_TEST(every_policy_on_random_views)
{
	for (const struct mc_policy *const *pp = mc_policies; *pp; pp++) {
		const struct mc_policy *p = *pp;
		void *state[] = {policy_new(p, 2, 1), policy_new(p, 2, 1), policy_new(p, 2, 77),
				 policy_new(p, 1e9, 1)};
		uint64_t rnd = 3;
		int seeds_differ = 0, thresholds_differ = 0, fetches = 0;

		for (int round = 0; round < 800; round++) {
			struct world w;
			struct mc_prompt prompt = random_world(&w, &rnd);
			struct mc_score s[4];

			for (int k = 0; k < 4; k++) {
				p->place(state[k], &w.view, &prompt, &s[k]);
				lawful(p, &w, &prompt, &s[k]);
			}
			ck_assert(same_score(&s[0], &s[1]));
			seeds_differ += !same_score(&s[0], &s[2]);
			thresholds_differ += !same_score(&s[0], &s[3]);
			fetches += s[0].n_parts > 0;
			world_fini(&w);
		}
		ck_assert_msg((seeds_differ > 0) == p->uses_seed, "%s: uses_seed", p->name);
		ck_assert_msg((thresholds_differ > 0) == p->uses_threshold, "%s: uses_threshold", p->name);
		ck_assert_msg((fetches > 0) == p->fetches, "%s: fetches", p->name);
		for (int k = 0; k < 4; k++)
			policy_free(p, state[k]);
	}
}
END_TEST

START_TEST(every_decode_policy_on_random_views)
{
	for (const struct mc_decode_policy *const *pp = mc_decode_policies; *pp; pp++) {
		const struct mc_decode_policy *p = *pp;
		void *state[] = {decode_new(p, 1), decode_new(p, 1), decode_new(p, 77)};
		uint64_t rnd = 4;
		int seeds_differ = 0;

		for (int round = 0; round < 400; round++) {
			struct world w;
			struct mc_prompt prompt = random_world(&w, &rnd);
			uint32_t at[3];

			for (int k = 0; k < 3; k++) {
				at[k] = p->place(state[k], &w.view, &prompt);
				ck_assert_uint_lt(at[k], w.view.n_decode);
				ck_assert(!w.view.node[w.view.n_prefill + at[k]].down);
			}
			ck_assert_uint_eq(at[0], at[1]);
			seeds_differ += at[0] != at[2];
			world_fini(&w);
		}
		ck_assert_msg((seeds_differ > 0) == p->uses_seed, "%s: uses_seed", p->name);
		for (int k = 0; k < 3; k++)
			decode_free(p, state[k]);
	}
}
END_TEST

#define TIMES 12 /* the same request again and again: policies that don't look are told by their sequence */

struct choices {
	uint32_t at[TIMES], from[TIMES];
};

static struct choices choose(const struct mc_policy *p, struct mc_prompt (*make)(struct world *))
{
	struct world w;
	struct mc_prompt prompt = make(&w);
	void *state = policy_new(p, 1.5, 1);
	struct choices c;

	for (int k = 0; k < TIMES; k++) {
		struct mc_score s;

		p->place(state, &w.view, &prompt, &s);
		c.at[k] = s.prefill;
		c.from[k] = source(&s);
	}
	policy_free(p, state);
	world_fini(&w);
	return c;
}

static struct choices choose_decode(const struct mc_decode_policy *p)
{
	struct world w;
	struct mc_prompt prompt = telling_world(&w);
	void *state = decode_new(p, 1);
	struct choices c = {0};

	for (int k = 0; k < TIMES; k++)
		c.at[k] = p->place(state, &w.view, &prompt);
	decode_free(p, state);
	world_fini(&w);
	return c;
}

static void expect(const struct choices *c, uint32_t at, uint32_t step, uint32_t from)
{
	for (uint32_t k = 0; k < TIMES; k++) {
		ck_assert_uint_eq(c->at[k], (at + k * step) % 3);
		ck_assert_uint_eq(c->from[k], from);
	}
}

START_TEST(each_policy_differs_from_all_others)
{
	struct choices c;

	for (const struct mc_policy *const *p = mc_policies; *p; p++)
		for (const struct mc_policy *const *q = p + 1; *q; q++) {
			struct choices a[] = {choose(*p, telling_world), choose(*p, pressed_world)};
			struct choices b[] = {choose(*q, telling_world), choose(*q, pressed_world)};

			ck_assert_msg(memcmp(a, b, sizeof a) != 0, "%s chooses as %s does", (*p)->name,
				      (*q)->name);
		}
	c = choose(mc_policy_find("cache-aware"), telling_world);
	expect(&c, 0, 0, MC_NONE);
	c = choose(mc_policy_find("kvcache-centric"), telling_world);
	expect(&c, 1, 0, 0);
	c = choose(mc_policy_find("least-loaded"), telling_world);
	expect(&c, 1, 0, MC_NONE);
	c = choose(mc_policy_find("round-robin"), telling_world);
	expect(&c, 0, 1, MC_NONE);
	c = choose(mc_policy_find("kvcache-centric"), pressed_world);
	expect(&c, 1, 0, MC_NONE);
	c = choose(mc_policy_find("adaptive"), pressed_world);
	expect(&c, 1, 0, 0);
	c = choose(mc_policy_find("triage"), pressed_world);
	expect(&c, 2, 0, 0);
	c = choose(mc_policy_find("frugal"),
		   pressed_world); /* the first one tells what engine time is worth */
	ck_assert_uint_eq(c.at[0], 1);
	ck_assert_uint_eq(c.from[0], 0);
	for (int k = 1; k < TIMES; k++) {
		ck_assert_uint_eq(c.at[k], 0);
		ck_assert_uint_eq(c.from[k], MC_NONE);
	}
}
END_TEST

START_TEST(each_decode_policy_differs_from_all_others)
{
	struct choices c;

	for (const struct mc_decode_policy *const *p = mc_decode_policies; *p; p++)
		for (const struct mc_decode_policy *const *q = p + 1; *q; q++) {
			struct choices a = choose_decode(*p), b = choose_decode(*q);

			ck_assert_msg(memcmp(&a, &b, sizeof a) != 0, "%s chooses as %s does", (*p)->name,
				      (*q)->name);
		}
	c = choose_decode(mc_decode_policy_find("least-loaded"));
	expect(&c, 0, 0, 0);
	c = choose_decode(mc_decode_policy_find("round-robin"));
	expect(&c, 0, 1, 0);
}
END_TEST

/* All instances alike, and the two draws of a request from streams of their own. */
START_TEST(random_is_even)
{
	const struct mc_policy *p = mc_policy_find("random");
	const struct mc_decode_policy *d = mc_decode_policy_find("random");
	void *state = policy_new(p, 1, 5), *decode = decode_new(d, 5);
	int seen[3] = {0}, decoded[3] = {0}, same = 0;
	struct world w;
	struct mc_prompt prompt = telling_world(&w);

	for (int k = 0; k < 3000; k++) {
		struct mc_score s;
		uint32_t i = d->place(decode, &w.view, &prompt);

		p->place(state, &w.view, &prompt, &s);
		seen[s.prefill]++;
		decoded[i]++;
		same += s.prefill == i;
	}
	for (int i = 0; i < 3; i++) /* 1,000 each, standard deviation 26 */
		ck_assert(seen[i] > 850 && seen[i] < 1150 && decoded[i] > 850 && decoded[i] < 1150);
	ck_assert(same > 850 && same < 1150); /* two streams */
	policy_free(p, state);
	decode_free(d, decode);
	world_fini(&w);
}
END_TEST

/* The terms of the fetch branch by hand: what is missing alone is moved, by all nodes of a group; a best
 * match of exactly threshold times the local one is no reason to. */
START_TEST(terms_of_a_fetch)
{
	struct world w;
	struct mc_prompt p = telling_world(&w);
	struct mc_search s = {.fetch = true, .threshold = 1.5};
	struct mc_found best;
	struct mc_score at = {.prefill = 1};

	hold(&w, 1, w.id, 2);
	p.n_steps = mc_tree_trail(w.tree, w.id, p.n_blocks, w.step);
	best = mc_search_best(&w.view, &p);
	ck_assert_uint_eq(best.dram.blocks, 4);
	at.local = mc_view_match(&w.view, &p, 1);
	ck_assert_uint_eq(at.local, 2);
	mc_search_score(&s, &w.view, &p, &best, &at);
	ck_assert_uint_eq(source(&at), 0);
	ck_assert_int_eq(at.transfer, mc_time_from_s(0.2001));
	ck_assert_int_eq(at.compute, mc_time_from_s(0.114));
	w.view.group = 2;
	mc_search_score(&s, &w.view, &p, &best, &at);
	ck_assert_int_eq(at.transfer, mc_time_from_s(0.1001));
	s.threshold = 2;
	mc_search_score(&s, &w.view, &p, &best, &at);
	ck_assert_uint_eq(at.n_parts, 0);
	ck_assert_uint_eq(at.hit, 2);
	ck_assert_int_eq(at.transfer, 0);
	world_fini(&w);
}
END_TEST

/* Refused is what no decode node could hold, to the token; a single output token needs no decode node. */
START_TEST(conductor_decides)
{
	struct mc_conductor_params params = {.policy = "kvcache-centric",
					     .decode_policy = "least-loaded",
					     .admission = "none",
					     .length_predictor = "oracle",
					     .policy_params = {1.5, 1}};
	struct world w;
	struct mc_prompt p = telling_world(&w);
	struct mc_conductor c;
	struct mc_decision d;
	struct mc_err err = {0};

	ck_assert_int_eq(mc_conductor_init(&c, &params, NULL), MC_OK);
	w.cost.vram_kv_tokens = 5009;
	mc_conductor_decide(&c, &w.view, &p, &d);
	ck_assert_int_eq(d.refusal, MC_TAKEN);
	ck_assert_uint_eq(d.placed.prefill, 1);
	ck_assert_uint_eq(d.decode, 0);
	w.cost.vram_kv_tokens = 5008;
	mc_conductor_decide(&c, &w.view, &p, &d);
	ck_assert_int_eq(d.refusal, MC_REFUSED_DECODE_CAPACITY);
	ck_assert_uint_eq(d.decode, MC_NONE);
	for (p.max_tokens = 0; p.max_tokens < 2; p.max_tokens++) {
		w.cost.vram_kv_tokens = 10;
		mc_conductor_decide(&c, &w.view, &p, &d);
		ck_assert_int_eq(d.refusal, MC_TAKEN);
		ck_assert_uint_eq(d.placed.prefill, 1);
		ck_assert_uint_eq(d.decode, MC_NONE);
	}
	for (uint32_t i = 0; i < 3; i++) /* decode nodes 0 to 2; one left is enough */
		mc_view_down(&w.view, 3 + i, i < 2);
	p.max_tokens = 10;
	w.cost.vram_kv_tokens = 6000;
	mc_conductor_decide(&c, &w.view, &p, &d);
	ck_assert_uint_eq(d.decode, 2);
	mc_view_down(&w.view, 5, true);
	mc_conductor_decide(&c, &w.view, &p, &d);
	ck_assert_int_eq(d.refusal, MC_REFUSED_NO_INSTANCE);
	mc_conductor_decide_decode(&c, &w.view, &p, &d);
	ck_assert_int_eq(d.refusal, MC_REFUSED_NO_INSTANCE);
	p.max_tokens = 1;
	mc_conductor_decide(&c, &w.view, &p, &d);
	ck_assert_int_eq(d.refusal, MC_TAKEN);
	for (uint32_t i = 0; i < 3; i++)
		mc_view_down(&w.view, i, true);
	mc_conductor_decide(&c, &w.view, &p, &d);
	ck_assert_int_eq(d.refusal, MC_REFUSED_NO_INSTANCE);
	mc_conductor_fini(&c);
	params.policy = "best";
	ck_assert_int_eq(mc_conductor_init(&c, &params, &err), MC_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "\"best\""));
	params.policy = "random";
	params.decode_policy = "best";
	err = (struct mc_err){0};
	ck_assert_int_eq(mc_conductor_init(&c, &params, &err), MC_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "decode policy \"best\""));
	world_fini(&w);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("policy");
	TCase *t = tcase_create("policy");

	tcase_add_test(t, registries);
	tcase_add_test(t, every_policy_on_random_views);
	tcase_add_test(t, every_decode_policy_on_random_views);
	tcase_add_test(t, each_policy_differs_from_all_others);
	tcase_add_test(t, each_decode_policy_differs_from_all_others);
	tcase_add_test(t, random_is_even);
	tcase_add_test(t, terms_of_a_fetch);
	tcase_add_test(t, conductor_decides);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
