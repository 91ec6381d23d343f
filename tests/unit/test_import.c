/*
 * Importers on made-up tables (values, units, places of mistakes), what contradicts its neighbours, and on
 * the published tables, found through MOONCAKE_DATA: how many rows, some known values, and what is flagged.
 */
#include "unit.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fit/suspects.h"

static char dir[] = "/tmp/mooncake-import-XXXXXX";

/* A table of that name; the path is valid until the next call. */
static const char *table(const char *name, const char *text)
{
	static char path[128];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", dir, name);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
	return path;
}

static void enter(void)
{
	strcpy(dir + strlen(dir) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(dir));
}

static void leave(void)
{
	char command[64];

	snprintf(command, sizeof command, "rm -rf %s", dir);
	ck_assert_int_eq(system(command), 0);
}

#define AIC_ATTENTION(x) "batch_size," x ",num_heads,num_key_value_heads,head_dim,latency_ms\n"
#define VIDUR_NET                                                                                            \
	"num_workers,devices_per_node,rank,size_bytes,"                                                      \
	"min_ms,max_ms,mean_ms,median_ms,std_ms\n"
#define VIDUR_ATTENTION                                                                                      \
	"n_embd,n_q_head,n_kv_head,tp,batch_size,prefill_chunk_size,kv_cache_size,is_prefill,"               \
	"prefill_median_ms,prefill_mean_ms,prefill_std_ms,decode_median_ms,decode_mean_ms,decode_std_ms\n"
#define SPLITWISE                                                                                            \
	"model,hardware,prompt_size,batch_size,token_size,peak_power,average_power,prompt_time,token_time,"  \
	"e2e_time,tensor_parallel\n"

