#include "des/stream.h"

#include "base/hash.h"

gsl_rng *mc_stream_new(uint64_t seed, const char *component, uint64_t index)
{
	uint64_t h = mc_hash_u64(seed);
	uint64_t length = 0;
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

	for (; component[length]; length++)
		h = mc_hash_pair(h, (unsigned char)component[length]);
	h = mc_hash_pair(h, length);
	h = mc_hash_pair(h, index);
	h = (h ^ h >> 32) & UINT32_MAX;
	/* 0 is GSL's word for its default seed, 4357. */
	gsl_rng_set(rng, h ? (unsigned long)h : 1);
	return rng;
}
