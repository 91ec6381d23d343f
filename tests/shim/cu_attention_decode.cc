#include "kernels/cuda/attention_decode.cu"
