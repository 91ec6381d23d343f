/*
 * LLMServingSim, layers.csv of its first profiler: operators of --model on one GPU of tp, ns. Its attention
 * layer says nothing about contexts and is left out.
 */
#include "fit/import.h"

enum { TP, LAYER, TOKENS, NS };

static const char *const columns[] = {"tp", "layer", "tokens", "latency_ns", NULL};

static void row(struct mc_import *im)
{
	struct mc_import_layer l = {.name = mc_import_text(im, LAYER),
				    .tokens = mc_import_int(im, TOKENS),
				    .tensor_parallel = mc_import_int(im, TP),
				    .seconds = mc_import_real(im, NS) * 1e-9};

	mc_import_layer(im, &l);
}

const struct mc_importer mc_importer_llmservingsim_layers = {
    .name = "llmservingsim-layers",
    .help = "LLMServingSim layers.csv: gemm, norm, rope, swiglu, embed; --model",
    .columns = columns,
    .needs_model = true,
    .row = row,
};
