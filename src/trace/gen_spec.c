/* The keys of a generator's spec. The defaults imitate the conversation trace of Mooncake's FAST'25 release.
 */
#include <stddef.h>

#include "trace/gen.h"

#define AT(member) offsetof(struct mc_gen_spec, member)

/* Four keys a long-tailed quantity; its smallest allowed min and largest allowed max. */
#define TAIL(name, median_, sigma_, min_, max_, low, high, unit, what)                                       \
	{name ".median", MC_F_REAL, AT(GEN_TAIL.median), median_, 0, high, unit, "median of " what, 0},      \
	    {name ".sigma",                                                                                  \
	     MC_F_REAL,                                                                                      \
	     AT(GEN_TAIL.sigma),                                                                             \
	     sigma_,                                                                                         \
	     0,                                                                                              \
	     10,                                                                                             \
	     "",                                                                                             \
	     "standard deviation of its logarithm",                                                          \
	     0},                                                                                             \
	    {name ".min", MC_F_REAL, AT(GEN_TAIL.min), min_, low, high, unit, "raised to this", 0},          \
	{                                                                                                    \
		name ".max", MC_F_REAL, AT(GEN_TAIL.max), max_, low, high, unit, "cut to this", 0            \
	}

const struct mc_field mc_gen_fields[] = {
    {"seed", MC_F_INT, AT(seed), "1", 0, 9e18, "", "of all draws", 0},
    {"duration", MC_F_TIME, AT(duration), "1h", 1e-3, 1e8, "s", "of the trace", 0},
    {"warmup", MC_F_TIME, AT(warmup), "20min", 0, 1e8, "s",
     "sessions start so long before the trace, so that it begins amid conversations", 0},
    {"scale", MC_F_REAL, AT(scale), "1", 1e-6, 1e6, "", "multiplies the rate: more sessions, each as before",
     0},
    {"rate", MC_F_REAL, AT(rate), "2.165", 1e-9, 1e9, "1/s", "sessions that start, a Poisson process", 0},
    {"tick", MC_F_TIME, AT(tick), "3s", 0, 1e6, "s", "arrivals are moved back to multiples of it; 0: not", 0},
    {"block_tokens", MC_F_COUNT, AT(block_tokens), "512", 1, 1 << 20, "tokens", "a block", 0},
    {"context_tokens", MC_F_COUNT, AT(context_tokens), "128Ki", 2, 1 << 30, "tokens",
     "limit of prompt and output; a session that would exceed it ends", 0},
    {"preamble_tokens", MC_F_COUNT, AT(preamble_tokens), "600", 0, 1 << 24, "tokens",
     "that begin every prompt", 0},
    {"repeat", MC_F_REAL, AT(repeat), "0.01", 0, 0.99, "", "chance that a prompt is sent again unchanged", 0},
    {"system.count", MC_F_COUNT, AT(system_count), "200", 0, 1 << 24, "", "different system prompts", 0},
    {"system.share", MC_F_REAL, AT(system_share), "0.1", 0, 1, "", "of the sessions that have one", 0},
    {"system.zipf", MC_F_REAL, AT(system_zipf), "1", 0, 10, "", "exponent of their popularity", 0},
#define GEN_TAIL system
    TAIL("system", "1500", "0.8", "100", "8000", 0, 1 << 24, "tokens", "a system prompt's length"),
#undef GEN_TAIL
#define GEN_TAIL turns
    TAIL("turns", "1", "0.95", "1", "60", 1, 1e6, "", "the turns of a session"),
#undef GEN_TAIL
#define GEN_TAIL first
    TAIL("first", "5300", "1.19", "300", "126000", 1, 1 << 29, "tokens", "the first turn's user text"),
#undef GEN_TAIL
#define GEN_TAIL next
    TAIL("next", "40", "2.2", "2", "90000", 1, 1 << 29, "tokens", "a later turn's user text"),
#undef GEN_TAIL
#define GEN_TAIL output
    TAIL("output", "305", "0.5", "1", "2000", 0, 1 << 29, "tokens", "an answer"),
#undef GEN_TAIL
#define GEN_TAIL think
    TAIL("think", "140", "1.2", "5", "3600", 0, 1e7, "s", "the time from a prompt to the next one"),
#undef GEN_TAIL
    {0},
};
