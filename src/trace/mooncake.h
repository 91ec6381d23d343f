/*
 * One record of Mooncake's JSON lines, parsed in two ways that accept the same lines with the same values:
 * a strict hand scanner for speed, and jansson for its error messages, and as the scanner's oracle.
 *
 *     {"timestamp": 27482, "input_length": 6955, "output_length": 52, "hash_ids": [46, 47, ...]}
 *
 * A record may also name the turn of a conversation that it goes on from, as the Qwen-Bailian traces do:
 *
 *     "chat_id": 159, "parent_chat_id": 55      (-1: it begins one)
 *
 * Keys come in any order; others are skipped; duplicates are refused. Lengths and ids are JSON integers
 * without fraction or exponent. Ids use all 64 bits, although jansson's integers stop at 2^63 - 1.
 */
#ifndef MC_TRACE_MOONCAKE_H
#define MC_TRACE_MOONCAKE_H

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/time.h"
#include "base/vec.h"

struct mc_mooncake_ids {
	MC_VEC(uint64_t)
};

struct mc_mooncake_record {
	mc_time timestamp;          /* ns, >= 0 */
	int64_t input, output;      /* tokens, >= 0 */
	int64_t chat, parent;       /* >= 0; -1: none */
	struct mc_mooncake_ids ids; /* storage is kept from record to record */
};

/* Milliseconds below 2^63 ns to ns; whole ms and fraction apart, so that times since 1970 keep their digits.
 */
static inline mc_time mc_mooncake_ns(double ms)
{
	double whole = floor(ms);

	return (mc_time)whole * MC_NS_PER_MS + (mc_time)((ms - whole) * 1e6 + 0.5);
}

/* False: not accepted, for whatever reason; ask mc_mooncake_parse. */
bool mc_mooncake_scan(const char *line, size_t n, struct mc_mooncake_record *r);
/* With jansson. An error carries column and key. */
int mc_mooncake_parse(const char *line, size_t n, struct mc_mooncake_record *r, struct mc_err *err);

#endif
