#include "profile_text.h"

#include <math.h>

#include "des/stream.h"
#include "fit/samples.h"
#include "model/cost.h"
#include "model/roofline.h"

#define A800 "calib/profiles/a800-x8.json"

static void resolve(struct mc_cost *c, const char *profile, const struct mc_shape *s)
{
	struct mc_profile p;
	struct mc_err err = {0};
	char text[1024];

	ck_assert_int_eq(mc_profile_load(&p, profile, &err), 0);
	ck_assert_msg(mc_cost_init(c, &p, s, NULL, &err) == 0, "%s", mc_err_format(&err, text, sizeof text));
	mc_profile_fini(&p);
}

/* Bit for bit would ask for the same order of sums. */
static void near(double a, double b)
{
	ck_assert_msg(fabs(a - b) <= 1e-12 * fabs(b), "%.17g is not %.17g", a, b);
}

/* Every row of figure 14, from the samples as quoted, decode by running its 128 iterations. */
START_TEST(figure_14)
{
	struct mc_cost c;
	struct mc_samples s;
	char path[4096];
	int kinds[2] = {0};

	resolve(&c, "a800-x8", mc_shape_find("llama3-70b"));
	ck_assert(c.times == MC_TIMES_MEASURED && !c.pf_load_overlaps);
	snprintf(path, sizeof path, "%s/calib/samples/a800-x8-fast25-fig14.csv", getenv("MC_SRCDIR"));
	ck_assert_int_eq(mc_samples_read(&s, path, NULL), 0);
	for (size_t i = 0; i < s.n; i++) {
		const struct mc_sample *p = &s.at[i];
		mc_time t = 0;

		kinds[p->decode]++;
		if (!p->decode)
			t = mc_time_from_s(mc_cost_prefill_gpu_s(&c, p->total, p->cached));
		for (int64_t k = 0; p->decode && k < p->iterations; k++)
			t += mc_cost_decode_ns(&c, 1, p->total + k);
		ck_assert_msg(fabs(mc_time_to_s(t) / p->seconds - 1) < (p->decode ? 0.005 : 0.045),
			      "%s of %lld, %lld cached: %g s, figure 14 has %g s",
			      p->decode ? "decode" : "prefill", (long long)p->total, (long long)p->cached,
			      mc_time_to_s(t), p->seconds);
	}
	ck_assert(kinds[0] == 10 && kinds[1] == 10);
	mc_samples_fini(&s);
}
END_TEST

/* Another bandwidth than the profile's is one of everything that crosses the network. */
START_TEST(net_bandwidth_of_a_scenario)
{
	struct mc_cost c;

	resolve(&c, "a800-x8", mc_shape_find("llama3-70b"));
	mc_cost_set_bandwidth(&c, 1e9);
	near(c.net_bytes_per_s, 1e9);
	near(c.hop_s_per_token, 16384 / 1e9);
	near(mc_cost_transfer_s(&c, 1e9), c.net_startup_s + 1);
}
END_TEST

/* Published reads of an array of four (1 MiB each): 3.9 GiB/s one by one, 45 GiB/s at depth 32; and in
 * between no more than the bound says, where 24 GiB/s were measured at depth 8. */
START_TEST(ssd_reads_by_queue_depth)
{
	static const struct {
		int64_t depth;
		double gib_per_s;
	} read[] = {{1, 3.90625}, {8, 31.25}, {32, 45.0}};
	const struct mc_shape *s = mc_shape_find("llama3-70b");
	struct mc_profile p;
	struct mc_cost c;

	ck_assert_int_eq(mc_profile_load(&p, "a800-x8", NULL), 0);
	ck_assert_int_eq(mc_cost_init(&c, &p, s, NULL, NULL), 0);
	near(c.ssd_read_bytes_per_s, 28e9);
	near(c.ssd_write_bytes_per_s, 15.2e9);
	near(mc_cost_ssd_s(&c, 28e9), 1 + 2.5e-4);
	ck_assert_int_eq(c.ssd_bytes, 15360000000000);
	p.ssd_read_bytes_per_s = 45.0 / 4 * 1073741824;
	for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
		p.ssd_queue_depth = read[i].depth;
		ck_assert_int_eq(mc_cost_init(&c, &p, s, NULL, NULL), 0);
		near(c.ssd_read_bytes_per_s, read[i].gib_per_s * 1073741824);
	}
	p.ssds = 0;
	ck_assert_int_eq(mc_cost_init(&c, &p, s, NULL, NULL), 0);
	ck_assert(c.ssd_read_bytes_per_s == 0 && c.ssd_bytes == 0);
	mc_profile_fini(&p);
}
END_TEST

