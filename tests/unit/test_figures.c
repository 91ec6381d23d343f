/* Samples of disks and copies to the figures of a profile's hardware. */
#include <string.h>

#include "fit/figures.h"
#include "unit.h"

static const char head[] = "# mooncake-samples: 1.0\n# device: %s\n# dtype: f32\n# date: %s\n"
			   "op,rows,context,seqs,n,k,heads,kv_heads,head_dim,ranks,bytes,depth,seconds,"
			   "spread_ratio,repeats,flag\n%s";

static void parse(struct mc_opsamples *s, const char *device, const char *date, const char *lines)
{
	char text[4096];
	struct mc_err err = {0};

	snprintf(text, sizeof text, head, device, date, lines);
	ck_assert_msg(mc_opsamples_parse(s, text, "s.csv", &err) == 0, "%s", err.text);
}

static json_t *hardware_of(json_t *o)
{
	return json_object_get(o, "hardware");
}

static double number(json_t *o, const char *key)
{
	return json_number_value(json_object_get(hardware_of(o), key));
}

static const char *source(json_t *o)
{
	return json_string_value(json_object_get(hardware_of(o), "source"));
}

static json_t *root(void)
{
	return json_pack("{s:s, s:{s:s, s:s, s:s}}", "source", "made up", "hardware", "source", "a sheet",
			 "ssd_read_bandwidth", "7GB/s", "ssd_latency_s", "as it was");
}

START_TEST(figures)
{
	const struct mc_profile hw = {.gpus = 4, .ssd_io_bytes = 1 << 20};
	struct mc_opsamples s[2];
	struct mc_fit_figures g;
	json_t *o, *again, *r = root();

	parse(&s[0], "disk [A]", "2026-02-01",
	      "disk_read,,,,,,,,,,4096,1,1e-4,,1,\n"
	      "disk_read,,,,,,,,,,524288,1,3e-4,,1,\n"
	      "disk_read,,,,,,,,,,2097152,1,6e-4,,1,\n"
	      "disk_read,,,,,,,,,,8388608,1,1e-3,,1,noisy\n"
	      "disk_read,,,,,,,,,,4194304,64,1e-3,,1,\n"
	      "disk_read,,,,,,,,,,1048576,8,2e-5,,1,drift\n"
	      "disk_write,,,,,,,,,,4096,4,1e-6,,1,\n");
	parse(&s[1], "box", "2026-03-01",
	      "copy_h2d,,,,,,,,,,1000000,,1e-4,,1,\n"
	      "copy_h2d,,,,,,,,,,2000000,,1e-4,,1,\n"
	      "copy_h2d_pageable,,,,,,,,,,2000000,,1e-6,,1,\n"
	      "copy_host,,,,,,,,,,1000000,,1e-5,,1,\n");
	mc_fit_figures_find(&g, s, 2, &hw);
	ck_assert_double_eq_tol(g.value[MC_FIGURE_SSD_READ], 4194304 / 1e-3, 1);
	ck_assert_double_eq_tol(g.value[MC_FIGURE_SSD_WRITE], 4096e6, 1);
	/* A third of the way from 512 KiB to 2 MiB. */
	ck_assert_double_eq_tol(g.value[MC_FIGURE_SSD_LATENCY], 4e-4, 1e-12);
	ck_assert_double_eq_tol(g.value[MC_FIGURE_H2D], 4 * 2e10, 1);
	ck_assert_double_eq_tol(g.value[MC_FIGURE_DRAM], 2e11, 1);

	o = mc_fit_figures_apply(&g, r);
	ck_assert_double_eq_tol(number(o, "ssd_read_bandwidth"), 4.194e9, 1);
	ck_assert_double_eq_tol(number(o, "ssd_latency_s"), 4e-4, 1e-12);
	ck_assert_str_eq(source(o), "a sheet [measured: ssd_read_bandwidth of disk (A), 2026-03-01]"
				    " [measured: ssd_write_bandwidth of disk (A), 2026-03-01]"
				    " [measured: ssd_latency_s of disk (A), 2026-03-01]"
				    " [measured: h2d_bandwidth of box, 2026-03-01]"
				    " [measured: dram_bandwidth of box, 2026-03-01]");
	ck_assert_str_eq(source(r), "a sheet");

	/* A later fit of some: what was said of those goes, the rest stays. */
	mc_fit_figures_find(&g, &s[1], 1, &hw);
	g.date = "2027-01-01";
	again = mc_fit_figures_apply(&g, o);
	ck_assert_double_eq_tol(number(again, "ssd_read_bandwidth"), 4.194e9, 1);
	ck_assert_str_eq(source(again), "a sheet [measured: ssd_read_bandwidth of disk (A), 2026-03-01]"
					" [measured: ssd_write_bandwidth of disk (A), 2026-03-01]"
					" [measured: ssd_latency_s of disk (A), 2026-03-01]"
					" [measured: h2d_bandwidth of box, 2027-01-01]"
					" [measured: dram_bandwidth of box, 2027-01-01]");
	json_decref(again);
	json_decref(o);
	json_decref(r);
	mc_opsamples_fini(&s[0]);
	mc_opsamples_fini(&s[1]);
}
END_TEST

/* A latency is not guessed beyond the sizes that were read. */
START_TEST(beyond)
{
	struct mc_profile hw = {.gpus = 1};
	struct mc_opsamples s;
	struct mc_fit_figures g;

	parse(&s, "", "", "disk_read,,,,,,,,,,4096,1,1e-4,,1,\ndisk_read,,,,,,,,,,65536,1,2e-4,,1,\n");
	for (int64_t io = 2048; io <= 131072; io *= 2) {
		bool within = io >= 4096 && io <= 65536;

		hw.ssd_io_bytes = io;
		mc_fit_figures_find(&g, &s, 1, &hw);
		ck_assert_msg((g.value[MC_FIGURE_SSD_LATENCY] > 0) == within, "%lld", (long long)io);
	}
	hw.ssd_io_bytes = 4096;
	mc_fit_figures_find(&g, &s, 1, &hw);
	ck_assert_double_eq_tol(g.value[MC_FIGURE_SSD_LATENCY], 1e-4, 1e-12);
	mc_opsamples_fini(&s);
}
END_TEST

START_TEST(none)
{
	const struct mc_profile hw = {.gpus = 1, .ssd_io_bytes = 1 << 20};
	struct mc_fit_figures g;
	struct mc_opsamples s;
	json_t *r = root(), *o;

	parse(&s, "d", "2026-01-01", "norm,8,,,64,,,,,,,,1e-6,,1,\ndisk_read,,,,,,,,,,4096,1,1e-4,,1,busy\n");
	mc_fit_figures_find(&g, &s, 1, &hw);
	o = mc_fit_figures_apply(&g, r);
	ck_assert(json_equal(o, r));
	json_decref(o);
	json_decref(r);
	mc_opsamples_fini(&s);
	for (int op = 0; op < MC_OPS; op++)
		ck_assert_int_eq(mc_fit_figures_op(op), !strncmp(mc_op_names[op], "disk_", 5) ||
							    !strncmp(mc_op_names[op], "copy_", 5) ||
							    !strncmp(mc_op_names[op], "net_", 4));
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("figures");
	TCase *t = tcase_create("figures");

	tcase_add_test(t, figures);
	tcase_add_test(t, beyond);
	tcase_add_test(t, none);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
