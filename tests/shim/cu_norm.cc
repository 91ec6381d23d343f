#include "kernels/cuda/norm.cu"
