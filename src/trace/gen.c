#include "trace/gen.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "des/stream.h"

#define GEN_TAIL_IDS     (UINT64_C(1) << 32) /* ids of partial last blocks, above those of whole ones */
#define GEN_SESSIONS_MAX 1e8

static double draw_tail(gsl_rng *rng, const struct mc_gen_tail *tail)
{
	double v = tail->median * exp(gsl_ran_ugaussian(rng) * tail->sigma);

	return v < tail->min ? tail->min : v > tail->max ? tail->max : v;
}

static void push(struct mc_gen *g, const struct mc_gen_request *r)
{
	if ((size_t)g->n == g->cap)
		g->request = mc_vec_grow(g->request, &g->cap, (size_t)g->n + 1, sizeof *g->request);
	g->request[g->n++] = *r;
}

/* The tick at or before a time. */
static mc_time ticked(const struct mc_gen_spec *s, mc_time at)
{
	return s->tick > 0 ? at / s->tick * s->tick : at;
}

/* Cumulative weights of the system prompts; cdf[count - 1] is 1. */
static double *zipf_new(const struct mc_gen_spec *s)
{
	double *cdf = mc_xcalloc((size_t)s->system_count + 1, sizeof *cdf), sum = 0;

	for (int64_t k = 0; k < s->system_count; k++)
		cdf[k] = sum += pow((double)(k + 1), -s->system_zipf);
	for (int64_t k = 0; k < s->system_count; k++)
		cdf[k] /= sum;
	return cdf;
}

static uint32_t draw_system(const struct mc_gen_spec *s, const double *cdf, gsl_rng *rng)
{
	double share = gsl_rng_uniform(rng), u = gsl_rng_uniform(rng);
	int64_t low = 0, high = s->system_count - 1;

	if (!s->system_count || share >= s->system_share)
		return 0;
	while (low < high) {
		int64_t mid = (low + high) / 2;

		if (cdf[mid] > u)
			high = mid;
		else
			low = mid + 1;
	}
	return (uint32_t)low + 1;
}

/* Turn `r` as often as it is asked, thinking in between; false when the trace is over. */
static bool ask(struct mc_gen *g, gsl_rng *rng, struct mc_gen_request *r, double *at)
{
	const struct mc_gen_spec *s = g->spec;

	do {
		mc_time when = mc_time_from_s(*at) - s->warmup;

		if (when >= s->duration)
			return false;
		r->turn++;
		r->arrival = ticked(s, when);
		if (when >= 0)
			push(g, r);
		*at += draw_tail(rng, &s->think);
	} while (gsl_rng_uniform(rng) < s->repeat);
	return true;
}

/* A session that starts at a time, counted from the start of the warm-up; the turns inside the trace are
 * kept. */
static void session(struct mc_gen *g, gsl_rng *rng, const double *cdf, uint64_t number, double at)
{
	const struct mc_gen_spec *s = g->spec;
	struct mc_gen_request r = {.session = number, .system = draw_system(s, cdf, rng)};
	double text = (double)(s->preamble_tokens + (r.system ? g->system_tokens[r.system] : 0));
	int64_t turns = (int64_t)draw_tail(rng, &s->turns);

	for (int64_t i = 0; i < turns; i++) {
		double output = floor(draw_tail(rng, &s->output)), room = (double)s->context_tokens - output;

		text += floor(draw_tail(rng, i ? &s->next : &s->first));
		if (!i && text > room) /* a first prompt is cut to fit */
			text = room;
		if (text > room)
			return;
		r.input = (uint32_t)text;
		r.output = (uint32_t)output;
		r.round++;
		if (!ask(g, rng, &r, &at))
			return;
		text += output;
	}
}

static int by_arrival(const void *a, const void *b)
{
	const struct mc_gen_request *x = a, *y = b;

	if (x->arrival != y->arrival)
		return x->arrival < y->arrival ? -1 : 1;
	if (x->session != y->session)
		return x->session < y->session ? -1 : 1;
	return (x->turn > y->turn) - (x->turn < y->turn);
}

static int refuse(struct mc_err *err, const char *key, const char *text)
{
	mc_err_set(err, MC_USAGE, "%s", text);
	mc_err_at(err, NULL, 0, 0, key);
	return MC_USAGE;
}

/* What holds between the fields. */
static int check(const struct mc_gen_spec *s, struct mc_err *err)
{
	const struct {
		const char *key;
		const struct mc_gen_tail *tail;
	} tails[] = {{"system", &s->system}, {"turns", &s->turns},   {"first", &s->first},
		     {"next", &s->next},     {"output", &s->output}, {"think", &s->think}};

	for (size_t i = 0; i < sizeof tails / sizeof *tails; i++)
		if (tails[i].tail->min > tails[i].tail->max)
			return refuse(err, tails[i].key, "min is above max; expected the other way round");
	if (s->output.max >= (double)s->context_tokens)
		return refuse(err, "output.max", "fills the context; expected less than context_tokens");
	if (s->rate * s->scale * mc_time_to_s(s->duration + s->warmup) > GEN_SESSIONS_MAX)
		return refuse(err, "scale", "makes more than 100 million sessions; expected fewer");
	return 0;
}