/* One table; the samples that it must give, as lines of a file of samples. */
static const struct {
	const char *format, *name, *text, *model, *want;
	size_t skipped;
} good[] = {
    {"aic-gemm", "a", "m,n,k,latency_ms\n8,64,32,0.5\n\n", NULL, "gemm,8,,,64,32,,,,,,,,,,0.0005,,1,\n", 0},
    {"aic-context-attention", "a", AIC_ATTENTION("isl") "4,100,8,2,128,2\r\n", NULL,
     "attention_prefill,100,0,4,,,8,2,128,,,,,,,0.002,,1,\n", 0},
    {"aic-generation-attention", "a", AIC_ATTENTION("step") "4,99,8,2,128,2\n", NULL,
     "attention_decode,,100,4,,,8,2,128,,,,,,,0.002,,1,\n", 0},
    {"aic-nccl", "a", "op_name,num_gpus,message_size,latency_ms\nall_gather,2,256,1\nall_reduce,8,256,0.01\n",
     NULL, "all_reduce,,,,,,,,,8,512,,,,,1e-05,,1,\n", 1},
    {"aic-custom-allreduce", "a",
     "kernel_source,num_gpus,message_size,latency_ms\nX_eager,2,128,5\nX_graph,2,128,0.01\nTRT,4,64,0.02\n",
     NULL, "all_reduce,,,,,,,,,2,256,,,,,1e-05,,1,\nall_reduce,,,,,,,,,4,128,,,,,2e-05,,1,\n", 1},
    {"vidur-collective", "a_all_reduce.csv",
     VIDUR_NET "8,8,0,1024,1,1,1,0.5,0\n8,4,0,1024,1,1,1,9,0\n8,8,1,1024,1,1,1,0,0\n", NULL,
     "all_reduce,,,,,,,,,8,1024,,,,,0.0005,0,1,\n", 2},
    {"vidur-collective", "send_recv.csv", VIDUR_NET "2,2,0,1024,1,1,1,0.5,0.1\n", NULL,
     "send_recv,,,,,,,,,,1024,,,,,0.0005,0.329,1,\n", 0},
    {"vidur-attention", "a",
     VIDUR_ATTENTION "8192,64,8,2,1,32,96,1,0.5,1,0,,,\n8192,64,8,2,5,0,7,0,,,,0.25,1,0\n", NULL,
     "attention_prefill,32,96,1,,,32,4,128,,,,,,,0.0005,0,1,\n"
     "attention_decode,,7,5,,,32,4,128,,,,,,,0.00025,0,1,\n",
     0},
    {"vidur-cpu-overhead", "a",
     "schedule_median,sampler_e2e_median,prepare_inputs_e2e_median,process_model_outputs_median,model_name,"
     "batch_size,tensor_parallel_degree,ray_comm_time_mean\n1,2,4,8,m,16,2,100\n",
     NULL, "host_step,,,16,,,,,,,,,,,,0.015,,1,\n", 0},
    {"llmservingsim-attention", "a",
     "tp,batch_size,prefill_chunk_size,kv_cache_size,is_prefill,median_ms\n4,1,32,64,1,1\n4,9,0,64,0,2\n",
     "llama3-70b",
     "attention_prefill,32,64,1,,,16,2,128,,,,,,,0.001,,1,\n"
     "attention_decode,,64,9,,,16,2,128,,,,,,,0.002,,1,\n",
     0},
    {"llmservingsim-mixed", "a",
     "prefill_chunk,kv_prefill,n_decode,kv_decode,time_us\n16,4,0,0,10\n0,0,3,5,20\n16,4,3,5,30\n",
     "llama3-8b",
     "attention_prefill,16,4,1,,,32,8,128,,,,,,,1e-05,,1,\nattention_decode,,5,3,,,32,8,128,,,,,,,2e-05,,1,"
     "\n",
     1},
    {"llmservingsim-layers", "a",
     "tp,layer,tokens,latency_ns\n2,q_proj,1,1000\n2,v_proj,1,2000\n2,o_proj,1,3000\n2,up_proj,1,4000\n"
     "2,down_proj,1,5000\n2,lm_head,1,6000\n2,act_fn,1,7000\n2,post_layernorm,1,8000\n2,rope,1,9000\n"
     "2,embedding,1,10000\n2,attn,1,11000\n",
     "llama3-8b",
     "gemm,1,,,2048,4096,,,,,,,,,,1e-06,,1,\ngemm,1,,,512,4096,,,,,,,,,,2e-06,,1,\n"
     "gemm,1,,,4096,2048,,,,,,,,,,3e-06,,1,\ngemm,1,,,7168,4096,,,,,,,,,,4e-06,,1,\n"
     "gemm,1,,,4096,7168,,,,,,,,,,5e-06,,1,\ngemm,1,,,64128,4096,,,,,,,,,,6e-06,,1,\n"
     "swiglu,1,,,7168,,,,,,,,,,,7e-06,,1,\nnorm,1,,,4096,,,,,,,,,,,8e-06,,1,\n"
     "rope,1,,,,,16,4,128,,,,,,,9e-06,,1,\nembed,1,,,4096,,,,,,,,,,,1e-05,,1,\n",
     1},
    {"llmservingsim-dense", "a", "layer,tokens,time_us\nqkv_proj,3,1\ngate_up_proj,3,2\n", "llama3-8b",
     "gemm,3,,,6144,4096,,,,,,,,,,1e-06,,1,\ngemm,3,,,28672,4096,,,,,,,,,,2e-06,,1,\n", 0},
    {"llmservingsim-per-sequence", "a", "layer,sequences,time_us\nlm_head,3,1\nsampler,3,2\n", "llama3-8b",
     "gemm,3,,,128256,4096,,,,,,,,,,1e-06,,1,\nsample,3,,,128256,,,,,,,,,,,2e-06,,1,\n", 0},
    {"splitwise", "a",
     SPLITWISE "llama2-70b,h100,512,4,128,1,1,100,20,9,8\nbloom-176b,h100,512,4,128,1,1,100,20,9,8\n", NULL,
     "step,512,0,4,,,,,,,,,,,,0.1,,1,\nstep,1,576,4,,,,,,,,,,,,0.02,,1,\n", 1},
    {"nvme-uring-read", "a",
     "case,queue_depth,threads,value_bytes,throughput_GiBps\nfio_raw_array,8,2,1048576,4\nroof,,,1,4\n", NULL,
     "disk_read,,,,,,,,,,1048576,16,,,,0.000244141,,1,\n", 1},
};

