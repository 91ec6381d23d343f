#include "kernels/cuda/activation.cu"
