/* Vectors of 64 bytes: AVX-512 (F, BW, DQ, VL) with its 32 registers. */
#include "kernels/cpu/vec.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <limits.h>
#include <math.h>

#define MC_VEC_BYTES 64
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,fma,avx2"))),         \
			     apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl,fma,avx2,prefer-vector-width=512")
#endif
#include "kernels/cpu/vec_table.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

MC_CPU_VEC_TABLE(avx512);
#endif
