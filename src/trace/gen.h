/*
 * Synthetic traces: sessions of several turns over shared system prompts, with long-tailed lengths and think
 * times, recorded by a clock that ticks. A spec and a seed give the same bytes everywhere the C library's
 * log, exp and cos do.
 *
 * A session starts in a Poisson process. Its text begins with a preamble that everybody shares, then one of
 * `system.count` system prompts, the k-th with probability ~ k^-zipf. Turn by turn the user adds text, the
 * model an answer, and the whole is the next prompt. A session ends after its turns, or when a prompt would
 * not fit the context.
 */
#ifndef MC_TRACE_GEN_H
#define MC_TRACE_GEN_H

#include "conf/field.h"
#include "trace/store.h"

/* Log-normal with this median, clipped into [min, max]. */
struct mc_gen_tail {
	double median, sigma, min, max;
};

struct mc_gen_spec {
	int64_t seed, block_tokens, context_tokens;
	mc_time duration, warmup, tick;
	double scale, rate; /* sessions a second: rate * scale */
	int64_t preamble_tokens, system_count;
	double system_share, system_zipf, repeat;
	struct mc_gen_tail system, turns, first, next, output, think;
};

extern const struct mc_field mc_gen_fields[];

/* One request; its ids are made when they are needed. */
struct mc_gen_request {
	mc_time arrival;
	uint64_t session;               /* its number */
	uint32_t turn;                  /* of its session, for ties of time */
	uint32_t round;                 /* of its session: all turns that ask the same again */
	uint32_t input, output, system; /* system: which prompt, from 1; 0: none */
};

struct mc_gen {
	const struct mc_gen_spec *spec;
	uint32_t *system_tokens; /* length of system prompt k, from 1 */
	struct mc_gen_request *request;
	int64_t *parent; /* by request: the last of its session's round before it; -1: none in the trace */
	int64_t n;
	size_t cap;
};

/* All requests in order of arrival. spec is borrowed. An empty trace is an error. */
int mc_gen_init(struct mc_gen *g, const struct mc_gen_spec *spec, struct mc_err *err);
void mc_gen_fini(struct mc_gen *g);

/* Ids of request i, ceil(input / block_tokens) of them; id has room for as many. Returns how many. */
uint64_t mc_gen_ids(const struct mc_gen *g, int64_t i, uint64_t *id);

/* The whole trace; t is initialised here. */
int mc_gen_trace(struct mc_trace *t, const struct mc_gen_spec *spec, struct mc_err *err);

#endif
