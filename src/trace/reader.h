/* Reading traces: formats, compression recognised by content, and what is done to a trace after reading. */
#ifndef MC_TRACE_READER_H
#define MC_TRACE_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "trace/store.h"

struct mc_trace_params {
	const char *path;        /* "-" is stdin */
	const char *format;      /* a registered name or "auto" */
	int64_t block_tokens;    /* of the ids in the file */
	int64_t kv_block_tokens; /* 0: the same; else re-block: divide (ids derived) or multiply (leading
				    blocks merged) */
	double rate;             /* gaps between arrivals are divided by it; > 0 */
	int64_t limit;           /* requests kept; 0: all */
	mc_time start;           /* trace time skipped; later times are made relative to it */
	int64_t max_output;      /* longer outputs are cut to it, tokens; 0: none */
	bool spread_ticks; /* requests of one instant are spread over the gap after it, uniformly, seeded */
	bool chain; /* replace each id by a hash of it and of the ids before it: equal ids then have equal
		       prefixes, whatever the ids of the file name */
	uint64_t seed;
	int64_t
	    max_bad; /* malformed records skipped before the read fails; the first few are kept in err text */
};

#define MC_TRACE_PARAMS_DEFAULT                                                                              \
	{                                                                                                    \
		.path = "-", .format = "auto", .block_tokens = 512, .rate = 1, .seed = 1                     \
	}

/*
 * Read it all; on an error *t is empty. An empty trace (no request) is an error. When bad records were
 * skipped the result is 0, t->bad counts them, and err->text names the first few while err->rc stays 0: a
 * warning to show. The first record's timestamp is time 0. Output of 0 tokens is accepted, input of 0 is not.
 */
int mc_trace_read(struct mc_trace *t, const struct mc_trace_params *params, struct mc_err *err);

#endif
