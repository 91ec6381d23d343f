#include "model/oprange.h"

#include <string.h>

#include "model/compose.h"

#define FAR ((int64_t)1 << 30)

/* The operator in all layers; not the logits, which have rows of their own. */
static bool covered(const struct mc_compose *c, enum mc_op op, const struct mc_iteration *i)
{
	struct mc_parts sum = {0};
	bool any = false;

	if (mc_compose_add(c, i, &sum, NULL))
		return false;
	for (int k = 0; k < sum.n; k++) {
		if (sum.part[k].point.op != op)
			continue;
		any = true;
		if (sum.part[k].outside)
			return false;
	}
	return any;
}

/* The last covered value of a field of *i from where it is, which is covered, towards `far`. */
static int64_t edge(const struct mc_compose *c, enum mc_op op, struct mc_iteration *i, int64_t *field,
		    int64_t far)
{
	int64_t in = *field, start = in, out = far;

	*field = far;
	if (covered(c, op, i))
		in = far;
	while (in != far && (in < out ? out - in : in - out) > 1) {
		*field = in + (out - in) / 2;
		if (covered(c, op, i))
			in = *field;
		else
			out = *field;
	}
	*field = start;
	return in;
}

/* Any covered iteration, `rows` of prefill in powers of 2 or as many sequences of decode. */
static bool find(const struct mc_compose *c, enum mc_op op, struct mc_iteration *i, int64_t *field,
		 int64_t least)
{
	for (i->context = 0; i->context < FAR; i->context = 2 * i->context + 1)
		for (*field = least; *field < FAR; *field *= 2)
			if (covered(c, op, i))
				return true;
	return false;
}

static struct mc_op_range range(enum mc_op op, enum mc_dim dim, int64_t low, int64_t high)
{
	return (struct mc_op_range){.op = op, .dim = dim, .low = (double)low, .high = (double)high};
}

int mc_op_ranges(const struct mc_compose *c, struct mc_op_range out[MC_OP_RANGES])
{
	struct mc_iteration prefill = {2, 0, 1, 0}, decode = {1, 0, 1, 0};
	double bytes = (double)c->shape.hidden * c->operators->element_bytes;
	int n = 0;

	if (find(c, MC_OP_GEMM, &decode, &decode.seqs, 1)) {
		out[n] = range(MC_OP_GEMM, MC_DIM_ROWS, edge(c, MC_OP_GEMM, &decode, &decode.seqs, 1),
			       edge(c, MC_OP_GEMM, &decode, &decode.seqs, FAR));
		out[n++].per_row = 1;
	}
	if (find(c, MC_OP_ATTENTION_PREFILL, &prefill, &prefill.rows, 2)) {
		out[n++] = range(MC_OP_ATTENTION_PREFILL, MC_DIM_ROWS,
				 edge(c, MC_OP_ATTENTION_PREFILL, &prefill, &prefill.rows, 2),
				 edge(c, MC_OP_ATTENTION_PREFILL, &prefill, &prefill.rows, FAR));
		out[n++] = range(MC_OP_ATTENTION_PREFILL, MC_DIM_CONTEXT,
				 edge(c, MC_OP_ATTENTION_PREFILL, &prefill, &prefill.context, 0),
				 edge(c, MC_OP_ATTENTION_PREFILL, &prefill, &prefill.context, FAR));
	}
	if (find(c, MC_OP_ATTENTION_DECODE, &decode, &decode.seqs, 1)) { /* its context has the new token */
		out[n++] = range(MC_OP_ATTENTION_DECODE, MC_DIM_SEQS,
				 edge(c, MC_OP_ATTENTION_DECODE, &decode, &decode.seqs, 1),
				 edge(c, MC_OP_ATTENTION_DECODE, &decode, &decode.seqs, FAR));
		out[n++] = range(MC_OP_ATTENTION_DECODE, MC_DIM_CONTEXT,
				 edge(c, MC_OP_ATTENTION_DECODE, &decode, &decode.context, 0) + 1,
				 edge(c, MC_OP_ATTENTION_DECODE, &decode, &decode.context, FAR) + 1);
	}
	if (find(c, MC_OP_ALL_REDUCE, &decode, &decode.seqs, 1)) {
		out[n] =
		    range(MC_OP_ALL_REDUCE, MC_DIM_BYTES, edge(c, MC_OP_ALL_REDUCE, &decode, &decode.seqs, 1),
			  edge(c, MC_OP_ALL_REDUCE, &decode, &decode.seqs, FAR));
		out[n].low *= bytes;
		out[n].high *= bytes;
		out[n++].per_row = bytes;
	}
	return n;
}
