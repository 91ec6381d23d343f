#include "plan/capacity.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEVEL 0.95

void mc_capacity_fini(struct mc_capacity *c)
{
	for (size_t i = 0; i < c->n; i++) {
		for (size_t k = 0; k < c->side[i].n; k++)
			mc_bisect_fini(&c->side[i].search[k].bisect);
		free(c->side[i].search);
	}
	free(c->side);
	memset(c, 0, sizeof *c);
}

/* The answer of the side for a seed; NaN: there is none. A side that is not random has one for all. */
static double answer(const struct mc_capacity_side *side, int64_t seed)
{
	for (size_t k = 0; k < side->n; k++) {
		const struct mc_capacity_search *s = &side->search[k];

		if (s->seed == seed || !side->random)
			return s->bisect.state == MC_BISECT_FOUND ? s->bisect.pass : NAN;
	}
	return NAN;
}

/* Ratios to the first side. Two sides of which one is random have as many as that has seeds. */
static void ratios(const struct mc_capacity *c, size_t side, struct mc_ci *out)
{
	const struct mc_capacity_side *first = &c->side[0], *s = &c->side[side],
				      *most = s->random ? s : first;
	double *r = mc_xcalloc(most->n + 1, sizeof *r);
	size_t n = 0;

	for (size_t k = 0; k < most->n; k++) {
		int64_t seed = most->search[k].seed;
		double ratio = answer(s, seed) / answer(first, seed);

		if (isfinite(ratio))
			r[n++] = ratio;
	}
	mc_ci_mean(r, n == most->n ? n : 0, LEVEL, out);
	free(r);
}

void mc_capacity_summarize(const struct mc_capacity *c, size_t side, struct mc_capacity_summary *out)
{
	const struct mc_capacity_side *s = &c->side[side];
	double *pass = mc_xcalloc(s->n + 1, sizeof *pass), fail = 0;
	size_t n = 0;

	*out = (struct mc_capacity_summary){.min = INFINITY, .lowest_fail = INFINITY};
	for (size_t k = 0; k < s->n; k++) {
		const struct mc_bisect *b = &s->search[k].bisect;
		const struct mc_bisect_probe *at = mc_bisect_at(b, b->pass);

		out->never += b->state == MC_BISECT_NEVER;
		out->always += b->state == MC_BISECT_ALWAYS;
		out->lowest_fail = fmin(out->lowest_fail, b->fail);
		out->highest_pass = fmax(out->highest_pass, b->pass);
		out->again += b->again > 0;
		out->unsteady += at && !at->steady;
		if (b->state != MC_BISECT_FOUND)
			continue;
		pass[n++] = b->pass;
		fail += b->fail;
		out->min = fmin(out->min, b->pass);
		out->max = fmax(out->max, b->pass);
	}
	mc_ci_mean(pass, n && n == s->n ? n : 0, LEVEL, &out->pass);
	out->fail = n ? fail / (double)n : 0;
	ratios(c, side, &out->ratio);
	free(pass);
}
