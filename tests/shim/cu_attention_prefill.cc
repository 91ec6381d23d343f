#include "kernels/cuda/attention_prefill.cu"