static void make_systems(struct mc_gen *g)
{
	const struct mc_gen_spec *s = g->spec;
	gsl_rng *rng = mc_stream_new((uint64_t)s->seed, "system", 0);

	g->system_tokens = mc_xcalloc((size_t)s->system_count + 1, sizeof *g->system_tokens);
	for (int64_t k = 1; k <= s->system_count; k++)
		g->system_tokens[k] = (uint32_t)draw_tail(rng, &s->system);
	gsl_rng_free(rng);
}

/* The latest requests of a session. */
struct latest {
	uint32_t round;
	int64_t last, before; /* of that round; of the one before it, -1: none */
};

static void find_parents(struct mc_gen *g)
{
	struct {
		MC_VEC(struct latest)
	} session = {0};
	struct mc_map at = {0};

	g->parent = mc_xcalloc((size_t)g->n, sizeof *g->parent);
	for (int64_t i = 0; i < g->n; i++) {
		const struct mc_gen_request *r = &g->request[i];
		uint32_t k = mc_map_get(&at, r->session);
		struct latest *l;

		if (k == MC_MAP_NONE) {
			k = (uint32_t)session.n;
			mc_map_put(&at, r->session, k);
			mc_vec_push(&session, ((struct latest){r->round, -1, -1}));
		}
		l = &session.at[k];
		if (l->round != r->round)
			*l = (struct latest){r->round, i, l->last};
		l->last = i;
		g->parent[i] = l->before;
	}
	mc_vec_fini(&session);
	mc_map_fini(&at);
}

int mc_gen_init(struct mc_gen *g, const struct mc_gen_spec *spec, struct mc_err *err)
{
	gsl_rng *arrival, *content;
	double end, at = 0, *cdf;
	uint64_t number = 0;

	memset(g, 0, sizeof *g);
	g->spec = spec;
	if (check(spec, err))
		return MC_USAGE;
	make_systems(g);
	cdf = zipf_new(spec);
	arrival = mc_stream_new((uint64_t)spec->seed, "arrival", 0);
	content = mc_stream_new((uint64_t)spec->seed, "session", 0);
	end = mc_time_to_s(spec->duration + spec->warmup);
	while ((at += gsl_ran_exponential(arrival, 1 / (spec->rate * spec->scale))) < end)
		session(g, content, cdf, number++, at);
	gsl_rng_free(arrival);
	gsl_rng_free(content);
	free(cdf);
	if (!g->n) {
		mc_gen_fini(g);
		return refuse(err, "rate",
			      "makes no request at all; expected a higher rate or a longer duration");
	}
	qsort(g->request, (size_t)g->n, sizeof *g->request, by_arrival);
	find_parents(g);
	return 0;
}

void mc_gen_fini(struct mc_gen *g)
{
	free(g->request);
	free(g->parent);
	free(g->system_tokens);
	memset(g, 0, sizeof *g);
}

/* Ids of one text follow one another from a random base: sparse over 62 bits, and still kind to compression.
 */
static uint64_t base(const struct mc_gen_spec *s, uint64_t kind, uint64_t number)
{
	return mc_hash_pair(mc_hash_pair((uint64_t)s->seed, kind), number) >> 2;
}

uint64_t mc_gen_ids(const struct mc_gen *g, int64_t i, uint64_t *id)
{
	const struct mc_gen_spec *s = g->spec;
	const struct mc_gen_request *r = &g->request[i];
	uint64_t size = (uint64_t)s->block_tokens, whole = r->input / size, n = (r->input + size - 1) / size;
	uint64_t preamble = (uint64_t)s->preamble_tokens / size;
	uint64_t system = ((uint64_t)s->preamble_tokens + g->system_tokens[r->system]) / size;
	uint64_t session = base(s, 3, r->session);

	for (uint64_t k = 0; k < whole; k++)
		id[k] = k + (k < preamble ? base(s, 1, 0) : k < system ? base(s, 2, r->system) : session);
	if (n > whole)
		id[whole] = session + GEN_TAIL_IDS + r->input;
	return n;
}

int mc_gen_trace(struct mc_trace *t, const struct mc_gen_spec *spec, struct mc_err *err)
{
	struct mc_gen g;
	uint64_t *id;

	mc_trace_init(t, spec->block_tokens);
	if (mc_gen_init(&g, spec, err)) {
		mc_trace_fini(t);
		return MC_USAGE;
	}
	id = mc_xcalloc((size_t)(spec->context_tokens / spec->block_tokens + 1), sizeof *id);
	for (int64_t i = 0; i < g.n; i++) {
		const struct mc_gen_request *r = &g.request[i];
		mc_gen_ids(&g, i, id);
		/* As a reader would have it: time 0 is the first request's. */
		mc_trace_push(t, r->arrival - g.request[0].arrival, r->input, r->output, id);
		if (g.parent[i] >= 0)
			mc_trace_set_parent(t, g.parent[i]);
	}
	t->fingerprint = mc_trace_hash(t);
	free(id);
	mc_gen_fini(&g);
	return 0;
}
