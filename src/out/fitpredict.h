/* Times of prefill and decode of one model by one or two profiles, side by side. */
#ifndef MC_OUT_FITPREDICT_H
#define MC_OUT_FITPREDICT_H

#include "hw/profile.h"
#include "model/shape.h"

#define MC_FITPREDICT_ROWS  17
#define MC_FITPREDICT_CHUNK 8192 /* new tokens of a prefill at a time, in sums of operators */

struct mc_fitpredict {
	struct mc_shape shape;
	int64_t tensor_parallel;
	struct {
		bool decode;
		int64_t tokens, batch; /* a prompt; of decode: contexts */
		double seconds[2];     /* 0: the profile has no time */
		int64_t outside[2];    /* calls of operators beyond what was measured */
	} row[MC_FITPREDICT_ROWS];
	char how[2][256]; /* how a profile's times were got, or why it has none */
};

/* Sums of operators where the profile has them, else what a run takes: the measured entry, or counts. shape
 * and tensor_parallel are set. other may be NULL. */
void mc_fitpredict(struct mc_fitpredict *t, const struct mc_profile *p, const struct mc_profile *other);

#endif
