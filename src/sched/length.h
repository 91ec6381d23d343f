/*
 * Predictors of output lengths, for admission by request. One a file in length/, one line in local.mk. They
 * see the prompt when it arrives, and how long outputs were when they have ended.
 */
#ifndef MC_SCHED_LENGTH_H
#define MC_SCHED_LENGTH_H

#include <stdbool.h>

#include "sched/view.h"

struct mc_length_params {
	double quantile; /* 0..1 */
	double error;    /* standard deviation of the logarithm of predicted over true length, >= 0 */
	uint64_t seed;
};

struct mc_length_predictor {
	const char *name;
	const char *help;               /* one line */
	bool uses_quantile, uses_error; /* settings that it reads */
	void *(*create)(const struct mc_length_params *params);
	void (*destroy)(void *state);
	/* Tokens, >= 1. */
	uint32_t (*predict)(void *state, const struct mc_prompt *prompt);
	/* An output has ended; NULL: it learns nothing. */
	void (*observe)(void *state, const struct mc_prompt *prompt, uint32_t output);
};

/* Sorted by name, NULL-terminated. */
extern const struct mc_length_predictor *const mc_length_predictors[];
extern const char *const mc_length_predictors_names[]; /* the same, names alone */
const struct mc_length_predictor *mc_length_predictor_find(const char *name);

/* Classes of prompts by length: powers of two. */
#define MC_LENGTH_PROMPTS 33
static inline unsigned mc_length_class(uint32_t tokens)
{
	unsigned c = 0;

	for (; tokens; tokens >>= 1)
		c++;
	return c;
}

/* What is predicted where nothing was seen yet: the limit that the client asked for. */
static inline uint32_t mc_length_unknown(const struct mc_prompt *prompt)
{
	return prompt->max_tokens ? prompt->max_tokens : 1;
}

#endif
