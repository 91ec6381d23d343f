#include "kernels/cuda/embed.cu"