static char *rows_text(const struct mc_import *im)
{
	char *text;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	for (size_t i = 0; i < im->rows.n; i++)
		mc_opsamples_write(&im->rows.at[i].s, f);
	fclose(f);
	return text;
}

START_TEST(values_and_units)
{
	struct mc_import im = {.model = good[_i].model};
	struct mc_err err = {0};
	size_t skipped = 0;
	char *text;

	enter();
	/* By its columns, whatever the file is called. */
	ck_assert_msg(!mc_import_read(&im, table(good[_i].name, good[_i].text), "auto", &err), "%s: %s",
		      err.key, err.text);
	ck_assert_str_eq(im.importer->name, good[_i].format);
	text = rows_text(&im);
	ck_assert_str_eq(text, good[_i].want);
	for (int i = 0; i < MC_IMPORT_SKIPS; i++)
		skipped += im.skip[i].rows;
	ck_assert_uint_eq(skipped, good[_i].skipped);
	free(text);
	mc_import_fini(&im);
	leave();
}
END_TEST

START_TEST(vidur_layer_operators)
{
	static const char *const names[] = {"emb",         "input_layernorm", "attn_pre_proj",
					    "attn_rope",   "attn_post_proj",  "post_attention_layernorm",
					    "mlp_up_proj", "mlp_act",         "mlp_down_proj",
					    "add"};
	char text[2048], *p = text, *got;
	struct mc_import im = {0};
	struct mc_err err = {0};

	for (int i = 0; i < 10; i++)
		p += sprintf(p, "time_stats.%s.median,time_stats.%s.std,", names[i], names[i]);
	p += sprintf(p, "n_head,n_kv_head,n_embd,n_expanded_embd,vocab_size,use_gated_mlp,num_tokens,"
			"num_tensor_parallel_workers\n");
	for (int i = 0; i < 10; i++)
		p += sprintf(p, "%d,0,", i + 1);
	sprintf(p, "64,8,8192,28672,32768,True,16,4\n");
	enter();
	ck_assert_int_eq(mc_import_read(&im, table("a", text), NULL, &err), MC_OK);
	got = rows_text(&im);
	ck_assert_str_eq(got, "gemm,16,,,2560,8192,,,,,,,,,,0.003,0,1,\n"
			      "gemm,16,,,8192,2048,,,,,,,,,,0.005,0,1,\n"
			      "gemm,16,,,14336,8192,,,,,,,,,,0.007,0,1,\n"
			      "gemm,16,,,8192,7168,,,,,,,,,,0.009,0,1,\n"
			      "norm,16,,,8192,,,,,,,,,,,0.012,0,1,\n"
			      "norm,16,,,8192,,,,,,,,,,,0.016,0,1,\n"
			      "swiglu,16,,,7168,,,,,,,,,,,0.008,0,1,\n"
			      "embed,16,,,8192,,,,,,,,,,,0.001,0,1,\n"
			      "rope,16,,,,,16,2,128,,,,,,,0.004,0,1,\n");
	free(got);
	mc_import_fini(&im);
	leave();
}
END_TEST

#define GEMM "m,n,k,latency_ms\n"