START_TEST(measured_entry_is_used_as_it_is)
{
	const struct mc_shape *s = mc_shape_find("llama3-70b");
	struct mc_profile p;
	struct mc_cost c;
	const struct mc_measured *m;

	ck_assert_int_eq(mc_profile_load(&p, "a800-x8", NULL), 0);
	m = p.measured;
	ck_assert_int_eq(mc_cost_init(&c, &p, s, NULL, NULL), 0);
	near(mc_cost_prefill_compute_s(&c, 1000, 300),
	     m->prefill_a_s + m->prefill_b_s * 700 + m->prefill_c_s * (1000000 - 90000));
	near(mc_cost_prefill_load_s(&c, 300), 300 * m->prefill_load_s);
	near(mc_cost_prefill_gpu_s(&c, 1000, 300),
	     mc_cost_prefill_compute_s(&c, 1000, 300) + mc_cost_prefill_load_s(&c, 300));
	near(mc_cost_decode_s(&c, 1, 5000), m->decode_base_s + 5000 * m->decode_context_s);
	ck_assert(c.fit_prefill_max == 131072 && c.trust_prefill_max == m->trust.prompt_max);
	ck_assert(c.fit_batch_max == 1 && c.trust_batch_max == m->trust.batch_max);
	near(c.net_bytes_per_s, 87e9);
	near(mc_cost_transfer_s(&c, 87e9), 1 + p.net_startup_s);
	near(c.hop_s_per_token, 16384 / 87e9);
	/* (8 * 80 GiB * 0.9 - 141,107,412,992 B) / 327,680 B */
	ck_assert_int_eq(c.vram_kv_tokens, 1456811);
	mc_profile_fini(&p);
}
END_TEST

START_TEST(growth_with_the_batch_is_counted)
{
	const struct mc_shape *s = mc_shape_find("llama3-70b");
	struct mc_cost c;
	double floor_s, base, crossing;

	resolve(&c, "a800-x8", s);
	base = mc_cost_decode_s(&c, 1, 0);
	floor_s = mc_shape_pass_bytes(s) / (327680 / c.de_context); /* at the bandwidth that the fit shows */
	near(c.de_gemm_floor, floor_s);
	ck_assert(floor_s < base);
	crossing = floor_s / c.pf_b;
	ck_assert(crossing > 100 && crossing < 200);
	for (int batch = 1; batch <= 2048; batch++) {
		double gemm = batch * c.pf_b; /* operations at the speed of prefill */

		near(mc_cost_decode_s(&c, batch, 0), base + (gemm > floor_s ? gemm - floor_s : 0));
	}
}
END_TEST

START_TEST(kv_of_8_bits_halves_what_moves_kv)
{
	struct mc_shape half = *mc_shape_find("llama3-70b");
	struct mc_cost a, b;

	half.kv_bytes_per_value = 1;
	resolve(&a, "a800-x8", mc_shape_find("llama3-70b"));
	resolve(&b, "a800-x8", &half);
	ck_assert(b.times == MC_TIMES_MEASURED);
	near(b.kv_bytes, a.kv_bytes / 2);
	near(b.pf_load, a.pf_load / 2);
	near(b.de_context, a.de_context / 2);
	near(b.roof_kv_s, a.roof_kv_s / 2);
	ck_assert(b.pf_a == a.pf_a && b.pf_b == a.pf_b && b.pf_c == a.pf_c && b.de_base == a.de_base);
	near(b.de_gemm_floor, a.de_gemm_floor);
	ck_assert(b.vram_kv_tokens / 2 == a.vram_kv_tokens);
}
END_TEST

