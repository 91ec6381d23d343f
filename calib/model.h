/*
 * A model with random weights on a backend, whose steps are measured (kernels/llama.h).
 *
 * A step gives samples of all its operators, of a layer, of the whole and of the host's part. Two ways:
 *
 * In place: each operator is timed where it stands in a step, by the time between two of them. So it finds
 * the caches as they are in a model that runs: its input warm from the operator before, weights and pages as
 * far as they fit. On a CPU, where an operator is done when it is queued, that costs one look at the clock
 * for each (some 25 ns). A repeat gives the mean of an operator's calls: the first layers of a step find
 * less in the caches, and the sum must hold all of them. Operators measured alone, on operands from memory,
 * would be too slow for a model that fits into a cache, and on the same operands too fast for one that
 * doesn't.
 *
 * Replayed: on a GPU a clock between two operators would cost as much as a small one. There the arguments of
 * a step's operators are kept, and those of one kind queued again and again, layer after layer, behind a
 * gate, between two events. Weights and pages are then those of other layers each time (the layers must hold
 * more than the cache: the caller's to see to), activations warm, as in the model.
 */
#ifndef MC_CALIB_MODEL_H
#define MC_CALIB_MODEL_H

#include "calib/grid.h"
#include "calib/measure.h"
#include "hw/opsamples.h"
#include "kernels/llama.h"

struct mc_calib_model_want {
	const struct mc_backend *backend;
	struct mc_llama_shape shape; /* of one rank, with the layers that are measured */
	enum mc_dtype dtype;
	int device, threads, block_tokens;
	struct mc_calib_limits limits;
};

struct mc_calib_model {
	struct mc_calib_model_want want;
	struct mc_llama *llama;
	struct mc_device_info info;
	struct mc_llama_seq *seq; /* [batch] */
	int32_t *token, *block;
	/* Is a sample of that operator there? Then a replay needs none. NULL: none is. */
	bool (*known)(void *arg, const struct mc_op_point *p);
	void *known_arg;
	float *logits[2]; /* host: [batch][vocab], the first repeat's and a later one's */
};

struct mc_calib_samples {
	MC_VEC(struct mc_opsample)
};

/* What measuring a step gave. */
struct mc_calib_outcome {
	struct mc_calib_result result; /* of the whole step */
	struct mc_calib_samples samples;
};

/* MC_USAGE: a shape or limits that can't be; MC_FAIL: no memory. *m needs _close only on success. */
int mc_calib_model_open(struct mc_calib_model *m, const struct mc_calib_model_want *want, struct mc_err *err);
void mc_calib_model_close(struct mc_calib_model *m);
/* Bytes that it takes on the device. */
int mc_calib_model_bytes(const struct mc_calib_model_want *want, double *bytes, struct mc_err *err);

/* Operations of a step, about: to tell how long it will take. */
double mc_calib_model_work(const struct mc_calib_model *m, const struct mc_calib_point *p);

/*
 * Measure a step, operators in place. The samples of its operators, its layers and of the host's part, then
 * of the step itself, are appended to *out; result is that of the whole step. *out is left as it was when the
 * user stopped it before the first repeat. MC_FAIL: wrong results, too: logits that aren't finite, tokens
 * that aren't the largest, repeats that differ.
 */
int mc_calib_model_step(struct mc_calib_model *m, const struct mc_calib_point *p,
			const struct mc_calib_goal *goal, struct mc_calib_outcome *out, struct mc_err *err);
/* The same, operators replayed: for devices with a queue. Operators whose samples are known are left out. */
int mc_calib_model_replay(struct mc_calib_model *m, const struct mc_calib_point *p,
			  const struct mc_calib_goal *goal, struct mc_calib_outcome *out, struct mc_err *err);
/* The whole step alone: nothing but its time. */
int mc_calib_model_whole(struct mc_calib_model *m, const struct mc_calib_point *p,
			 const struct mc_calib_goal *goal, struct mc_calib_result *result,
			 struct mc_err *err);

/* The point of an operator that a step of equal sequences queued, as samples have it. False: of none of
 * those that are composed (copies, the picking of rows). */
bool mc_calib_model_point(const struct mc_calib_model *m, const struct mc_llama_call *call,
			  struct mc_op_point *out);
/* A sample of a series (sorted by it). */
void mc_calib_model_sample(struct mc_calib_samples *out, const struct mc_op_point *p,
			   const struct mc_calib_summary *s, const char *flag);

/* The step's host side: *step for mc_llama_step, valid until the next. */
void mc_calib_model_prepare(struct mc_calib_model *m, const struct mc_calib_point *p,
			    struct mc_llama_step *step);
/* Two ways to the same logits: some tokens at once, and all but the last before that one. Other operators
 * compute them, so a wrong one shows. MC_FAIL: they differ by more than rounding does. */
int mc_calib_model_compare(struct mc_calib_model *m, struct mc_err *err);
/* Look at what the last step left: logits finite and, if `again`, the same as at the last look. */
int mc_calib_model_verify(struct mc_calib_model *m, const struct mc_llama_result *r, bool again,
			  struct mc_err *err);

#endif