static const struct {
	const char *text, *format, *where, *key, *what;
	long line;
} wrong[] = {
    {"", "auto", NULL, "", "is empty", 0},
    {"m,n,k\n1,2,3\n", "auto", NULL, "", "no known table", 0},
    {"m,n,k\n1,2,3\n", "aic-gemm", NULL, "", "no column latency_ms", 0},
    {GEMM, "aic-gem", NULL, "", "did you mean aic-gemm", 0},
    {GEMM "1,2,3\n", "auto", NULL, "", "has 3 fields; expected 4", 2},
    {GEMM "1,2,3,4\n1,2,3,4,5\n", "auto", NULL, "", "has 5 fields", 3},
    {GEMM "1,2,x,4\n", "auto", NULL, "k", "", 2},
    {GEMM "1,2,,4\n", "auto", NULL, "k", "", 2},
    {GEMM "1,2,3,nan\n", "auto", NULL, "latency_ms", "", 2},
    {GEMM "1,2,3,-4\n", "auto", NULL, "seconds", "-0.004", 2},
    {GEMM "0,2,3,4\n", "auto", NULL, "rows", "is 0 for gemm", 2},
    {GEMM "1,\"2\",3,4\n", "auto", NULL, "", "quotes", 2},
    {GEMM "1,2,3,4\n", "auto", "nm=2", "", "names no column", 0},
    {GEMM "1,2,3,4\n", "auto", "n", "", "names no column", 0},
    {"layer,tokens,time_us\nq_proj,1,1\n", "auto", NULL, "", "--model", 0},
    {VIDUR_NET "8,8,0,1024,1,1,1,1,0\n", "auto", NULL, "num_workers", "all_reduce or send_recv", 2},
    {VIDUR_ATTENTION "8192,64,8,3,1,32,96,1,0.5,1,0,,,\n", "auto", NULL, "tp", "divides", 2},
    {SPLITWISE "llama2-70b,a,9,4,8,1,1,9,9,9,8\nllama2-70b,b,9,4,8,1,1,9,9,9,8\n", "auto", NULL, "hardware",
     "choose one with --where", 3},
};

START_TEST(mistakes_have_their_place)
{
	struct mc_import im = {.where = {wrong[_i].where}};
	struct mc_err err = {0};
	const char *path;

	enter();
	path = table("a.csv", wrong[_i].text);
	ck_assert_int_eq(mc_import_read(&im, path, wrong[_i].format, &err), MC_USAGE);
	ck_assert_str_eq(err.file, path);
	ck_assert_int_eq(err.line, wrong[_i].line);
	ck_assert_str_eq(err.key, wrong[_i].key);
	ck_assert_msg(strstr(err.text, wrong[_i].what) != NULL, "'%s' lacks '%s'", err.text, wrong[_i].what);
	mc_import_fini(&im);
	leave();
}
END_TEST

START_TEST(where_chooses)
{
	struct mc_import im = {.where = {"n=2", "k=3"}};

	enter();
	ck_assert_int_eq(
	    mc_import_read(&im, table("a", GEMM "1,2,3,1\n1,2,4,1\n1,3,3,1\n7,2,3,1\n"), NULL, NULL), MC_OK);
	ck_assert_uint_eq(im.rows.n, 2);
	ck_assert_int_eq(im.rows.at[1].s.point.dim[MC_DIM_ROWS], 7);
	ck_assert_int_eq(im.rows.at[1].s.line, 5);
	ck_assert_uint_eq(im.skip[0].rows, 2);
	ck_assert_uint_eq(im.lines, 4);
	mc_import_fini(&im);
	leave();
}
END_TEST

/* Samples of gemm from "rows milliseconds" pairs, merged and flagged; the flags in order of rows,
 * space-separated. */
static void flags(char *out, const struct mc_op_limits *l, size_t n, const double (*at)[2])
{
	struct mc_import im = {0};
	size_t count[MC_SUSPECTS], told = 0, there = 0;

	for (size_t i = 0; i < n; i++) {
		struct mc_import_row r = {
		    .s = {.point = {.op = MC_OP_GEMM}, .repeats = 1, .spread_ratio = -1}, .file = "f"};

		r.s.point.dim[MC_DIM_ROWS] = (int64_t)at[i][0];
		r.s.point.dim[MC_DIM_N] = r.s.point.dim[MC_DIM_K] = 1024;
		r.s.seconds = at[i][1] * 1e-3;
		mc_vec_push(&im.rows, r);
	}
	mc_suspects_merge(&im);
	mc_suspects_flag(&im, l, 2, count);
	*out = '\0';
	for (size_t i = 0; i < im.rows.n; i++) {
		strcat(strcat(out, i ? " " : ""), *im.rows.at[i].s.flag ? im.rows.at[i].s.flag : "-");
		there += *im.rows.at[i].s.flag != '\0';
	}
	for (int w = 0; w < MC_SUSPECTS; w++)
		told += count[w];
	ck_assert_uint_eq(told, there);
	mc_import_fini(&im);
}

