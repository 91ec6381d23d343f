#include "kernels/cuda/rope.cu"
