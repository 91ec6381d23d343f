/* 64-bit hashing of integers: the finaliser of splitmix64 (Steele, Lea, Flood 2014), a bijection. */
#ifndef MC_BASE_HASH_H
#define MC_BASE_HASH_H

#include <stdint.h>

static inline uint64_t mc_hash_u64(uint64_t x)
{
	x += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

/* A new id derived from an id and a small number, used to split blocks. */
static inline uint64_t mc_hash_pair(uint64_t a, uint64_t b)
{
	return mc_hash_u64(mc_hash_u64(a) ^ (b + UINT64_C(0x632be59bd9b4e019)));
}

#endif
