/* What the Conductor decides on a request. */
#ifndef MC_SCHED_DECISION_H
#define MC_SCHED_DECISION_H

#include "sched/policy.h"
#include "sched/tally.h"

enum mc_refusal {
	MC_TAKEN = 0,
	MC_REFUSED_DECODE_CAPACITY, /* prompt and output exceed the KV memory of any decode instance */
	MC_REFUSED_NO_INSTANCE,     /* all prefill or all decode instances are down */
	MC_REFUSED_PREFILL_LOAD,    /* admission: TTFT would miss its objective */
	MC_REFUSED_DECODE_LOAD,     /* admission: the decode pool is full, or will be */
	MC_REFUSED_DECODE_CHECK,    /* double check at the decode instance, with all KV there */
	MC_REFUSALS,
};

/* "decode_capacity" ...: the key below rejected_by. */
const char *mc_refusal_name(enum mc_refusal r);

struct mc_decision {
	enum mc_refusal refusal;
	struct mc_score placed; /* prefill instance, hits, source, predicted times */
	uint32_t decode;        /* instance */
	uint32_t length;        /* predicted tokens of its output; 0: not asked for */
};

#endif
