/*
 * Output of perftest to samples. The texts are written after its format (perftest 4 and 6: titles, settings,
 * columns as the programs name them), the figures are made up.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/vec.h"
#include "fit/import.h"
#include "fixture.h"
#include "unit.h"

#define RULE "---------------------------------------------------------------------------------------\n"
#define SETTINGS(ports, qps, depth)                                                                          \
	" Dual-port       : " ports "\t\tDevice         : mlx5_0\n Number of qps   : " qps                   \
	"\t\tTransport type : IB\n Connection type : RC\t\tUsing SRQ      : OFF\n" depth                     \
	" CQ Moderation   : 1\n Mtu             : 4096[B]\n Link type       : Ethernet\n GID index       : " \
	"3\n"                                                                                                \
	" Max inline data : 0[B]\n rdma_cm QPs\t : OFF\n Data ex. method : Ethernet\n" RULE                  \
	" local address: LID 0000 QPN 0x0111 PSN 0xd9f82f\n GID: 00:00:255:255:10:00:00:01\n" RULE
#define DEPTH(n) " TX depth        : " n "\n"
#define MB       " #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]\n"
#define GB       " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
#define LAT                                                                                                  \
	" #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    "              \
	"t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] \n"
#define LAT_TIMED  " #bytes        #iterations       t_avg[usec]    tps average\n"
#define TITLE(x)   RULE "                    " x " Test\n"
#define WRITE_MB   TITLE("RDMA_Write BW") SETTINGS("OFF", "1", DEPTH("128")) MB
#define NET(op, x) "net_" op ",,,,,,,,,," x

static const struct {
	const char *text, *want;
	size_t skipped;
} good[] = {
    /* 128 requests of 64 KiB at 8192 MiB/s: 1/1024 s; after what else is printed, and with what follows. */
    {"WARNING: BW peak won't be measured in this run.\n" WRITE_MB
     " 65536      5000             8200.00            8192.00\t\t   0.131072\n" RULE,
     NET("write", "65536,128,65536,1,1,0.000976562,,1,\n"), 0},
    {TITLE("RDMA_Read BW") SETTINGS("OFF", "4", DEPTH("8")) GB
     " 2          1000             0.00               0.00               0.00\r\n"
     " 1000000    1000             0.00               64.00              0.008\n",
     NET("read", "1000000,32,1000000,1,1,0.004,,1,\n"), 1},
    /* 2 x 16 under way, both ways together 4096 MiB/s; over two ports. */
    {TITLE("RDMA_Write Bidirectional BW") SETTINGS("ON", "1", DEPTH("16")) MB
     " 1048576    1000             4096.00            4096.00            0.004\n",
     NET("both", "1048576,32,1048576,1,2,0.0078125,,1,\n"), 0},
    {TITLE("RDMA_Write Latency") SETTINGS("OFF", "1", "") LAT
     " 2       1000          1.10           9.00         1.25     \t       1.30        \t0.06\t\t1.40\t\t"
     "4.10\n",
     NET("write", "2,1,2,1,1,1.25e-06,,1,\n"), 0},
    {TITLE("RDMA_Read Latency") SETTINGS("OFF", "1", DEPTH("1") " Outstand reads  : 16\n") LAT_TIMED
     " 64        100000       2.50    400000.00\n",
     NET("read", "64,1,64,1,1,2.5e-06,,1,\n"), 0},
    /* Several runs in one file, one of something else. */
    {WRITE_MB " 1024  5000  1024.00  1024.00  1.0\n" TITLE("Send BW") SETTINGS("OFF", "1", DEPTH("128")) MB
     " 1024  5000  1024.00  1024.00  1.0\n" TITLE("RDMA_Read Latency") SETTINGS("OFF", "1", "") LAT
     " 8 1000 1 9 3.00 3.10 0.1 4 5\n",
     NET("write", "1024,128,1024,1,1,0.00012207,,1,\n") NET("read", "8,1,8,1,1,3e-06,,1,\n"), 1},
};

static const struct {
	const char *text, *key, *what;
	long line;
} wrong[] = {
    {"RDMA_Write BW Test\n" MB " 1024 1 1 1 1\n", "TX depth", "is missing", 3},
    {"RDMA_Write BW Test\n TX depth : 0\n", "TX depth", "from 1", 2},
    {"RDMA_Write BW Test\n TX depth : 9e99\n", "TX depth", "from 1", 2},
    {"RDMA_Write BW Test\n Number of qps   : x\n", "Number of qps", "from 1", 2},
    {"RDMA_Write BW Test\n" DEPTH("1") MB " 1024 1 1\n", "#bytes", "fewer fields", 4},
    {"RDMA_Write BW Test\n" DEPTH("1") MB " 1024 1 1 nan 1\n", "the value", "no number", 4},
    {"RDMA_Write BW Test\n" DEPTH("1") MB " 1024 1 1 -3 1\n", "the value", "no number", 4},
    {"RDMA_Write BW Test\n" DEPTH("1") MB " 0 1 1 1 1\n", "#bytes", "from 1", 4},
    {"RDMA_Write BW Test\n" DEPTH("1") MB " 99999999999999999999 1 1 1 1\n", "#bytes", "from 1", 4},
    {"RDMA_Write BW Test\n" DEPTH("1") LAT, "#bytes", "columns", 3},
    {"RDMA_Read Latency Test\n" MB, "#bytes", "columns", 2},
};