START_TEST(names_do_not_decide)
{
	struct mc_shape s = *mc_shape_find("llama3-70b");
	struct mc_cost c;

	snprintf(s.name, sizeof s.name, "fine-tuned");
	resolve(&c, "a800-x8", &s);
	ck_assert(c.times == MC_TIMES_MEASURED);
	s.ffn++;
	snprintf(s.name, sizeof s.name, "llama3-70b");
	resolve(&c, "a800-x8", &s);
	ck_assert(c.times == MC_TIMES_ANALYTIC && c.pf_load_overlaps && c.fit_prefill_max == 0);
	resolve(&c, "a800-x8", mc_shape_find("llama2-70b"));
	ck_assert(c.times == MC_TIMES_ANALYTIC);
}
END_TEST

START_TEST(analytic_closed_forms)
{
	const struct mc_shape *s = mc_shape_find("llama3-8b");
	struct mc_profile p;
	struct mc_cost c;
	double peak, bandwidth, fixed, n = 4096, cached = 1024, flops, compute, load;

	ck_assert_int_eq(mc_profile_load(&p, "h100-x8-analytic", NULL), 0);
	ck_assert_int_eq(mc_cost_init(&c, &p, s, NULL, NULL), 0);
	peak = 8 * 989e12;
	bandwidth = 8 * 3350e9 * p.memory_efficiency;
	fixed = 32 * p.launch_s_per_layer + mc_shape_pass_bytes(s) / bandwidth;
	flops = mc_shape_dense_flops_per_token(s) * (n - cached) + mc_shape_head_flops(s);
	compute = fixed + flops / (peak * p.flops_efficiency) +
		  mc_shape_attention_flops(s, n, cached) / (peak * p.attention_efficiency);
	load = cached * 131072 / 440e9;
	near(mc_cost_prefill_compute_s(&c, n, cached), compute);
	near(mc_cost_prefill_load_s(&c, cached), load);
	ck_assert(compute > load);
	near(mc_cost_prefill_gpu_s(&c, n, cached), compute + load / 32);
	/* A long prefix and one new token: the load is what takes long. */
	compute = mc_cost_prefill_compute_s(&c, 1000000, 999999);
	load = mc_cost_prefill_load_s(&c, 999999);
	ck_assert(load > compute);
	near(mc_cost_prefill_gpu_s(&c, 1000000, 999999), load + compute / 32);
	near(mc_cost_decode_s(&c, 1, 7000), fixed + 7000 * 131072 / bandwidth);
	mc_profile_fini(&p);
}
END_TEST

static const struct {
	const char *from, *to, *key;
} fast[] = {
    {"\"b_s_per_token\": 0.0001097525", "\"b_s_per_token\": 0.00003", "measured.llama3-70b-tp8.prefill"},
    {"\"c_s_per_token2\": 7.423218e-10", "\"c_s_per_token2\": 1e-10", "measured.llama3-70b-tp8.prefill"},
    {"\"a_s\": 0.06791074", "\"a_s\": 0.001", "measured.llama3-70b-tp8.prefill"},
    {"\"load_s_per_token\": 2.571038e-6", "\"load_s_per_token\": 2.5e-6",
     "measured.llama3-70b-tp8.prefill.load_s_per_token"},
    {"\"base_s\": 0.02630594", "\"base_s\": 0.008", "measured.llama3-70b-tp8.decode"},
    {"\"s_per_context_token\": 3.456685e-8", "\"s_per_context_token\": 0.5e-8",
     "measured.llama3-70b-tp8.decode"},
    {"\"net_efficiency\": 0.87", "\"net_efficiency\": 1.01", "hardware.net_efficiency"},
    {"\"peak\": \"312TFLOPS\"", "\"peak\": \"150TFLOPS\"", "measured.llama3-70b-tp8.prefill"},
    {"\"memory_bandwidth\": \"2039GB/s\"", "\"memory_bandwidth\": \"500GB/s\"",
     "measured.llama3-70b-tp8.decode"},
    {"\"h2d_bandwidth\": \"128GB/s\"", "\"h2d_bandwidth\": \"120GB/s\"",
     "measured.llama3-70b-tp8.prefill.load_s_per_token"},
    {"\"vram\": \"80GiB\"", "\"vram\": \"16GiB\"", "hardware.vram"},
};

