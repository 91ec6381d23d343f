/*
 * vidur, cpu_overheads.csv: the host's share of an iteration, medians, ms: scheduling, preparing inputs,
 * sampling and processing outputs, which is what the device waits for. Launching the model is hidden behind
 * its running, and messages between processes (ray_comm) belong to that engine's way of starting workers:
 * neither is counted. The host's time hardly depends on the model, but its table holds several: choose with
 * --where, or repeats are of all.
 */
#include "fit/import.h"

enum { SCHEDULE, PREPARE, SAMPLER, OUTPUTS, BATCH, MODEL, TP };

static const char *const columns[] = {"schedule_median",
				      "prepare_inputs_e2e_median",
				      "sampler_e2e_median",
				      "process_model_outputs_median",
				      "batch_size",
				      "model_name",
				      "tensor_parallel_degree",
				      NULL};

static void row(struct mc_import *im)
{
	struct mc_op_point p = {.op = MC_OP_HOST_STEP};
	double ms = mc_import_real(im, SCHEDULE) + mc_import_real(im, PREPARE);

	ms += mc_import_real(im, SAMPLER) + mc_import_real(im, OUTPUTS);
	p.dim[MC_DIM_SEQS] = mc_import_int(im, BATCH);
	mc_import_add(im, &p, ms * 1e-3, -1);
}

const struct mc_importer mc_importer_vidur_cpu_overhead = {
    .name = "vidur-cpu-overhead",
    .help = "vidur cpu_overheads.csv: host_step",
    .columns = columns,
    .row = row,
};
