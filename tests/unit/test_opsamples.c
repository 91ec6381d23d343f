#include "unit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/vec.h"
#include "fixture.h"
#include "hw/opsamples.h"

#define NAMES                                                                                                \
	"op,rows,context,seqs,n,k,heads,kv_heads,head_dim,ranks,bytes,depth,seconds,spread_ratio,repeats,"   \
	"flag\n"
#define NEW_NAMES                                                                                            \
	"op,rows,context,seqs,n,k,heads,kv_heads,head_dim,ranks,bytes,depth,slice,peers,nics,seconds,"       \
	"spread_ratio,repeats,flag\n"
#define HEAD     "# mooncake-samples: 1.0\n# dtype: bf16\n" NAMES
#define NEW_HEAD "# mooncake-samples: 1.1\n# dtype: f32\n" NEW_NAMES

static int parse(struct mc_opsamples *s, const char *text, struct mc_err *err)
{
	char *copy = mc_xstrdup(text);
	int rc = mc_opsamples_parse(s, copy, "s.csv", err);

	free(copy);
	return rc;
}

START_TEST(reads_what_it_says)
{
	struct mc_opsamples s;
	const struct mc_opsample *p;

	ck_assert_int_eq(
	    parse(&s,
		  "# mooncake-samples: 1.7\r\n# device: A, the: first\n# remark\n# dtype: f32\n"
		  "# date: 2025-02-25\n# model: {\"base\": \"llama3-8b\"}\n# tensor_parallel: 8\n" NAMES
		  "gemm,128,,,8192,1024,,,,,,,4.25e-05,0.012,37,\n"
		  "# between\n\nattention_prefill,1,0,2,,,8,1,128,,,,1e-6,,,dip\n",
		  NULL),
	    MC_OK);
	ck_assert_str_eq(s.device, "A, the: first");
	ck_assert_str_eq(s.software, "");
	ck_assert_str_eq(s.dtype, "f32");
	ck_assert_int_eq(s.tensor_parallel, 8);
	ck_assert(json_is_object(s.model));
	ck_assert_uint_eq(s.n, 2);
	p = &s.at[0];
	ck_assert_int_eq(p->point.op, MC_OP_GEMM);
	ck_assert_int_eq(p->point.dim[MC_DIM_K], 1024);
	ck_assert_int_eq(p->point.dim[MC_DIM_CONTEXT], 0);
	ck_assert(p->seconds == 4.25e-05 && p->spread_ratio == 0.012 && p->repeats == 37 && !*p->flag);
	ck_assert_int_eq(p->line, 9);
	p = &s.at[1];
	ck_assert(p->spread_ratio == -1 && p->repeats == 1);
	ck_assert_str_eq(p->flag, "dip");
	mc_opsamples_fini(&s);
}
END_TEST

