/* CUDA's small structures, as its header of this name has them. */
#ifndef MC_SHIM_VECTOR_TYPES_H
#define MC_SHIM_VECTOR_TYPES_H

struct uint3 {
	unsigned x, y, z;
};

struct dim3 {
	unsigned x, y, z;
#ifdef __cplusplus
	dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c)
	{
	}
#endif
};

struct __attribute__((aligned(8))) int2 {
	int x, y;
};
struct __attribute__((aligned(8))) uint2 {
	unsigned x, y;
};
struct __attribute__((aligned(8))) float2 {
	float x, y;
};
struct __attribute__((aligned(16))) int4 {
	int x, y, z, w;
};
struct __attribute__((aligned(16))) uint4 {
	unsigned x, y, z, w;
};
struct __attribute__((aligned(16))) float4 {
	float x, y, z, w;
};

#ifndef __cplusplus
typedef struct dim3 dim3;
#endif

#endif
