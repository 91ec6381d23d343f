#include "profile_text.h"

#include "hw/profile.h"

START_TEST(every_committed_profile_loads)
{
	char **names = mc_profile_list(), **n;
	int known = 0;

	for (n = names; *n; n++) {
		struct mc_profile p;
		struct mc_err err = {0};
		char text[1024];

		ck_assert_msg(mc_profile_load(&p, *n, &err) == 0, "%s",
			      mc_err_format(&err, text, sizeof text));
		ck_assert_str_eq(p.name, *n);
		ck_assert(p.source[0] && p.date[0] && p.hardware_source[0] && p.analytic_source[0]);
		ck_assert(n == names || strcmp(n[-1], *n) < 0);
		known += !strcmp(*n, "a800-x8") || !strcmp(*n, "a800-x8-analytic") ||
			 !strcmp(*n, "h100-x8-analytic");
		mc_profile_fini(&p);
	}
	for (n = names; *n; n++)
		free(*n);
	free(names);
	ck_assert_int_eq(known, 3);
}
END_TEST

START_TEST(facts_of_the_a800_node)
{
	struct mc_profile p;
	const struct mc_measured *m;

	ck_assert_int_eq(mc_profile_load(&p, "a800-x8", NULL), 0);
	ck_assert_int_eq(p.gpus, 8);
	ck_assert(p.peak_flops == 312e12 && p.memory_bytes_per_s == 2039e9 && p.h2d_bytes_per_s == 128e9);
	ck_assert_int_eq(p.vram_bytes, INT64_C(80) << 30);
	ck_assert(p.nics == 4 && p.nic_bytes_per_s == 25e9 && p.net_efficiency == 0.87);
	ck_assert(p.dram_bytes == INT64_C(1000000000000) && p.schedule_s == 0.05);
	ck_assert_int_eq(p.n_measured, 1);
	m = &p.measured[0];
	ck_assert_str_eq(m->key, "llama3-70b-tp8");
	ck_assert_str_eq(m->model, "llama3-70b");
	ck_assert_int_eq(m->tensor_parallel, 8);
	ck_assert_int_eq(m->fit.prompt_max, 131072);
	ck_assert_int_eq(m->fit.batch_max, 1);
	ck_assert(m->prefill_error_ratio > 0 && m->prefill_error_ratio < 0.05);
	ck_assert(m->decode_error_ratio > 0 && m->decode_error_ratio < 0.05);
	ck_assert_int_eq((int)json_array_size(json_object_get(m->points, "prefill")), 10);
	ck_assert_int_eq((int)json_array_size(json_object_get(m->points, "decode")), 10);
	mc_profile_fini(&p);
}
END_TEST

/* 87 GB/s on 4 x 200 Gbps; 190 GB/s on 8 x 400 Gbps, which the host limits (FAST'25, figure 12). */
START_TEST(networks)
{
	struct mc_profile p;
	struct mc_nics n;

	ck_assert_int_eq(mc_profile_load(&p, "a800-x8", NULL), 0);
	mc_profile_nics(&p, &n);
	ck_assert_double_eq(mc_nics_bytes_per_s(&n), 87e9);
	ck_assert_double_eq(n.bytes_per_s[3], 21.75e9);
	ck_assert_uint_eq(n.n, 4);
	ck_assert_uint_eq(n.switches, 4);
	mc_profile_fini(&p);
	ck_assert_int_eq(mc_profile_load(&p, "h100-x8-analytic", NULL), 0);
	mc_profile_nics(&p, &n);
	ck_assert_double_eq(mc_nics_bytes_per_s(&n), 190e9);
	ck_assert_double_eq_tol(mc_nics_sum(&n), 380e9, 1);
	n.switch_bytes_per_s = 20e9;
	ck_assert_double_eq(mc_nics_bytes_per_s(&n), 160e9);
	mc_profile_fini(&p);
}
END_TEST

