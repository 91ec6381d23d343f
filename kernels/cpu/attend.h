/*
 * Attention of a tile of query rows, over a stretch of their sequence's tokens: what prefill and decode are
 * made of. Rows of all query heads of one KV head are packed together, so that K and V are read once for the
 * group.
 */
#ifndef MC_KERNELS_CPU_ATTEND_H
#define MC_KERNELS_CPU_ATTEND_H

#include "kernels/cpu/cpu.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
	MC_CPU_TILE_ROWS = 96, /* packed rows (new tokens times heads of a group) at most */
};

struct mc_cpu_tile {
	const struct mc_attention *a;
	const struct mc_cpu_vec *vec;
	float *scratch; /* [MC_CPU_SCRATCH], a thread's */
	int seq, head;  /* KV head */
	int first,
	    rows;     /* new tokens of the sequence, from 0; rows times the group at most MC_CPU_TILE_ROWS */
	int from, to; /* tokens of the sequence; `from` a multiple of a block */
};

/* Of packed row i (token i / group, head i % group): sum over t of exp(score - top) V[t] in out[i], the sum
 * of those weights and top. All lie in the tile's scratch. */
struct mc_cpu_attended {
	float *out; /* [rows times group][head_dim] */
	float *top, *sum;
};

void mc_cpu_attend(const struct mc_cpu_tile *t, struct mc_cpu_attended *result);

#ifdef __cplusplus
}
#endif
#endif
