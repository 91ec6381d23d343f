/* Vectors of 32 bytes: AVX2 and FMA. */
#include "kernels/cpu/vec.h"

#if defined(__x86_64__)
#include <immintrin.h>
#include <limits.h>
#include <math.h>

#define MC_VEC_BYTES 32
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#include "kernels/cpu/vec_table.h"
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

MC_CPU_VEC_TABLE(avx2);
#endif