#define FLAGS(want, limits, ...)                                                                             \
	do {                                                                                                 \
		static const double at[][2] = {__VA_ARGS__};                                                 \
		char got[512];                                                                               \
		flags(got, limits, sizeof at / sizeof *at, at);                                              \
		ck_assert_str_eq(got, want);                                                                 \
	} while (0)

START_TEST(contradictions_are_flagged)
{
	static const struct mc_op_limits none, some = {.flops = 1e12, .memory_bytes_per_s = 1e9};

	FLAGS("- - - - - -", &none, {1, 1}, {2, 2}, {3, 2}, {4, 1.9}, {5, 3}, {6, 4});
	FLAGS("- - - - - dip", &none, {32, 6}, {1, 1}, {2, 2}, {4, 3}, {8, 4}, {64, 0.5});
	FLAGS("- - dip - - -", &none, {1, 1}, {2, 2}, {3, 0.9}, {4, 3}, {8, 4}, {16, 4});
	FLAGS("- - bump - -", &none, {1, 1}, {2, 2}, {4, 30}, {8, 4}, {16, 4});
	FLAGS("bump - - - -", &none, {1, 9}, {2, 2}, {4, 3}, {8, 4}, {16, 4});
	/* 35 % and no less; 5 us and no less. */
	FLAGS("- - - - -", &none, {1, 1}, {2, 2}, {3, 2}, {4, 1.31}, {5, 2});
	FLAGS("- - - dip -", &none, {1, 1}, {2, 2}, {3, 2}, {4, 1.29}, {5, 2});
	FLAGS("- - - - -", &none, {1, 0.006}, {2, 0.0069}, {3, 0.0069}, {4, 0.002}, {5, 0.007});
	/* Four in a row are the software's, and a series that falls as often as it rises says nothing. */
	FLAGS("- - - - - - - - - - - - -", &none, {1, 1}, {2, 2}, {3, 9}, {4, 9}, {5, 9}, {6, 9}, {7, 3},
	      {8, 3}, {9, 3}, {10, 3}, {11, 3}, {12, 4}, {13, 4});
	FLAGS("- - - - -", &none, {1, 9}, {2, 1}, {3, 9}, {4, 1}, {5, 9});
	/* Floors: 2.1e6 operations a row at 1e12/s; 2.1 MB at 1e9 B/s take 2.1 ms. */
	FLAGS("in-cache - unphysical", &some, {1, 0.1}, {2, 2.2}, {1000, 2.09});
	/* Repeats: one point, the median of them. */
	FLAGS("- disagrees -", &none, {1, 1}, {2, 2}, {2, 2.1}, {2, 3.1}, {3, 3}, {1, 1.1});
}
END_TEST

START_TEST(repeats_are_merged)
{
	struct mc_import im = {0};

	enter();
	ck_assert_int_eq(
	    mc_import_read(&im, table("a", GEMM "1,2,3,1\n4,2,3,9\n1,2,3,4\n1,2,3,2\n"), NULL, NULL), 0);
	mc_suspects_merge(&im);
	ck_assert_uint_eq(im.rows.n, 2);
	ck_assert(im.rows.at[0].s.seconds == 2e-3);
	ck_assert_int_eq(im.rows.at[0].s.repeats, 3);
	ck_assert_int_eq(im.rows.at[0].s.line, 2);
	ck_assert_double_eq_tol(im.rows.at[0].s.spread_ratio, 0.75, 1e-12);
	ck_assert_str_eq(im.rows.at[0].s.flag, "disagrees");
	ck_assert_str_eq(im.rows.at[1].s.flag, "");
	mc_import_fini(&im);
	leave();
}
END_TEST

