#include "kernels/cuda/all_reduce.cu"
