#include "cli/trace_hits.h"

#include <inttypes.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"
#include "cli/trace_cli.h"
#include "kv/replay.h"
#include "trace/reshape.h"

int mc_trace_capacities_parse(struct mc_trace_capacities *c, const char *list, struct mc_err *err)
{
	char *copy = mc_xstrdup(list), *rest = copy, *word;

	while ((word = strsep(&rest, ","))) {
		int64_t v = -1;

		if (!strcmp(word, "inf"))
			v = 0;
		else if (mc_units_count(word, &v, err))
			break;
		else if (v < 1)
			mc_err_set(err, MC_USAGE,
				   "%s is no capacity; expected a number of blocks from 1 on, or inf", word);
		if (err->rc)
			break;
		mc_vec_push(c, v ? (uint64_t)v : UINT64_MAX);
	}
	free(copy);
	mc_err_at(err, NULL, 0, 0, "--capacities");
	return err->rc;
}

int mc_trace_evictors_parse(struct mc_trace_evictors *e, const char *list, struct mc_err *err)
{
	char *copy = mc_xstrdup(list), *rest = copy, *word;

	while ((word = strsep(&rest, ","))) {
		const struct mc_evictor *one = mc_evictor_find(word);
		const char *near;

		if (one) {
			mc_vec_push(e, one);
			continue;
		}
		if (strcmp(word, "all")) {
			near = mc_suggest(word, mc_evictors_names);
			mc_err_set(err, MC_USAGE,
				   "no eviction policy '%.50s'%s%s; expected all or names of `list evictors`",
				   word, near ? ", did you mean " : "", near ? near : "");
			break;
		}
		for (const struct mc_evictor *const *p = mc_evictors; *p; p++)
			mc_vec_push(e, *p);
	}
	free(copy);
	mc_err_at(err, NULL, 0, 0, "--evict");
	return err->rc;
}

void mc_trace_hits_lru(struct mc_trace_hits *h, const struct mc_lru_curve *lru,
		       const struct mc_trace_capacities *c)
{
	for (size_t i = 0; i < c->n; i++) {
		struct mc_trace_hit hit = {.capacity = c->at[i]};

		mc_lru_curve_at(lru, hit.capacity, &hit.blocks, &hit.tokens);
		mc_vec_push(h, hit);
	}
}

/* Pools want ids that name their whole prefix; of ids that do, chaining is only a renaming. */
static struct mc_trace chained(const struct mc_trace *t)
{
	struct mc_trace copy = *t;
	size_t size = (size_t)t->first[t->n] * sizeof *t->block;

	copy.block = mc_xmalloc(size);
	memcpy(copy.block, t->block, size);
	mc_trace_chain(&copy);
	return copy;
}

void mc_trace_hits_pools(struct mc_trace_hits *h, const struct mc_trace *t, const struct mc_trace_evictors *e,
			 const struct mc_trace_capacities *c)
{
	struct mc_trace copy = chained(t);
	uint64_t enough = t->first[t->n] < INT32_MAX ? t->first[t->n] : INT32_MAX;

	for (size_t i = 0; i < e->n; i++) {
		if (e->at[i]->foresee)
			h->bound = e->at[i]->name;
		for (size_t k = 0; k < c->n; k++) {
			uint64_t capacity = c->at[k] < enough ? c->at[k] : enough;
			struct mc_replay r;

			mc_replay_run(&copy, e->at[i], (uint32_t)capacity, &r);
			mc_vec_push(
			    h, ((struct mc_trace_hit){e->at[i]->name, c->at[k], r.hit_blocks, r.hit_tokens}));
		}
	}
	free(copy.block);
}

static double block_ratio(const struct mc_trace_hits *h, size_t i)
{
	return (double)h->at[i].blocks / (double)h->references;
}

static double token_ratio(const struct mc_trace_hits *h, size_t i)
{
	return (double)h->at[i].tokens / (double)h->input_tokens;
}

/* The policy's name, where it begins. */
static const char *label(const struct mc_trace_hits *h, size_t i)
{
	const char *name = h->at[i].evict;

	return !name || (i && h->at[i - 1].evict == name) ? "" : name;
}

void mc_trace_hits_text(FILE *fp, const struct mc_trace_hits *h, const char *title)
{
	fprintf(fp, "\n%-17s %12s %12s %8s %16s %8s\n", title, "blocks", "hit blocks", "%", "hit tokens",
		"%");
	for (size_t i = 0; i < h->n; i++) {
		char a[32] = "inf", b[32], c[32];

		if (h->at[i].capacity != UINT64_MAX)
			mc_trace_cli_commas(h->at[i].capacity, a);
		fprintf(fp, "  %-15s %12s %12s %8.2f %16s %8.2f\n", label(h, i), a,
			mc_trace_cli_commas(h->at[i].blocks, b), 100 * block_ratio(h, i),
			mc_trace_cli_commas(h->at[i].tokens, c), 100 * token_ratio(h, i));
	}
	if (h->bound)
		fprintf(fp, "  %s needs the future: no policy has more hit blocks\n", h->bound);
}

json_t *mc_trace_hits_json(const struct mc_trace_hits *h)
{
	json_t *list = json_array();

	for (size_t i = 0; i < h->n; i++) {
		const struct mc_trace_hit *at = &h->at[i];
		json_t *o = at->evict ? json_pack("{s:s}", "evict", at->evict) : json_object();

		json_object_set_new(o, "capacity_blocks",
				    at->capacity == UINT64_MAX ? json_string("inf")
							       : json_integer((json_int_t)at->capacity));
		json_object_set_new(o, "hit_blocks", json_integer((json_int_t)at->blocks));
		json_object_set_new(o, "hit_tokens", json_integer((json_int_t)at->tokens));
		json_object_set_new(o, "block_ratio", json_real(block_ratio(h, i)));
		json_object_set_new(o, "token_ratio", json_real(token_ratio(h, i)));
		json_array_append_new(list, o);
	}
	return list;
}

void mc_trace_hits_csv(FILE *fp, const struct mc_trace_hits *h)
{
	bool named = h->n && h->at[0].evict;

	fprintf(fp, "%scapacity_blocks,hit_blocks,hit_tokens,block_ratio,token_ratio\n",
		named ? "evict," : "");
	for (size_t i = 0; i < h->n; i++) {
		const struct mc_trace_hit *at = &h->at[i];

		if (named)
			fprintf(fp, "%s,", at->evict);
		if (at->capacity == UINT64_MAX)
			fputs("inf", fp);
		else
			fprintf(fp, "%" PRIu64, at->capacity);
		fprintf(fp, ",%" PRIu64 ",%" PRIu64 ",%.6f,%.6f\n", at->blocks, at->tokens, block_ratio(h, i),
			token_ratio(h, i));
	}
}
