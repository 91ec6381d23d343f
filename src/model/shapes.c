/*
 * The built-in model shapes, sorted by name, from the config.json that each model was published with.
 * tests/unit/test_shape.c holds their parameter counts against the published ones.
 */
#include "model/shape.h"

/* layers, hidden, heads, KV heads, head dim, FFN, vocabulary */
#define DENSE(l, h, q, kv, d, f, v)                                                                          \
	.layers = l, .hidden = h, .heads = q, .kv_heads = kv, .head_dim = d, .ffn = f, .vocab = v,           \
	.kv_bytes_per_value = 2
#define WEIGHTS(bytes) .weight_bytes_per_param = bytes
/* experts, of which a token uses, shared ones, width of one, leading layers without */
#define EXPERTS(n, used, shared, f, dense)                                                                   \
	.experts = n, .experts_per_token = used, .shared_experts = shared, .expert_ffn = f,                  \
	.dense_layers = dense
/* ranks of KV and query (0: none), the key's shared part, value dim */
#define MLA(kv, q, rope, v) .kv_lora_rank = kv, .q_lora_rank = q, .rope_head_dim = rope, .v_head_dim = v

const struct mc_shape mc_shapes[] = {
    {"deepseek-v2", DENSE(60, 5120, 128, 128, 128, 12288, 102400), WEIGHTS(2), EXPERTS(160, 6, 2, 1536, 1),
     MLA(512, 1536, 64, 128)},
    {"deepseek-v2-lite", DENSE(27, 2048, 16, 16, 128, 10944, 102400), WEIGHTS(2), EXPERTS(64, 6, 2, 1408, 1),
     MLA(512, 0, 64, 128)},
    {"deepseek-v3", DENSE(61, 7168, 128, 128, 128, 18432, 129280), WEIGHTS(1), EXPERTS(256, 8, 1, 2048, 3),
     MLA(512, 1536, 64, 128)},
    {"llama2-13b", DENSE(40, 5120, 40, 40, 128, 13824, 32000), WEIGHTS(2)},
    {"llama2-70b", DENSE(80, 8192, 64, 8, 128, 28672, 32000), WEIGHTS(2)},
    {"llama2-7b", DENSE(32, 4096, 32, 32, 128, 11008, 32000), WEIGHTS(2)},
    {"llama3-405b", DENSE(126, 16384, 128, 8, 128, 53248, 128256), WEIGHTS(2)},
    {"llama3-70b", DENSE(80, 8192, 64, 8, 128, 28672, 128256), WEIGHTS(2)},
    {"llama3-8b", DENSE(32, 4096, 32, 8, 128, 14336, 128256), WEIGHTS(2)},
    {"mistral-7b", DENSE(32, 4096, 32, 8, 128, 14336, 32000), WEIGHTS(2)},
    {"mistral-large-2", DENSE(88, 12288, 96, 8, 128, 28672, 32768), WEIGHTS(2)},
    {"mistral-nemo-12b", DENSE(40, 5120, 32, 8, 128, 14336, 131072), WEIGHTS(2)},
    {"mixtral-8x22b", DENSE(56, 6144, 48, 8, 128, 16384, 32000), WEIGHTS(2), EXPERTS(8, 2, 0, 16384, 0)},
    {"mixtral-8x7b", DENSE(32, 4096, 32, 8, 128, 14336, 32000), WEIGHTS(2), EXPERTS(8, 2, 0, 14336, 0)},
    {"qwen2.5-14b", DENSE(48, 5120, 40, 8, 128, 13824, 152064), WEIGHTS(2), .qkv_bias = 1},
    {"qwen2.5-32b", DENSE(64, 5120, 40, 8, 128, 27648, 152064), WEIGHTS(2), .qkv_bias = 1},
    {"qwen2.5-3b", DENSE(36, 2048, 16, 2, 128, 11008, 151936), WEIGHTS(2), .qkv_bias = 1,
     .tied_embeddings = 1},
    {"qwen2.5-72b", DENSE(80, 8192, 64, 8, 128, 29568, 152064), WEIGHTS(2), .qkv_bias = 1},
    {"qwen2.5-7b", DENSE(28, 3584, 28, 4, 128, 18944, 152064), WEIGHTS(2), .qkv_bias = 1},
    {.name = ""},
};
