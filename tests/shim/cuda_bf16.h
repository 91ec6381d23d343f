/* CUDA's 16-bit brain float: storage and conversions. */
#ifndef MC_SHIM_CUDA_BF16_H
#define MC_SHIM_CUDA_BF16_H

#include "kernels/dtype.h"

struct __nv_bfloat16 {
	uint16_t bits;
};

static inline float __bfloat162float(__nv_bfloat16 x)
{
	return mc_bf16_value(x.bits);
}

static inline __nv_bfloat16 __float2bfloat16_rn(float x)
{
	return __nv_bfloat16{mc_bf16_of(x)};
}

#endif