START_TEST(faster_than_its_hardware_is_refused)
{
	char *text = doctored(source_text(A800), fast[_i].from, fast[_i].to);
	struct mc_profile p;
	struct mc_cost c;
	struct mc_err err = {0};

	ck_assert_int_eq(mc_profile_load_text(&p, text, "fast.json", &err), 0);
	ck_assert_int_eq(mc_cost_init(&c, &p, mc_shape_find("llama3-70b"), NULL, &err), MC_USAGE);
	ck_assert_str_eq(err.file, "fast.json");
	ck_assert_str_eq(err.key, fast[_i].key);
	mc_profile_fini(&p);
	free(text);
}
END_TEST

static const struct {
	const char *from, *to;
} eager[] = {
    {"\"flops_efficiency\": 0.6", "\"flops_efficiency\": 1.1"},
    {"\"attention_efficiency\": 0.6", "\"attention_efficiency\": 1.5"},
    {"\"memory_efficiency\": 0.8", "\"memory_efficiency\": 1.3"},
};

START_TEST(efficiencies_above_1_are_refused)
{
	char *text =
	    doctored(source_text("calib/profiles/a800-x8-analytic.json"), eager[_i].from, eager[_i].to);
	struct mc_profile p;
	struct mc_cost c;
	struct mc_err err = {0};

	ck_assert_int_eq(mc_profile_load_text(&p, text, "fast.json", &err), 0);
	ck_assert_int_eq(mc_cost_init(&c, &p, mc_shape_find("llama3-70b"), NULL, &err), MC_USAGE);
	ck_assert_str_eq(err.key, "analytic");
	mc_profile_fini(&p);
	free(text);
}
END_TEST

/* The check samples a grid; random points find nothing that it missed. */
START_TEST(no_prediction_beats_the_roofline)
{
	static const char *const profiles[] = {"a800-x8", "a800-x8-analytic", "h100-x8-analytic"};
	int fit = 0;
	gsl_rng *r;

	r = mc_stream_new(7, "test", 0);
	for (size_t i = 0; i < 3; i++) {
		for (const struct mc_shape *s = mc_shapes; s->name[0]; s++) {
			struct mc_profile p;
			struct mc_cost c;
			struct mc_roofline roof;
			struct mc_err err = {0};

			ck_assert_int_eq(mc_profile_load(&p, profiles[i], NULL), 0);
			if (mc_cost_init(&c, &p, s, NULL, &err)) {
				ck_assert_str_eq(err.key, "hardware.vram"); /* too large for one node */
				mc_profile_fini(&p);
				continue;
			}
			fit++;
			mc_roofline_init(&roof, &p);
			for (int k = 0; k < 3000; k++) {
				double n =
				    floor(exp(gsl_rng_uniform(r) * log((double)c.trust_prefill_max))) + 1;
				double cached = floor(gsl_rng_uniform(r) * n);
				double batch = floor(gsl_rng_uniform(r) * 3 * (double)c.trust_batch_max) + 1;
				double context = floor(gsl_rng_uniform(r) * (double)c.vram_kv_tokens);

				ck_assert(mc_cost_prefill_compute_s(&c, n, cached) >=
					  mc_roofline_prefill_s(&roof, s, n, cached));
				ck_assert(mc_cost_decode_s(&c, batch, context) * 1.000001 >=
					  mc_roofline_decode_s(&roof, s, batch, context));
			}
			mc_profile_fini(&p);
		}
	}
	ck_assert_int_gt(fit, 40);
	gsl_rng_free(r);
}
END_TEST

