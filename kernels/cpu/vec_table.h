/* The table of one set of vector instructions: the last lines of each vec_*.c. */
#ifndef MC_KERNELS_CPU_VEC_TABLE_H
#define MC_KERNELS_CPU_VEC_TABLE_H

#include "kernels/cpu/vec_matrix.h"
#include "kernels/cpu/vec_rows.h"

#define MC_CPU_VEC_TABLE(NAME)                                                                               \
	const struct mc_cpu_vec mc_cpu_vec_##NAME = {                                                        \
	    .name = #NAME,                                                                                   \
	    .lanes = LANES,                                                                                  \
	    .tile_rows = ROWS,                                                                               \
	    .own_rows = OWN_ROWS,                                                                            \
	    .pack = pack,                                                                                    \
	    .nt = nt,                                                                                        \
	    .nn = nn,                                                                                        \
	    .softmax = softmax,                                                                              \
	    .norm = norm,                                                                                    \
	    .rope = rope,                                                                                    \
	    .swiglu = swiglu,                                                                                \
	    .argmax = argmax,                                                                                \
	    .add = add,                                                                                      \
	    .exp = exps,                                                                                     \
	}

#endif
