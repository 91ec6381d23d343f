/* mooncake trace stat: the statistics as a screen of text, as JSON, or the table of hits as CSV. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/units.h"
#include "base/vec.h"
#include "cli/command.h"
#include "cli/trace_cli.h"
#include "cli/trace_hits.h"
#include "trace/lru.h"
#include "trace/stats.h"

#define STAT_CAPACITIES "1000,3000,10K,30K,100K,inf"
#define STAT_TOP_MAX    10000

struct report {
	const struct mc_trace *t;
	const char *path;
	struct mc_trace_stats s;
	struct mc_trace_hits lru, pools; /* pools: none without --evict */
	struct mc_trace_hot *hot;
	int64_t n_hot;
	struct mc_trace_capacities capacities;
	struct mc_trace_evictors evictors;
};

/* ---- text ---- */

static void text_spread(FILE *fp, const char *name, const struct mc_summary *s, int decimals)
{
	fprintf(fp, "%-17s %11.*f %11.*f %11.*f %11.*f %11.*f %11.*f\n", name, decimals, s->mean, decimals,
		s->p50, decimals, s->p90, decimals, s->p95, decimals, s->p99, decimals, s->max);
}

static void text_reuse(FILE *fp, const struct mc_trace_stats *s)
{
	char a[32], b[32];

	fprintf(fp, "\nblocks            %s references to %s distinct\n",
		mc_trace_cli_commas(s->references, a), mc_trace_cli_commas(s->distinct, b));
	fprintf(fp, "reuse ceiling     an infinite cache, a block counts if all blocks before it hit, too\n");
	fprintf(fp, "  by block        %7.2f %%   %s of %s blocks\n", 100 * s->by_block,
		mc_trace_cli_commas(s->hit_blocks, a), mc_trace_cli_commas(s->references, b));
	fprintf(fp, "  by token        %7.2f %%   %s of %s tokens\n", 100 * s->by_token,
		mc_trace_cli_commas(s->hit_tokens, a), mc_trace_cli_commas(s->input_tokens, b));
	fprintf(fp, "  mean of requests%7.2f %%   %s prompts hit whole\n", 100 * s->mean_of_requests,
		mc_trace_cli_commas((uint64_t)s->full_hits, a));
	if (!s->children)
		return;
	fprintf(fp,
		"\nturns             %s requests go on from an earlier one; %s answers fill whole blocks of "
		"its prompt\n",
		mc_trace_cli_commas((uint64_t)s->children, a),
		mc_trace_cli_commas((uint64_t)s->continued, b));
	fprintf(fp, "reuse ceiling     with answers written back (kv.write_back)\n");
	fprintf(fp, "  by block        %7.2f %%   %s blocks\n",
		100 * (double)s->kept_blocks / (double)s->references, mc_trace_cli_commas(s->kept_blocks, a));
	fprintf(fp, "  by token        %7.2f %%   %s tokens\n",
		100 * (double)s->kept_tokens / (double)s->input_tokens,
		mc_trace_cli_commas(s->kept_tokens, a));
}

static void text(FILE *fp, const struct report *r)
{
	const struct mc_trace_stats *s = &r->s;
	char a[32], b[32];

	fprintf(fp, "trace             %s, fingerprint %016" PRIx64 "\n", r->path, r->t->fingerprint);
	fprintf(fp,
		"requests          %s of %" PRId64
		"-token blocks; %s without output, %s bad records skipped\n",
		mc_trace_cli_commas((uint64_t)s->requests, a), r->t->block_tokens,
		mc_trace_cli_commas((uint64_t)s->without_output, b),
		mc_trace_cli_commas((uint64_t)r->t->bad, (char[32]){0}));
	fprintf(fp, "arrivals          %.3f s, %.3f requests/s; gap CV %.2f (Poisson is 1)\n", s->duration_s,
		s->rate, s->gap_cv);
	fprintf(fp, "                  %s instants, at most %s requests at one, median gap %.3f s\n\n",
		mc_trace_cli_commas((uint64_t)s->instants, a),
		mc_trace_cli_commas((uint64_t)s->instant_max, b), s->instant_gap_s);
	fprintf(fp, "%-17s %11s %11s %11s %11s %11s %11s\n", "", "mean", "p50", "p90", "p95", "p99", "max");
	text_spread(fp, "input tokens", &s->input, 0);
	text_spread(fp, "output tokens", &s->output, 0);
	text_spread(fp, "reuse age s", &s->age_s, 1);
	text_reuse(fp, s);
	mc_trace_hits_text(fp, &r->lru, "one LRU pool");
	if (r->pools.n)
		mc_trace_hits_text(fp, &r->pools, "one pool evicting");
	if (r->n_hot)
		fprintf(fp, "\nhottest blocks    %12s %12s   id\n", "uses", "position");
	for (int64_t i = 0; i < r->n_hot; i++)
		fprintf(fp, "%17s %12s %12" PRIu64 "   %" PRIu64 "\n", "",
			mc_trace_cli_commas(r->hot[i].uses, a), r->hot[i].position, r->hot[i].id);
}

