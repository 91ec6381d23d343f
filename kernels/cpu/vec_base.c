/* Vectors of 16 bytes, for whatever the compiler aims at, and the choice of the best set. */
#include "kernels/cpu/vec_table.h"

MC_CPU_VEC_TABLE(base);

#if defined(__x86_64__)
extern const struct mc_cpu_vec mc_cpu_vec_avx512, mc_cpu_vec_avx2;
#endif

const struct mc_cpu_vec *const mc_cpu_vecs[] = {
#if defined(__x86_64__)
    &mc_cpu_vec_avx512,
    &mc_cpu_vec_avx2,
#endif
    &mc_cpu_vec_base,
    NULL,
};

bool mc_cpu_vec_runs(const struct mc_cpu_vec *v)
{
#if defined(__x86_64__)
	bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");

	if (v == &mc_cpu_vec_avx2)
		return avx2;
	if (v == &mc_cpu_vec_avx512)
		return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		       __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
#endif
	return v == &mc_cpu_vec_base;
}

const struct mc_cpu_vec *mc_cpu_vec_best(void)
{
	for (size_t i = 0; mc_cpu_vecs[i]; i++)
		if (mc_cpu_vec_runs(mc_cpu_vecs[i]))
			return mc_cpu_vecs[i];
	return &mc_cpu_vec_base;
}