static const struct {
	const char *text, *key, *what;
	long line;
} wrong[] = {
    {"op,rows\n", "", "no file of samples", 0},
    {"# mooncake-samples: 2.0\n", "mooncake-samples", "is 2.0", 1},
    {"# mooncake-samples: 1.\n", "mooncake-samples", "expected 1.N", 1},
    {"# mooncake-samples: 1.0\n# dtype: fp8\n", "dtype", "'fp8'", 2},
    {"# mooncake-samples: 1.0\n# dtype: f32\n# dtype: f32\n", "dtype", "twice", 3},
    {"# mooncake-samples: 1.0\n# model: {\n", "model", "no JSON", 2},
    {"# mooncake-samples: 1.0\n# tensor_parallel: 0\n", "tensor_parallel", "1 to 1024", 2},
    {"# mooncake-samples: 1.0\n# dtype: f32\n", "", "ends before", 0},
    {"# mooncake-samples: 1.0\n" NAMES, "dtype", "is missing", 0},
    {"# mooncake-samples: 1.0\nop,rows\n", "", "columns", 2},
    {HEAD "gem,128,,,8192,1024,,,,,,,1,,,\n", "op", "'gem'", 4},
    {HEAD "gemm,128,,,8192,1024,,,,,,,1,,\n", "", "15 columns", 4},
    {HEAD "gemm,128,,,8192,1024,,,,,,,1,,,,\n", "", "more than 16", 4},
    {HEAD "gemm,128,,,8192,,,,,,,,1,,,\n", "k", "is missing", 4},
    {HEAD "gemm,128,5,,8192,1,,,,,,,1,,,\n", "context", "expected none", 4},
    {HEAD "gemm,0,,,8192,1,,,,,,,1,,,\n", "rows", "from 1", 4},
    {HEAD "gemm,1.5,,,8192,1,,,,,,,1,,,\n", "rows", "", 4},
    {HEAD "gemm,1,,,8192,9e18,,,,,,,1,,,\n", "k", "", 4},
    {HEAD "attention_decode,,0,1,,,1,1,1,,,,1,,,\n", "context", "from 1", 4},
    {HEAD "gemm,1,,,1,1,,,,,,,0,,,\n", "seconds", "above 0", 4},
    {HEAD "gemm,1,,,1,1,,,,,,,nan,,,\n", "seconds", "", 4},
    {HEAD "gemm,1,,,1,1,,,,,,,,,,\n", "seconds", "", 4},
    {HEAD "gemm,1,,,1,1,,,,,,,1,-1,,\n", "spread_ratio", "below 0", 4},
    {HEAD "gemm,1,,,1,1,,,,,,,1,,0,\n", "repeats", "below 1", 4},
    {HEAD "gemm,1,,,1,1,,,,,,,1,,,abcdefghijklmnop\n", "flag", "15 letters", 4},
    {HEAD "net_read,,,,,,,,,,64,1,1,,1,\n", "slice", "is missing", 4},
    {NEW_HEAD "gemm,1,,,1,1,,,,,,,1,,,\n", "", "16 columns; expected 19", 4},
    {NEW_HEAD "gemm,1,,,1,1,,,,,,,64,,,1,,,\n", "slice", "expected none", 4},
    {NEW_HEAD "net_read,,,,,,,,,,64,1,65536,,1,1,,,\n", "peers", "is missing", 4},
    {NEW_HEAD "net_read,,,,,,,,,,64,1,65536,1,0,1,,,\n", "nics", "from 1", 4},
    {NEW_HEAD "net_both,,,,,,,,,,64,1,65536,1,1,1,,,\n", "depth", "below 2", 4},
    {"# mooncake-samples: 1.1\n# dtype: "
     "f32\nop,rows,context,seqs,n,k,heads,kv_heads,head_dim,ranks,bytes,depth,"
     "slice,seconds,spread_ratio,repeats,flag\n",
     "", "has 17 columns", 3},
};

START_TEST(mistakes_have_their_place)
{
	struct mc_err err = {0};
	struct mc_opsamples s;

	ck_assert_int_eq(parse(&s, wrong[_i].text, &err), MC_USAGE);
	ck_assert_str_eq(err.file, "s.csv");
	ck_assert_int_eq(err.line, wrong[_i].line);
	ck_assert_str_eq(err.key, wrong[_i].key);
	ck_assert_msg(strstr(err.text, wrong[_i].what) != NULL, "'%s' lacks '%s'", err.text, wrong[_i].what);
}
END_TEST

START_TEST(reads_transfers)
{
	struct mc_opsamples s;
	const struct mc_opsample *p;

	ck_assert_int_eq(parse(&s,
			       NEW_HEAD "net_read,,,,,,,,,,1048576,4,65536,3,2,0.25,0.1,9,\n"
					"net_both,,,,,,,,,,64,2,16384,1,1,1e-5,,,bare\n"
					"gemm,128,,,8192,1024,,,,,,,,,,4.25e-05,0.012,37,\n",
			       NULL),
			 MC_OK);
	ck_assert_uint_eq(s.n, 3);
	p = &s.at[0];
	ck_assert_int_eq(p->point.op, MC_OP_NET_READ);
	ck_assert_int_eq(p->point.dim[MC_DIM_BYTES], 1048576);
	ck_assert_int_eq(p->point.dim[MC_DIM_DEPTH], 4);
	ck_assert_int_eq(p->point.dim[MC_DIM_SLICE], 65536);
	ck_assert_int_eq(p->point.dim[MC_DIM_PEERS], 3);
	ck_assert_int_eq(p->point.dim[MC_DIM_NICS], 2);
	ck_assert(p->seconds == 0.25 && p->spread_ratio == 0.1 && p->repeats == 9 && !*p->flag);
	ck_assert_str_eq(s.at[1].flag, "bare");
	ck_assert(s.at[2].point.dim[MC_DIM_K] == 1024 && s.at[2].seconds == 4.25e-05);
	mc_opsamples_fini(&s);
}
END_TEST