START_TEST(costs_are_monotone)
{
	static const char *const profiles[] = {"a800-x8", "a800-x8-analytic"};
	gsl_rng *r;
	struct mc_cost c;

	r = mc_stream_new(8, "test", 0);
	for (int k = 0; k < 20000; k++) {
		int64_t n = 2 + (int64_t)(gsl_rng_uniform(r) * 300000), p, batch, context;

		if (k % 10000 == 0)
			resolve(&c, profiles[k / 10000], mc_shape_find("llama3-70b"));
		p = (int64_t)(gsl_rng_uniform(r) * (double)(n - 1));
		batch = 1 + (int64_t)(gsl_rng_uniform(r) * 800);
		context = (int64_t)(gsl_rng_uniform(r) * 1e6);
		ck_assert(mc_time_from_s(mc_cost_prefill_gpu_s(&c, n + 1, p)) >
			  mc_time_from_s(mc_cost_prefill_gpu_s(&c, n, p)));
		/* A cached token is cheaper than a computed one. */
		ck_assert(mc_time_from_s(mc_cost_prefill_compute_s(&c, n, p + 1)) <
			  mc_time_from_s(mc_cost_prefill_compute_s(&c, n, p)));
		if (!c.pf_load_overlaps)
			ck_assert(mc_time_from_s(mc_cost_prefill_gpu_s(&c, n, p + 1)) <
				  mc_time_from_s(mc_cost_prefill_gpu_s(&c, n, p)));
		ck_assert(mc_cost_decode_ns(&c, batch + 1, context) >= mc_cost_decode_ns(&c, batch, context));
		ck_assert(mc_cost_decode_ns(&c, batch, context + 1) >= mc_cost_decode_ns(&c, batch, context));
		ck_assert(mc_cost_decode_ns(&c, batch, context + 100) >
			  mc_cost_decode_ns(&c, batch, context));
		/* Two of half the size in one iteration are cheaper than one after the other. */
		ck_assert(mc_cost_decode_ns(&c, 2 * batch, 2 * context) <
			  2 * mc_cost_decode_ns(&c, batch, context));
	}
	gsl_rng_free(r);
}
END_TEST

/* A model so small that an iteration takes less than the clock's nanosecond. */
START_TEST(decode_takes_time)
{
	struct mc_cost c = {.de_base = 1e-12};

	ck_assert_int_eq(mc_cost_decode_ns(&c, 1, 1), 1);
	c.de_base = 2e-9;
	ck_assert_int_eq(mc_cost_decode_ns(&c, 1, 1), 2);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("cost");
	TCase *t = tcase_create("cost");

	tcase_add_test(t, figure_14);
	tcase_add_test(t, ssd_reads_by_queue_depth);
	tcase_add_test(t, measured_entry_is_used_as_it_is);
	tcase_add_test(t, growth_with_the_batch_is_counted);
	tcase_add_test(t, kv_of_8_bits_halves_what_moves_kv);
	tcase_add_test(t, names_do_not_decide);
	tcase_add_test(t, analytic_closed_forms);
	tcase_add_loop_test(t, faster_than_its_hardware_is_refused, 0, (int)(sizeof fast / sizeof *fast));
	tcase_add_loop_test(t, efficiencies_above_1_are_refused, 0, (int)(sizeof eager / sizeof *eager));
	tcase_add_test(t, no_prediction_beats_the_roofline);
	tcase_add_test(t, costs_are_monotone);
	tcase_add_test(t, decode_takes_time);
	tcase_add_test(t, net_bandwidth_of_a_scenario);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
