/* What single policies do, each by its own rule. */
#include "policy_world.h"
#include "unit.h"

/* What triage does with a prompt depends on its objective and on how many instances stand ready. */
START_TEST(triage_by_objective)
{
	const struct mc_policy *p = mc_policy_find("triage");
	struct {
		double ttft, wait1; /* of the prompt, s; of node 1 */
		uint32_t at;
	} t[] = {
	    {0, 0, 1},         /* no objective */
	    {0.3, 0, 1},       /* met */
	    {0.1, 0, 2},       /* lost: one of three is open */
	    {0.213, 0.001, 2}, /* lost by 2 ms; a quarter of it is 53 ms */
	    {0.24, 0.02, 1},   /* met by 6 ms */
	};

	for (size_t k = 0; k < sizeof t / sizeof *t; k++) {
		struct world w;
		struct mc_prompt prompt = pressed_world(&w);
		void *state = policy_new(p, 1, 1);
		struct mc_score s;

		prompt.ttft = mc_time_from_s(t[k].ttft);
		mc_view_prefill_set(&w.view, 1, mc_time_from_s(t[k].wait1));
		p->place(state, &w.view, &prompt, &s);
		ck_assert_uint_eq(s.prefill, t[k].at);
		policy_free(p, state);
		state = policy_new(p, 1, 1);
		mc_view_prefill_set(&w.view, 2, 0); /* two of three are open: as any other */
		mc_view_prefill_set(&w.view, 1, 0);
		p->place(state, &w.view, &prompt, &s);
		ck_assert_uint_eq(s.prefill, 1);
		policy_free(p, state);
		world_fini(&w);
	}
}
END_TEST

/* A prompt meets its own kind at two instances, whatever the others hold; when one is lost nobody else moves.
 */
START_TEST(affinity_is_stable)
{
	const struct mc_policy *p = mc_policy_find("affinity");
	struct world w;
	uint32_t load[NODES_MAX] = {0};

	world_init(&w, NODES_MAX, 16);
	for (uint64_t k = 0; k < 600; k++) {
		struct mc_prompt prompt;
		struct mc_score s[4];

		make_ids(w.id, DEPTH, k, 0);
		prompt = make_prompt(&w, 16 * DEPTH);
		p->place(NULL, &w.view, &prompt, &s[0]);
		load[s[0].prefill]++;
		mc_view_down(&w.view, s[0].prefill, true); /* its second choice */
		p->place(NULL, &w.view, &prompt, &s[1]);
		mc_view_down(&w.view, s[1].prefill, true); /* its third */
		p->place(NULL, &w.view, &prompt, &s[2]);
		mc_view_down(&w.view, s[0].prefill, false);
		mc_view_down(&w.view, s[1].prefill, false);
		mc_view_down(&w.view, s[2].prefill, true);
		p->place(NULL, &w.view, &prompt, &s[3]);
		mc_view_down(&w.view, s[2].prefill, false);
		ck_assert_uint_eq(s[3].prefill, s[0].prefill);
		mc_view_prefill_set(&w.view, s[0].prefill, 1000); /* ns: both wait alike but for this */
		p->place(NULL, &w.view, &prompt, &s[3]);
		mc_view_prefill_set(&w.view, s[0].prefill, 0);
		ck_assert_uint_eq(s[3].prefill, s[1].prefill);
	}
	for (int i = 0; i < NODES_MAX; i++) /* 50 each, standard deviation 6.8 */
		ck_assert_msg(load[i] > 20 && load[i] < 80, "%u", load[i]);
	world_fini(&w);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("policy_rules");
	TCase *t = tcase_create("policy_rules");

	tcase_add_test(t, triage_by_objective);
	tcase_add_test(t, affinity_is_stable);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