/* A random sample of any operator. */
static struct mc_opsample random_sample(uint64_t *state)
{
	struct mc_opsample p = {.point.op = (enum mc_op)draw(state, MC_OPS)};

	for (int d = 0; d < MC_DIMS; d++)
		if (mc_op_dims[p.point.op] >> d & 1)
			p.point.dim[d] = 1 + (int64_t)(draw(state, 1000000) << draw(state, 30));
	if (p.point.op == MC_OP_NET_BOTH)
		p.point.dim[MC_DIM_DEPTH]++;
	p.seconds = exp((double)draw(state, 2000) / 100 - 13);
	p.spread_ratio = draw(state, 2) ? (double)draw(state, 1000) / 1000 : -1;
	p.repeats = 1 + (int64_t)draw(state, 50);
	strcpy(p.flag, draw(state, 3) ? "" : "outlier");
	return p;
}

static char *written(const struct mc_opsamples *head, const struct mc_opsample *p, size_t n)
{
	char *text;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	mc_opsamples_write_header(head, f);
	for (size_t i = 0; i < n; i++)
		mc_opsamples_write(&p[i], f);
	fclose(f);
	return text;
}

START_TEST(what_is_written_is_read)
{
	struct mc_opsamples head = {.device = (char *)"a\nb", .dtype = (char *)"f16", .tensor_parallel = 4},
			    s;
	struct mc_opsample p[300];
	uint64_t state = 7;
	char *text, *again;

	for (size_t i = 0; i < 300; i++)
		p[i] = random_sample(&state);
	head.model = json_pack("{s:s}", "base", "llama3-8b");
	text = written(&head, p, 300);
	ck_assert_int_eq(parse(&s, text, NULL), MC_OK);
	ck_assert_str_eq(s.device, "a b");
	ck_assert(json_equal(s.model, head.model));
	ck_assert_uint_eq(s.n, 300);
	for (size_t i = 0; i < 300; i++) {
		ck_assert_int_eq(s.at[i].point.op, p[i].point.op);
		ck_assert_int_eq(memcmp(s.at[i].point.dim, p[i].point.dim, sizeof p[i].point.dim), 0);
		ck_assert_double_lt(fabs(s.at[i].seconds / p[i].seconds - 1), 1e-5);
		ck_assert_int_eq(s.at[i].repeats, p[i].repeats);
		ck_assert_str_eq(s.at[i].flag, p[i].flag);
	}
	again = written(&s, s.at, s.n);
	ck_assert_str_eq(again, text);
	free(again);
	free(text);
	json_decref(head.model);
	mc_opsamples_fini(&s);
}
END_TEST

/* Any byte changed: read or refused, and what is read is in range. */
START_TEST(damaged_files_are_read_or_refused)
{
	static const char bytes[] = ",\n#e-.0912:{\"\xff\r ";
	struct mc_opsamples head = {.dtype = (char *)"f32"}, s;
	struct mc_opsample p[4];
	uint64_t state = 9;
	char *text;

	for (size_t i = 0; i < 4; i++)
		p[i] = random_sample(&state);
	text = written(&head, p, 4);
	for (int i = 0; i < 20000; i++) {
		size_t at = draw(&state, strlen(text));
		struct mc_err err = {0};
		char old = text[at];

		text[at] = bytes[draw(&state, sizeof bytes - 1)];
		if (!parse(&s, text, &err)) {
			for (size_t k = 0; k < s.n; k++)
				ck_assert(s.at[k].seconds > 0 && s.at[k].repeats > 0);
			mc_opsamples_fini(&s);
		} else {
			ck_assert_int_eq(err.rc, MC_USAGE);
		}
		text[at] = old;
	}
	free(text);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("opsamples");
	TCase *t = tcase_create("opsamples");

	tcase_add_test(t, reads_what_it_says);
	tcase_add_test(t, reads_transfers);
	tcase_add_loop_test(t, mistakes_have_their_place, 0, sizeof wrong / sizeof *wrong);
	tcase_add_test(t, what_is_written_is_read);
	tcase_add_test(t, damaged_files_are_read_or_refused);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
