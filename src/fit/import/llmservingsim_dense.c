/*
 * LLMServingSim, dense.csv of its second profiler: operators of --model on one GPU (degree 1), us.
 */
#include "fit/import.h"

enum { LAYER, TOKENS, US };

static const char *const columns[] = {"layer", "tokens", "time_us", NULL};

static void row(struct mc_import *im)
{
	struct mc_import_layer l = {.name = mc_import_text(im, LAYER),
				    .tokens = mc_import_int(im, TOKENS),
				    .tensor_parallel = 1,
				    .seconds = mc_import_real(im, US) * 1e-6};

	mc_import_layer(im, &l);
}

const struct mc_importer mc_importer_llmservingsim_dense = {
    .name = "llmservingsim-dense",
    .help = "LLMServingSim dense.csv: gemm, norm, rope, swiglu, embed; --model",
    .columns = columns,
    .needs_model = true,
    .row = row,
};