START_TEST(nics_one_by_one)
{
	char *text =
	    doctored(source_text("calib/profiles/a800-x8.json"), "\"nic_bandwidth\": \"200Gbps\"",
		     "\"nic_bandwidth\": \"200Gbps\", \"nic_bandwidths\": \"400Gbps, 25GB/s,1e9,50GB/s\"");
	struct mc_profile p;
	struct mc_nics n;

	ck_assert_int_eq(mc_profile_load_text(&p, text, "x.json", NULL), 0);
	mc_profile_nics(&p, &n);
	ck_assert_double_eq(n.bytes_per_s[0], 50e9 * 0.87);
	ck_assert_double_eq(n.bytes_per_s[1], 25e9 * 0.87);
	ck_assert_double_eq(n.bytes_per_s[2], 1e9 * 0.87);
	ck_assert_double_eq_tol(mc_nics_sum(&n), 126e9 * 0.87, 1);
	mc_profile_fini(&p);
	free(text);
}
END_TEST

static const char *const bad_lists[] = {"400Gbps", "1,2,3,4,5", "1,2,,4",  "1,2,3,x",
					"1,2,3,0", "1,2,3,4,",  "-1,2,3,4"};

START_TEST(bad_lists_of_nics)
{
	char list[128], *text;
	struct mc_err err = {0};
	struct mc_profile p;

	snprintf(list, sizeof list, "\"nic_bandwidth\": 1e9, \"nic_bandwidths\": \"%s\"", bad_lists[_i]);
	text = doctored(source_text("calib/profiles/a800-x8.json"), "\"nic_bandwidth\": \"200Gbps\"", list);
	ck_assert_int_eq(mc_profile_load_text(&p, text, "x.json", &err), MC_USAGE);
	ck_assert_str_eq(err.key, "hardware.nic_bandwidths");
	ck_assert_str_eq(err.file, "x.json");
	free(text);
}
END_TEST

START_TEST(the_node_is_the_same_in_both_a800_profiles)
{
	struct mc_profile p, q;

	ck_assert_int_eq(mc_profile_load(&p, "a800-x8", NULL), 0);
	ck_assert_int_eq(mc_profile_load(&q, "a800-x8-analytic", NULL), 0);
	ck_assert(p.gpus == q.gpus && p.peak_flops == q.peak_flops && p.vram_bytes == q.vram_bytes);
	ck_assert(p.flops_efficiency == q.flops_efficiency && p.net_efficiency == q.net_efficiency);
	ck_assert_str_eq(p.hardware_source, q.hardware_source);
	ck_assert_int_eq(q.n_measured, 0);
	mc_profile_fini(&p);
	mc_profile_fini(&q);
}
END_TEST

static const struct {
	const char *from, *to, *key;
	long line; /* 0: not known, -1: any */
} bad_cases[] = {
    {"\"gpus\": 8", "\"gpu\": 8", "hardware.gpu", 8},
    {"\"gpus\": 8", "\"gpus\": 0", "hardware.gpus", 8},
    {"\"gpus\": 8", "\"gpus\": \"eight\"", "hardware.gpus", 8},
    {"\"gpus\": 8", "\"gpus\": 8, \"gpus\": 8", "hardware.gpus", 8},
    {"\"gpus\": 8,", "", "hardware.gpus", 0},
    {"\"312TFLOPS\"", "\"312GB\"", "hardware.peak", -1},
    {"\"vram_reserve_ratio\": 0.1", "\"vram_reserve_ratio\": 1", "hardware.vram_reserve_ratio", -1},
    {"\"schema\": \"1.0\"", "\"schema\": \"2.0\"", "schema", 2},
    {"\"a_s\":", "\"A\":", "measured.llama3-70b-tp8.prefill.A", 0},
    {"\"a_s\": 0", "\"a_s\": -0", "measured.llama3-70b-tp8.prefill.a_s", 0},
    {"\"base_s\":", "\"base_s\": true, \"x\":", "measured.llama3-70b-tp8.decode.base_s", 0},
    {"\"tensor_parallel\": 8,", "", "measured.llama3-70b-tp8.tensor_parallel", 0},
    {"\"kv_heads\": 8", "\"kv_heads\": 7", "measured.llama3-70b-tp8.shape.kv_heads", 0},
    {"\"trusted\": {\n        \"prompt_max\": 1048576", "\"trusted\": {\n        \"prompt_max\": 1000",
     "measured.llama3-70b-tp8.trusted.prompt_max", 0},
    {"\"batch_max\": 410", "\"batch_max\": 0", "measured.llama3-70b-tp8.trusted.batch_max", 0},
    {"\"llama3-70b-tp8\": {", "\"empty\": {}, \"llama3-70b-tp8\": {", "measured.empty.model", 0},
};