/* A file of that text, read. */
static int read_text(struct mc_import *im, const char *text, const char *format, struct mc_err *err)
{
	static char path[] = "/tmp/mooncake-perftest-XXXXXX";
	FILE *f;
	int rc, fd;

	strcpy(path + sizeof path - 7, "XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	f = fdopen(fd, "w");
	fputs(text, f);
	fclose(f);
	rc = mc_import_read(im, path, format, err);
	unlink(path);
	return rc;
}

START_TEST(values_and_units)
{
	struct mc_import im = {0};
	struct mc_err err = {0};
	size_t n, skipped = 0;
	char *got;
	FILE *f;

	ck_assert_msg(!read_text(&im, good[_i].text, _i % 2 ? "perftest" : "auto", &err), "%s: %s", err.key,
		      err.text);
	ck_assert_str_eq(im.importer->name, "perftest");
	f = open_memstream(&got, &n);
	for (size_t i = 0; i < im.rows.n; i++)
		mc_opsamples_write(&im.rows.at[i].s, f);
	fclose(f);
	ck_assert_str_eq(got, good[_i].want);
	for (int i = 0; i < MC_IMPORT_SKIPS; i++)
		skipped += im.skip[i].rows;
	ck_assert_uint_eq(skipped, good[_i].skipped);
	ck_assert_uint_eq(im.lines, im.rows.n + skipped);
	free(got);
	mc_import_fini(&im);
}
END_TEST

START_TEST(mistakes_have_their_place)
{
	struct mc_import im = {0};
	struct mc_err err = {0};

	ck_assert_int_eq(read_text(&im, wrong[_i].text, "auto", &err), MC_USAGE);
	ck_assert_int_eq(err.line, wrong[_i].line);
	ck_assert_str_eq(err.key, wrong[_i].key);
	ck_assert_msg(strstr(err.text, wrong[_i].what) != NULL, "'%s' lacks '%s'", err.text, wrong[_i].what);
	mc_import_fini(&im);
}
END_TEST

START_TEST(options)
{
	struct mc_import im = {.where = {"n=2"}};
	struct mc_err err = {0};

	ck_assert_int_eq(read_text(&im, good[0].text, "auto", &err), MC_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "--where"));
	mc_import_fini(&im);
	/* Nothing of it is there: no rows, no mistake; whoever wanted samples says so. */
	im = (struct mc_import){0};
	ck_assert_int_eq(read_text(&im, "a text\n\n1 2 3\n", "perftest", &err), MC_OK);
	ck_assert_uint_eq(im.rows.n + im.lines, 0);
	mc_import_fini(&im);
}
END_TEST

/* Any bytes changed: read or refused, and what is read is in range. */
START_TEST(damaged_output_is_read_or_refused)
{
	static const char bytes[] = " \n#:.-0912eT\xff\r\tG";
	uint64_t state = 3;

	for (int i = 0; i < 1500; i++) {
		char *text = mc_xstrdup(good[draw(&state, sizeof good / sizeof *good)].text);
		struct mc_import im = {0};
		struct mc_err err = {0};

		for (int k = 1 + (int)draw(&state, 4); k; k--)
			text[draw(&state, strlen(text))] = bytes[draw(&state, sizeof bytes - 1)];
		if (read_text(&im, text, "perftest", &err))
			ck_assert_int_eq(err.rc, MC_USAGE);
		for (size_t k = 0; k < im.rows.n; k++) {
			const struct mc_opsample *s = &im.rows.at[k].s;

			ck_assert(s->seconds > 0 && isfinite(s->seconds) && s->point.dim[MC_DIM_DEPTH] >= 1 &&
				  s->point.dim[MC_DIM_BYTES] >= 1);
		}
		mc_import_fini(&im);
		free(text);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("perftest");
	TCase *t = tcase_create("perftest");

	tcase_add_loop_test(t, values_and_units, 0, sizeof good / sizeof *good);
	tcase_add_loop_test(t, mistakes_have_their_place, 0, sizeof wrong / sizeof *wrong);
	tcase_add_test(t, options);
	tcase_add_test(t, damaged_output_is_read_or_refused);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
