#include "kernels/cuda/kv_pages.cu"