/* ---- JSON ---- */

static json_t *json_spread(const struct mc_summary *s)
{
	return json_pack("{s:f, s:f, s:f, s:f, s:f, s:I}", "mean", s->mean, "p50", s->p50, "p90", s->p90,
			 "p99", s->p99, "max", s->max, "count", (json_int_t)s->count);
}

/* Ids use all 64 bits, which JSON readers seldom have: they are strings. */
static json_t *json_hot(const struct report *r)
{
	json_t *list = json_array();

	for (int64_t i = 0; i < r->n_hot; i++) {
		char id[24];

		snprintf(id, sizeof id, "%" PRIu64, r->hot[i].id);
		json_array_append_new(list, json_pack("{s:s, s:I, s:I}", "id", id, "uses",
						      (json_int_t)r->hot[i].uses, "position",
						      (json_int_t)r->hot[i].position));
	}
	return list;
}

static json_t *json_report(const struct report *r)
{
	const struct mc_trace_stats *s = &r->s;
	char fingerprint[20];
	json_t *o;

	snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, r->t->fingerprint);
	o = json_pack("{s:s, s:{s:s, s:s, s:I}, s:{s:I, s:I, s:I}, s:o, s:o}", "schema", "1.0", "trace",
		      "path", r->path, "fingerprint", fingerprint, "block_tokens",
		      (json_int_t)r->t->block_tokens, "requests", "total", (json_int_t)s->requests,
		      "without_output", (json_int_t)s->without_output, "bad_records", (json_int_t)r->t->bad,
		      "input_tokens", json_spread(&s->input), "output_tokens", json_spread(&s->output));
	json_object_set_new(json_object_get(o, "input_tokens"), "total",
			    json_integer((json_int_t)s->input_tokens));
	json_object_set_new(json_object_get(o, "output_tokens"), "total",
			    json_integer((json_int_t)s->output_tokens));
	json_object_set_new(o, "arrivals",
			    json_pack("{s:f, s:f, s:f, s:I, s:I, s:f}", "duration_s", s->duration_s,
				      "rate_requests_per_s", s->rate, "gap_cv", s->gap_cv, "instants",
				      (json_int_t)s->instants, "requests_per_instant_max",
				      (json_int_t)s->instant_max, "instant_gap_median_s", s->instant_gap_s));
	json_object_set_new(o, "blocks",
			    json_pack("{s:I, s:I}", "references", (json_int_t)s->references, "distinct",
				      (json_int_t)s->distinct));
	json_object_set_new(o, "reuse_ceiling",
			    json_pack("{s:f, s:f, s:f, s:I, s:I, s:I}", "by_block", s->by_block, "by_token",
				      s->by_token, "mean_of_requests", s->mean_of_requests, "hit_blocks",
				      (json_int_t)s->hit_blocks, "hit_tokens", (json_int_t)s->hit_tokens,
				      "full_hits", (json_int_t)s->full_hits));
	if (s->children)
		json_object_set_new(
		    o, "turns",
		    json_pack("{s:I, s:I, s:f, s:f, s:I, s:I}", "with_parent", (json_int_t)s->children,
			      "answers_in_prompts", (json_int_t)s->continued, "by_block",
			      (double)s->kept_blocks / (double)s->references, "by_token",
			      (double)s->kept_tokens / (double)s->input_tokens, "hit_blocks",
			      (json_int_t)s->kept_blocks, "hit_tokens", (json_int_t)s->kept_tokens));
	json_object_set_new(o, "reuse_age_s", json_spread(&s->age_s));
	json_object_set_new(o, "lru", mc_trace_hits_json(&r->lru));
	if (r->pools.n)
		json_object_set_new(o, "pools", mc_trace_hits_json(&r->pools));
	json_object_set_new(o, "hottest_blocks", json_hot(r));
	return o;
}

