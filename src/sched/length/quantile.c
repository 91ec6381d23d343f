/* A quantile of the outputs of prompts of the same length class (powers of two), of the last ones that have
 * ended. */
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "sched/length.h"

#define LAST 512 /* outputs of a class */

struct class
{
	uint32_t sorted[LAST], ring[LAST]; /* the same outputs, by size and by time */
	uint64_t seen;
};

struct quantile {
	double q;
	struct class class[MC_LENGTH_PROMPTS];
};

static void *create(const struct mc_length_params *params)
{
	struct quantile *s = mc_xcalloc(1, sizeof *s);

	s->q = params->quantile;
	return s;
}

static size_t kept(const struct class *c)
{
	return c->seen < LAST ? (size_t)c->seen : LAST;
}

static uint32_t predict(void *state, const struct mc_prompt *prompt)
{
	const struct quantile *s = state;
	const struct class *c = &s->class[mc_length_class(prompt->tokens)];
	size_t n = kept(c), i = (size_t)(s->q * (double)n);

	uint32_t tokens = n ? c->sorted[i < n ? i : n - 1] : mc_length_unknown(prompt);

	return tokens ? tokens : 1; /* outputs of no token are seen, too */
}

/* The first that is not smaller. */
static size_t find(const struct class *c, size_t n, uint32_t output)
{
	size_t i = 0;

	while (i < n && c->sorted[i] < output)
		i++;
	return i;
}

static void observe(void *state, const struct mc_prompt *prompt, uint32_t output)
{
	struct quantile *s = state;
	struct class *c = &s->class[mc_length_class(prompt->tokens)];
	size_t n = kept(c), i;

	if (n == LAST) {
		i = find(c, n, c->ring[c->seen % LAST]);
		memmove(c->sorted + i, c->sorted + i + 1, (--n - i) * sizeof *c->sorted);
	}
	i = find(c, n, output);
	memmove(c->sorted + i + 1, c->sorted + i, (n - i) * sizeof *c->sorted);
	c->sorted[i] = output;
	c->ring[c->seen++ % LAST] = output;
}

const struct mc_length_predictor mc_length_predictor_quantile = {
    .name = "quantile",
    .help = "a quantile of the outputs of prompts of about that length, so far (conductor.length_quantile)",
    .uses_quantile = true,
    .create = create,
    .destroy = free,
    .predict = predict,
    .observe = observe,
};
