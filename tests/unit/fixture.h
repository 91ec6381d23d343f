/* What several unit tests need: a cost model with round numbers, and small random draws that do not depend on
 * GSL. */
#ifndef MC_TESTS_UNIT_FIXTURE_H
#define MC_TESTS_UNIT_FIXTURE_H

#include <stdint.h>
#include <stdlib.h>

#include "base/hash.h"
#include "model/cost.h"

/* A uniform draw from [0, n). */
static inline uint64_t draw(uint64_t *state, uint64_t n)
{
	*state = mc_hash_u64(*state);
	return *state % n;
}

/* 1 ms and 0.1 ms a token of prefill, 10 ms and 1 us a context token of decode, 1,000 B of KV a token, 1 MB/s
 * of network. */
static inline struct mc_cost plain_cost(void)
{
	struct mc_cost c = {0};

	c.shape.layers = 10;
	c.kv_bytes = 1000;
	c.pf_a = 1e-3;
	c.pf_b = 1e-4;
	c.pf_c = 1e-9;
	c.pf_load = 1e-6;
	c.de_base = 10e-3;
	c.de_context = 1e-6;
	c.de_gemm_floor = 1e-3;
	c.de_gemm_token = 1e-4;
	c.h2d_bytes_per_s = 1e9;
	c.net_bytes_per_s = 1e7;
	c.net_startup_s = 1e-4;
	c.net_slice_bytes = 65536;
	c.hop_bytes = 100;
	c.schedule_s = 50e-3;
	c.vram_kv_tokens = 100000;
	return c;
}

#endif
