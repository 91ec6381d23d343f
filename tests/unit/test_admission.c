/* Admission rules: what each looks at, and a case on which each decides differently from every other. */
#include "fixture.h"
#include "unit.h"

#include <string.h>

#include "sched/admission.h"
#include "sched/horizon.h"
#include "sched/load.h"

#define MS INT64_C(1000000)

/* One decode instance with an iteration of 10 ms + 1 us a context token. */
struct world {
	struct mc_cost cost;
	struct mc_view view;
	struct mc_horizon *horizon;
	struct mc_horizon_entry entry;
	struct mc_prompt load, prompt;
	struct mc_decision placed;
};

static void world_init(struct world *w)
{
	memset(w, 0, sizeof *w);
	w->cost = plain_cost();
	mc_view_init(&w->view, 1, 1);
	w->view.cost = &w->cost;
	w->view.now = 5000 * MS;
	w->horizon = mc_horizon_new(1);
	w->view.horizon = w->horizon;
	w->load = (struct mc_prompt){.tokens = 39500, .max_tokens = 11};
	w->prompt = (struct mc_prompt){.tokens = 1000,
				       .max_tokens = 11,
				       .arrival = 4900 * MS,
				       .ttft = 1000 * MS,
				       .tbt = 50 * MS,
				       .admit_load = 1};
	w->placed.placed.queue = 300 * MS;
	w->placed.placed.total = 500 * MS; /* joins at 5,500 ms */
}

static void world_fini(struct world *w)
{
	mc_horizon_free(w->horizon);
	mc_view_fini(&w->view);
}

/* 39,500 tokens decode now, or not. */
static void running(struct world *w)
{
	mc_view_decode_announce(&w->view, 0, &w->load, 1);
	mc_view_decode_run(&w->view, 0, &w->load, 1);
}

/* They will have joined at `joins`, and make so many tokens; a request has taken `stay` for 10. */
static void coming(struct world *w, mc_time joins, uint32_t tokens, mc_time stay)
{
	mc_horizon_note(w->horizon, stay, 10);
	w->entry = (struct mc_horizon_entry){.starts = joins - 100 * MS, .joins = joins};
	mc_horizon_add(w->horizon, &w->entry, &w->load, tokens);
}

#define CASES 5

/* Its answers to all cases, a digit each. */
static void answers(const struct mc_admission *rule, char out[CASES + 1])
{
	struct world w[CASES];

	for (int i = 0; i < CASES; i++)
		world_init(&w[i]);
	w[0].placed.placed.total = 901 * MS;      /* with the 100 ms since its arrival over its objective */
	running(&w[1]);                           /* full now, empty at the end of its prefill */
	coming(&w[2], 5400 * MS, 20, 2000 * MS);  /* empty now, full then by age and by length */
	coming(&w[3], 5000 * MS, 1000, 400 * MS); /* full then by length alone */
	running(&w[4]);
	for (int i = 0; i < CASES - 1; i++)
		out[i] = (char)('0' + rule->arrive(&w[i].view, &w[i].prompt, &w[i].placed));
	w[4].view.decode[0].kv += mc_prompt_kv(&w[4].prompt); /* its own */
	out[4] = rule->prefilled ? (char)('0' + rule->prefilled(&w[4].view, &w[4].prompt, 0)) : '0';
	out[CASES] = 0;
	for (int i = 0; i < CASES; i++)
		world_fini(&w[i]);
}

START_TEST(each_differs)
{
	static const struct {
		const char *name, *answers; /* 3: prefill load, 4: decode load */
	} want[] = {{"baseline", "30004"},
		    {"early", "34000"},
		    {"none", "00000"},
		    {"predict", "30400"},
		    {"predict-length", "30440"}};
	char said[16][CASES + 1];
	size_t n = 0;

	for (const struct mc_admission *const *a = mc_admissions; *a; a++, n++) {
		ck_assert_ptr_eq(mc_admission_find((*a)->name), *a);
		answers(*a, said[n]);
		for (size_t k = 0; k < n; k++)
			ck_assert_str_ne(said[k], said[n]);
		for (size_t k = 0; k < sizeof want / sizeof *want; k++)
			if (!strcmp(want[k].name, (*a)->name))
				ck_assert_str_eq(said[n], want[k].answers);
	}
	ck_assert_uint_ge(n, 5);
	ck_assert_ptr_null(mc_admission_find("best"));
}
END_TEST

/* Who is refused above a lower load goes first; a request of one token does not care about decode; one
 * without objectives is refused for memory alone. */
START_TEST(who_goes_first)
{
	const struct mc_admission *early = mc_admission_find("early");
	struct world w;

	world_init(&w);
	w.load.tokens = 24000;
	running(&w); /* 35 ms of 50 with it */
	ck_assert_int_eq(early->arrive(&w.view, &w.prompt, &w.placed), MC_TAKEN);
	w.prompt.admit_load = 0.71;
	ck_assert_int_eq(early->arrive(&w.view, &w.prompt, &w.placed), MC_TAKEN);
	w.prompt.admit_load = 0.69;
	ck_assert_int_eq(early->arrive(&w.view, &w.prompt, &w.placed), MC_REFUSED_DECODE_LOAD);
	w.placed.decode = MC_NONE;
	ck_assert_int_eq(early->arrive(&w.view, &w.prompt, &w.placed), MC_TAKEN);
	w.placed.decode = 0;
	w.prompt.ttft = w.prompt.tbt = 0;
	ck_assert_int_eq(early->arrive(&w.view, &w.prompt, &w.placed), MC_TAKEN);
	w.cost.vram_kv_tokens = 36000; /* 24,010 + 1,010 of it are 0.695 */
	ck_assert_int_eq(early->arrive(&w.view, &w.prompt, &w.placed), MC_REFUSED_DECODE_LOAD);
	w.cost.vram_kv_tokens = 36500;
	ck_assert_int_eq(early->arrive(&w.view, &w.prompt, &w.placed), MC_TAKEN);
	world_fini(&w);
}
END_TEST

/* The largest of the three, by hand. */
START_TEST(load_of_an_instance)
{
	struct mc_tally_sum s = {20, 10000, 30000};
	struct world w;

	world_init(&w);
	/* 10 ms + 10 ms + 20 x 0.1 ms - 1 ms of its GEMMs = 21 ms. */
	ck_assert_double_eq_tol(mc_load_decode(&w.view, &s, 50 * MS), 0.42, 1e-12);
	ck_assert_double_eq_tol(mc_load_decode(&w.view, &s, 0), 0.3, 1e-12);
	w.view.max_batch = 25;
	ck_assert_double_eq_tol(mc_load_decode(&w.view, &s, 50 * MS), 0.8, 1e-12);
	s = (struct mc_tally_sum){0};
	ck_assert_double_eq(mc_load_decode(&w.view, &s, 50 * MS), 0);
	running(&w);
	ck_assert_double_eq_tol(mc_load_decode_pool(&w.view, 50 * MS), 0.99, 1e-12);
	mc_view_prefill_set(&w.view, 0, 5600 * MS);
	ck_assert_double_eq_tol(mc_load_prefill_pool(&w.view, 2000 * MS), 0.3, 1e-12);
	mc_view_down(&w.view, 0, true);
	ck_assert_double_eq(mc_load_prefill_pool(&w.view, 2000 * MS), 0);
	world_fini(&w);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("admission");
	TCase *t = tcase_create("admission");

	tcase_add_test(t, each_differs);
	tcase_add_test(t, who_goes_first);
	tcase_add_test(t, load_of_an_instance);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