static int write_report(const struct report *r, int format, const char *output)
{
	struct mc_err err = {0};
	struct mc_file f;

	if (mc_file_create(&f, output, &err))
		return mc_cli_error(&err);
	if (format == 1) {
		json_t *o = json_report(r);

		json_dumpf(o, f.fp, JSON_INDENT(2) | JSON_REAL_PRECISION(15));
		fputc('\n', f.fp);
		json_decref(o);
	} else if (format == 2) {
		mc_trace_hits_csv(f.fp, r->pools.n ? &r->pools : &r->lru);
	} else {
		text(f.fp, r);
	}
	return mc_file_commit(&f, &err) ? mc_cli_error(&err) : MC_OK;
}

static int stat_trace(struct report *r, int64_t top, int format, const char *output)
{
	struct mc_trace_numbers numbers;
	struct mc_lru_curve lru;
	int rc;

	mc_trace_numbers_init(&numbers, r->t);
	mc_trace_stats_compute(r->t, &numbers, &r->s);
	r->lru.references = r->pools.references = r->s.references;
	r->lru.input_tokens = r->pools.input_tokens = r->s.input_tokens;
	mc_lru_curve_init(&lru, r->t, &numbers);
	mc_trace_hits_lru(&r->lru, &lru, &r->capacities);
	mc_lru_curve_fini(&lru);
	mc_trace_hits_pools(&r->pools, r->t, &r->evictors, &r->capacities);
	r->hot = mc_xcalloc((size_t)top, sizeof *r->hot);
	r->n_hot = mc_trace_hottest(r->t, &numbers, top, r->hot);
	rc = write_report(r, format, output);
	mc_trace_numbers_fini(&numbers);
	mc_vec_fini(&r->lru);
	mc_vec_fini(&r->pools);
	free(r->hot);
	return rc;
}

int mc_trace_cli_stat(int argc, char **argv, const char *usage)
{
	static const struct mc_option options[] = {MC_TRACE_CLI_OPTIONS,
						   {"capacities", 'c', "LIST"},
						   {"evict", 'e', "LIST"},
						   {"format", 'f', "FORMAT"},
						   {"top", 'k', "K"},
						   {"output", 'o', "FILE"},
						   {0}};
	static const char *const formats[] = {"text", "json", "csv", NULL};
	struct mc_trace_params p = MC_TRACE_PARAMS_DEFAULT;
	const char *output = "-", *capacities = STAT_CAPACITIES, *evictors = NULL;
	struct report r = {0};
	struct mc_err err = {0};
	struct mc_trace t;
	struct mc_args a;
	int64_t top = 5;
	int c, rc, format = 0;

	mc_args_init(&a, argc, argv, options, usage);
	while ((c = mc_args_next(&a)) > 0) {
		if (c == 'c')
			capacities = a.value;
		else if (c == 'e')
			evictors = a.value;
		else if (c == 'f')
			mc_args_choice(&a, formats, &format);
		else if (c == 'k')
			mc_args_int(&a, 0, STAT_TOP_MAX, &top);
		else if (c == 'o')
			output = a.value;
		else
			mc_trace_cli_option(&a, c, &p);
		if (a.rc)
			return a.rc;
	}
	if (c == MC_ARGS_STOP || !mc_args_operands(&a, 1, 1, "one trace"))
		return a.rc;
	if (mc_trace_capacities_parse(&r.capacities, capacities, &err) ||
	    (evictors && mc_trace_evictors_parse(&r.evictors, evictors, &err)))
		rc = mc_cli_error(&err);
	else
		rc = mc_trace_cli_read(&a, &p, &t);
	if (!rc) {
		r.t = &t;
		r.path = p.path;
		rc = stat_trace(&r, top, format, output);
		mc_trace_fini(&t);
	}
	mc_vec_fini(&r.capacities);
	mc_vec_fini(&r.evictors);
	return rc;
}
