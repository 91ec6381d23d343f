#include "kernels/cuda/sample.cu"
