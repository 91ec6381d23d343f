/*
 * Samples: measured times of prefill and decode, as CSV. Comment lines at the top say what was measured:
 *
 *     # model: llama3-70b                      a built-in name, or a shape as a JSON object
 *     # tensor_parallel: 8
 *     # date: 2025-02-25
 *     # source: where the times come from
 *     # any other comment
 *     kind,total_tokens,cached_tokens,batch,iterations,seconds
 *     prefill,8192,0,1,1,1.002
 *     decode,8192,0,1,128,3.3949
 *
 * prefill: a prompt of total_tokens, the first cached_tokens of which were cached; batch and iterations
 * are 1. decode: `iterations` iterations of `batch` requests, each with a context of total_tokens before the
 * first and one more after each; cached_tokens says how the prompt was made and changes nothing. seconds: of
 * all iterations.
 */
#ifndef MC_FIT_SAMPLES_H
#define MC_FIT_SAMPLES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/vec.h"
#include "model/shape.h"

struct mc_sample {
	bool decode;
	int64_t total, cached, batch, iterations;
	double seconds;
	long line; /* of the file it was read from */
};

struct mc_samples {
	MC_VEC(struct mc_sample)
	struct mc_shape shape;
	int64_t tensor_parallel;
	char *source, *date;
};

/* Errors (MC_USAGE) name file, line and column name. *s needs _fini only on success. */
int mc_samples_read(struct mc_samples *s, const char *path, struct mc_err *err);
/* The same from memory; path stands for the file in messages. */
int mc_samples_parse(struct mc_samples *s, const char *text, const char *path, struct mc_err *err);
void mc_samples_fini(struct mc_samples *s);

#endif