START_TEST(bad_profiles_name_file_and_key)
{
	char *text =
	    doctored(source_text("calib/profiles/a800-x8.json"), bad_cases[_i].from, bad_cases[_i].to);
	struct mc_profile p;
	struct mc_err err = {0};

	ck_assert_int_eq(mc_profile_load_text(&p, text, "p.json", &err), MC_USAGE);
	ck_assert_str_eq(err.file, "p.json");
	ck_assert_str_eq(err.key, bad_cases[_i].key);
	ck_assert(bad_cases[_i].line < 0 || err.line == bad_cases[_i].line);
	free(text);
}
END_TEST

START_TEST(measured_is_an_object)
{
	char *text = doctored(source_text("calib/profiles/a800-x8-analytic.json"), "\"analytic\": {",
			      "\"measured\": \"none\", \"analytic\": {");
	struct mc_profile p;
	struct mc_err err = {0};

	ck_assert_int_eq(mc_profile_load_text(&p, text, "p.json", &err), MC_USAGE);
	ck_assert_str_eq(err.key, "measured");
	free(text);
}
END_TEST

START_TEST(two_entries_of_one_shape_are_refused)
{
	char *text = source_text("calib/profiles/a800-x8.json"), *entry = strstr(text, "\"llama3-70b-tp8\""),
	     *two;
	size_t n = strlen(entry) - strlen("\n  }\n}\n");
	struct mc_profile p;
	struct mc_err err = {0};

	two = malloc(strlen(text) + n + 64);
	sprintf(two, "%.*s%.*s, \"again\"%s", (int)(entry - text), text, (int)n, entry, entry + 16);
	ck_assert_int_eq(mc_profile_load_text(&p, two, "p.json", &err), MC_USAGE);
	ck_assert_str_eq(err.key, "measured.again");
	ck_assert_ptr_nonnull(strstr(err.text, "llama3-70b-tp8"));
	free(two);
	free(text);
}
END_TEST

START_TEST(names_and_paths)
{
	struct mc_profile p;
	struct mc_err err = {0};
	char path[4096];

	ck_assert_int_eq(mc_profile_load(&p, "b900", &err), MC_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "b900"));
	memset(&err, 0, sizeof err);
	ck_assert_int_eq(mc_profile_load(&p, "./none.json", &err), MC_USAGE);
	ck_assert_str_eq(err.file, "./none.json");
	snprintf(path, sizeof path, "%s/calib/profiles/a800-x8.json", getenv("MC_SRCDIR"));
	ck_assert_int_eq(mc_profile_load(&p, path, NULL), 0);
	ck_assert_str_eq(p.path, path);
	mc_profile_fini(&p);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("profile");
	TCase *t = tcase_create("profile");

	tcase_add_test(t, every_committed_profile_loads);
	tcase_add_test(t, facts_of_the_a800_node);
	tcase_add_test(t, networks);
	tcase_add_test(t, nics_one_by_one);
	tcase_add_loop_test(t, bad_lists_of_nics, 0, (int)(sizeof bad_lists / sizeof *bad_lists));
	tcase_add_test(t, the_node_is_the_same_in_both_a800_profiles);
	tcase_add_loop_test(t, bad_profiles_name_file_and_key, 0,
			    (int)(sizeof bad_cases / sizeof *bad_cases));
	tcase_add_test(t, measured_is_an_object);
	tcase_add_test(t, two_entries_of_one_shape_are_refused);
	tcase_add_test(t, names_and_paths);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
