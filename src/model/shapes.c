/* The built-in model shapes, sorted by name, from the config.json that each model was published with. */
#include "model/shape.h"

const struct mc_shape mc_shapes[] = {
    /* name, layers, hidden, heads, KV heads, head dim, FFN, vocabulary, bytes per weight, per KV value */
    {"llama2-70b", 80, 8192, 64, 8, 128, 28672, 32000, 2, 2},
    {"llama3-70b", 80, 8192, 64, 8, 128, 28672, 128256, 2, 2},
    {"llama3-8b", 32, 4096, 32, 8, 128, 14336, 128256, 2, 2},
    {"", 0, 0, 0, 0, 0, 0, 0, 0, 0},
};
