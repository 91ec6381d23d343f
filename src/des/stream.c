#include "des/stream.h"

#include "base/hash.h"

static uint64_t name_hash(uint64_t seed, const char *component, uint64_t index)
{
	uint64_t h = mc_hash_u64(seed);
	uint64_t length = 0;

	for (; component[length]; length++)
		h = mc_hash_pair(h, (unsigned char)component[length]);
	h = mc_hash_pair(h, length);
	return mc_hash_pair(h, index);
}

double mc_stream_draw(uint64_t seed, const char *component, uint64_t index)
{
	return (double)(name_hash(seed, component, index) >> 11) * 0x1p-53;
}

gsl_rng *mc_stream_new(uint64_t seed, const char *component, uint64_t index)
{
	uint64_t h = name_hash(seed, component, index);
	gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);

	h = (h ^ h >> 32) & UINT32_MAX;
	/* 0 is GSL's word for its default seed, 4357. */
	gsl_rng_set(rng, h ? (unsigned long)h : 1);
	return rng;
}
