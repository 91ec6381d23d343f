/*
 * LLMServingSim, per_sequence.csv of its second profiler: output head and sampler of --model on one GPU
 * (degree 1), us.
 */
#include "fit/import.h"

enum { LAYER, SEQS, US };

static const char *const columns[] = {"layer", "sequences", "time_us", NULL};

static void row(struct mc_import *im)
{
	struct mc_import_layer l = {.name = mc_import_text(im, LAYER),
				    .tokens = mc_import_int(im, SEQS),
				    .tensor_parallel = 1,
				    .seconds = mc_import_real(im, US) * 1e-6};

	mc_import_layer(im, &l);
}

const struct mc_importer mc_importer_llmservingsim_per_sequence = {
    .name = "llmservingsim-per-sequence",
    .help = "LLMServingSim per_sequence.csv: gemm (output head), sample; --model",
    .columns = columns,
    .needs_model = true,
    .row = row,
};
