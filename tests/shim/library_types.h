/* Types that CUDA's libraries share. */
#ifndef MC_SHIM_LIBRARY_TYPES_H
#define MC_SHIM_LIBRARY_TYPES_H

typedef enum cudaDataType_t {
	CUDA_R_32F = 0,
	CUDA_R_64F = 1,
	CUDA_R_16F = 2,
	CUDA_R_16BF = 14,
} cudaDataType;

typedef enum libraryPropertyType_t {
	MAJOR_VERSION,
	MINOR_VERSION,
	PATCH_LEVEL,
} libraryPropertyType;

#endif
