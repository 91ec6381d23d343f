/*
 * What a whole layer, or a whole iteration, of a model takes beyond the sum of its operators, as `mooncake
 * fit` finds it in samples of layers and steps: launches, waiting threads and the host add; operands that the
 * operator before left in a cache save. For each of prefill and decode
 *
 *     constant_s + row_s rows seqs + share (the sum)
 *
 * seconds, any of them below 0. The sum is that of a layer's operators, or of the whole iteration with the
 * layers' gaps in it. In a profile's "operators" section:
 *
 *     "gaps": [{"model": ..., "tensor_parallel": 1, "shape": {"layers": ..., "hidden": ..., "heads": ...,
 *               "kv_heads": ..., "head_dim": ..., "ffn": ..., "vocab": ...},
 *               "layer": {"prefill": {"constant_s": ..., "row_s": ..., "share": ..., "rows_max": ...},
 *                         "decode": {the same}, "sum_error": {...}, "error": {...}},
 *               "step": {the same}}]
 *
 * with errors as in hw/curve.h: of the sum alone, and of points that the fit of the gap did not see.
 */
#ifndef MC_HW_GAPS_H
#define MC_HW_GAPS_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"
#include "hw/curve.h"

enum mc_phase { MC_PREFILL, MC_DECODE, MC_PHASES }; /* decode: one new token of each sequence */
extern const char *const mc_phase_names[MC_PHASES];

/* All 0: nothing is added. */
struct mc_gap {
	double constant_s, row_s, share;
	int64_t rows_max; /* most rows of all sequences together that were measured; 0: nothing was */
};

struct mc_gap_level {
	struct mc_gap gap[MC_PHASES];
	struct mc_curve_error sum_error, error; /* points 0: nothing was measured */
};

/* The numbers that tell shapes apart here. */
enum mc_gap_dim {
	MC_GAP_LAYERS,
	MC_GAP_HIDDEN,
	MC_GAP_HEADS,
	MC_GAP_KV_HEADS,
	MC_GAP_HEAD_DIM,
	MC_GAP_FFN,
	MC_GAP_VOCAB,
	MC_GAP_DIMS,
};
extern const char *const mc_gap_dim_names[MC_GAP_DIMS];

/* Of one model at one degree of tensor parallelism. */
struct mc_gaps {
	char *model; /* for people; the shape decides */
	int64_t tensor_parallel;
	int64_t shape[MC_GAP_DIMS];
	struct mc_gap_level layer, step;
};

/* From one object of the list; errors (MC_USAGE) name the key inside. *g needs _fini only on success. */
int mc_gaps_load(struct mc_gaps *g, const json_t *object, struct mc_err *err);
void mc_gaps_fini(struct mc_gaps *g);
/* Seconds beyond a sum of sum_s. */
double mc_gap_s(const struct mc_gap *g, double rows, double sum_s);
/* How far apart two shapes are: the logarithm of the ratio of a layer's weights on one GPU, without its sign.
 */
double mc_gaps_distance(const struct mc_gaps *g, const int64_t shape[MC_GAP_DIMS], int64_t tensor_parallel);

#endif
