/*
 * splitwise-sim, perf_model.csv: whole steps measured end to end, ms: prompt_time of a batch of prompts,
 * token_time of a decode iteration, the mean over token_size of them, so at the context half-way. Rows of one
 * model, hardware and degree make samples: choose with --where. Models without a shape here (BLOOM: ALiBi, no
 * gate) are left out.
 */
#include "fit/import.h"

enum { MODEL, HARDWARE, PROMPT, BATCH, TOKENS, PROMPT_MS, TOKEN_MS, TP };

static const char *const columns[] = {"model",      "hardware",        "prompt_size",
				      "batch_size", "token_size",      "prompt_time",
				      "token_time", "tensor_parallel", NULL};

static void row(struct mc_import *im)
{
	struct mc_op_point p = {.op = MC_OP_STEP};
	int64_t tokens = mc_import_int(im, TOKENS);

	if (!mc_shape_find(mc_import_text(im, MODEL))) {
		mc_import_skip(im, "of a model that has no shape here");
		return;
	}
	if (!mc_import_single(im, im->said_model, MODEL) ||
	    !mc_import_single(im, im->said_device, HARDWARE) ||
	    !mc_import_single(im, im->said_tensor_parallel, TP))
		return;
	p.dim[MC_DIM_ROWS] = mc_import_int(im, PROMPT);
	p.dim[MC_DIM_SEQS] = mc_import_int(im, BATCH);
	mc_import_add(im, &p, mc_import_real(im, PROMPT_MS) * 1e-3, -1);
	p.dim[MC_DIM_CONTEXT] = p.dim[MC_DIM_ROWS] + tokens / 2;
	p.dim[MC_DIM_ROWS] = 1;
	mc_import_add(im, &p, mc_import_real(im, TOKEN_MS) * 1e-3, -1);
}

const struct mc_importer mc_importer_splitwise = {
    .name = "splitwise",
    .help = "splitwise perf_model.csv: step; one model, hardware and degree with --where",
    .columns = columns,
    .row = row,
};
