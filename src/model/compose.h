/*
 * Times of prefill and decode for any dense shape at any degree of tensor parallelism, as sums over measured
 * operators (hw/optime.h). One iteration of `seqs` sequences, each with `rows` new tokens, on t GPUs:
 *
 *     embedding                                 embed(seqs rows, hidden)
 *     each layer   norm, twice                  norm(seqs rows, hidden)
 *                  query, key and value         gemm(seqs rows, (heads + 2 kv_heads) head_dim / t, hidden)
 *                  rope, KV to its pages        rope, kv_scatter of the same heads
 *                  attention                    prefill's, or decode's where rows is 1
 *                  output                       gemm(seqs rows, hidden, heads head_dim / t)
 *                  gate and up                  gemm(seqs rows, 2 ffn / t, hidden)
 *                  SwiGLU                       swiglu(seqs rows, ffn / t)
 *                  down                         gemm(seqs rows, hidden, ffn / t)
 *                  all-reduce, twice            all_reduce(bytes of seqs rows x hidden, t)
 *                  gap                          of a layer (hw/gaps.h), where the profile has one
 *     what samples                              norm, gemm(logits, vocab / t, hidden), sample(logits, vocab)
 *     host                                      host_step(seqs), where the profile has it
 *     gap                                       of an iteration, where the profile has one
 *
 * Gaps are those of the same shape and degree where they were measured; else of the shape whose layer has the
 * nearest weights on one GPU: its constants, for each layer and each iteration, and its shares as they are,
 * said to be scaled. Gaps may be below 0, but no iteration takes less than what the hardware allows for its
 * operators one after the other.
 *
 * KV heads fewer than t are replicated. Left out: the gathering of logits over GPUs, the load of a
 * cached prefix from host memory, and without gaps overlap of any kind. Mixtures of experts and latent
 * attention have operators that nobody measures here: they are refused.
 */
#ifndef MC_MODEL_COMPOSE_H
#define MC_MODEL_COMPOSE_H

#include "base/err.h"
#include "hw/optime.h"
#include "model/shape.h"

#define MC_COMPOSE_PARTS 20

struct mc_compose {
	const struct mc_operators *operators; /* borrowed */
	struct mc_shape shape;
	int64_t tensor_parallel;
	const struct mc_gaps *gaps; /* in operators; NULL: none */
	bool own_gaps;              /* of this shape and degree */
};

struct mc_iteration {
	int64_t rows;    /* new tokens of each sequence; 1: decode */
	int64_t context; /* tokens of each sequence before them */
	int64_t seqs;
	int64_t logits; /* sequences whose next token is sampled, 0 .. seqs */
};

enum mc_part_kind { MC_PART_OPERATOR, MC_PART_COLLECTIVE, MC_PART_HOST, MC_PART_GAP, MC_PART_KINDS };

/* One line of the sum above. */
struct mc_compose_part {
	const char *name;
	enum mc_part_kind kind;
	struct mc_op_point point; /* of the last iteration */
	int64_t calls, outside;   /* of which beyond the knots */
	double seconds;           /* of all calls; of a gap also below 0 */
	enum mc_op_how how;       /* the worst of them; a gap's: curve or scaled */
};

struct mc_parts {
	struct mc_compose_part part[MC_COMPOSE_PARTS];
	int n;
	int64_t iterations;
	double seconds; /* of all parts */
	double floor_s; /* that the hardware allows for all operators */
	double kind_s[MC_PART_KINDS];
};

/* MC_USAGE: the shape can't be shared by that many GPUs, is refused, or has another type than what was
 * measured. operators must outlive *c. */
int mc_compose_init(struct mc_compose *c, const struct mc_operators *operators, const struct mc_shape *shape,
		    int64_t tensor_parallel, struct mc_err *err);
/* One iteration added to *sum (zeroed before the first). MC_USAGE: an operator has no time; *sum is then
 * unspecified. */
int mc_compose_add(const struct mc_compose *c, const struct mc_iteration *i, struct mc_parts *sum,
		   struct mc_err *err);
/* One layer of an iteration, its gap included, added likewise. */
int mc_compose_layer(const struct mc_compose *c, const struct mc_iteration *i, struct mc_parts *sum,
		     struct mc_err *err);
/* What a second of a layer's operators adds to an iteration, shares of gaps included: 1 without gaps. */
double mc_compose_factor(const struct mc_compose *c, enum mc_phase phase);

/* A batch of equal prompts, prefilled together in chunks. */
struct mc_prompts {
	int64_t tokens; /* of each, all in all */
	int64_t cached; /* of them, less than tokens */
	int64_t chunk;  /* new tokens of each in an iteration, at most; 0: all */
	int64_t seqs;
};

/* Chunks one after the other, the context growing; the last one samples. At most 100,000 chunks. */
int mc_compose_prefill(const struct mc_compose *c, const struct mc_prompts *p, struct mc_parts *sum,
		       struct mc_err *err);

#endif
