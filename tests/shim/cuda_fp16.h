/* CUDA's half: storage and conversions. */
#ifndef MC_SHIM_CUDA_FP16_H
#define MC_SHIM_CUDA_FP16_H

#include "kernels/dtype.h"

struct __half {
	uint16_t bits;
};

static inline float __half2float(__half x)
{
	return mc_f16_value(x.bits);
}

static inline __half __float2half_rn(float x)
{
	return __half{mc_f16_of(x)};
}

#endif