/* The published tables: rows, points after merging, points flagged without limits. */
static const struct {
	const char *file, *where[3], *model;
	size_t lines, points, flagged;
} published[] = {
    {"aic_a100_vllm_gemm.csv.zst", {0}, NULL, 9240, 9240, 2},
    {"aic_a100_vllm_context_attention.csv.zst", {0}, NULL, 5457, 5049, 37},
    {"aic_a100_vllm_custom_allreduce.csv", {0}, NULL, 138, 69, 1},
    {"aic_a100_nccl.csv", {0}, NULL, 252, 63, 0},
    {"vidur_a100_llama2-70b_mlp.csv.zst", {0}, NULL, 1044, 6734, 1},
    {"vidur_a100_dgx_all_reduce.csv.zst", {0}, NULL, 6958, 2979, 0},
    {"vidur_a100_dgx_send_recv.csv.zst", {0}, NULL, 1988, 993, 0},
    {"vidur_a100_70b_tp2_attention.csv.zst", {0}, NULL, 14658, 14318, 0},
    {"vidur_a100_cpu_overheads.csv", {"model_name=meta-llama/Llama-2-70b-hf"}, NULL, 78, 12, 0},
    {"llmservingsim_h100_70b_tp4_attention.csv.zst", {0}, "llama3-70b", 21603, 21209, 2},
    {"llmservingsim_rtxpro6000_8b_attention.csv.zst", {0}, "llama3-8b", 19364, 404, 0},
    {"llmservingsim_rtxpro6000_8b_dense.csv", {0}, "llama3-8b", 1368, 1216, 0},
    {"splitwise_perf_model.csv.zst",
     {"model=llama2-70b", "hardware=a100-80gb", "tensor_parallel=2"},
     NULL,
     1260,
     32,
     2},
};

/* Reads published[i]; false: it is not there. */
static bool read_published(struct mc_import *im, int i)
{
	static char path[512];
	const char *data = getenv("MOONCAKE_DATA");

	memset(im, 0, sizeof *im);
	if (!data)
		return false;
	snprintf(path, sizeof path, "%s/kernels/%s", data, published[i].file);
	if (access(path, R_OK))
		return false;
	memcpy(im->where, published[i].where, sizeof published[i].where);
	im->model = published[i].model;
	ck_assert_int_eq(mc_import_read(im, path, "auto", NULL), MC_OK);
	mc_suspects_merge(im);
	return true;
}

START_TEST(published_tables)
{
	static const struct mc_op_limits none;
	size_t count[MC_SUSPECTS], flagged = 0;
	struct mc_import im;

	if (!read_published(&im, _i))
		return;
	mc_suspects_flag(&im, &none, 2, count);
	for (int w = 0; w < MC_SUSPECTS; w++)
		flagged += count[w];
	ck_assert_uint_eq(im.lines, published[_i].lines);
	ck_assert_uint_eq(im.rows.n, published[_i].points);
	ck_assert_uint_eq(flagged, published[_i].flagged);
	for (size_t i = 0; i < im.rows.n; i++) {
		const struct mc_opsample *s = &im.rows.at[i].s;

		/* What the publishers say themselves: 0.675 ms for 64 MiB over the 8 GPUs of a node, 0.294 ms
		 * between two; and prefill of 64 prompts that takes less time than that of 4. */
		if (s->point.op == MC_OP_ALL_REDUCE && s->point.dim[MC_DIM_RANKS] == 8 &&
		    s->point.dim[MC_DIM_BYTES] == 64 << 20 && strstr(published[_i].file, "vidur"))
			ck_assert_double_eq_tol(s->seconds, 0.675e-3, 1e-9);
		if (s->point.op == MC_OP_SEND_RECV && s->point.dim[MC_DIM_BYTES] == 64 << 20)
			ck_assert_double_eq_tol(s->seconds, 0.294e-3, 1e-9);
		if (s->point.op == MC_OP_STEP)
			ck_assert_str_eq(s->flag, s->point.dim[MC_DIM_SEQS] == 64 ? "dip" : "");
	}
	mc_import_fini(&im);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("import");
	TCase *t = tcase_create("import");

	tcase_add_loop_test(t, values_and_units, 0, sizeof good / sizeof *good);
	tcase_add_test(t, vidur_layer_operators);
	tcase_add_loop_test(t, mistakes_have_their_place, 0, sizeof wrong / sizeof *wrong);
	tcase_add_test(t, where_chooses);
	tcase_add_test(t, contradictions_are_flagged);
	tcase_add_test(t, repeats_are_merged);
	tcase_add_loop_test(t, published_tables, 0, sizeof published / sizeof *published);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
