#include "model/compose.h"

#include <assert.h>
#include <string.h>

#define CHUNKS_MAX 100000

int mc_compose_init(struct mc_compose *c, const struct mc_operators *operators, const struct mc_shape *shape,
		    int64_t tensor_parallel, struct mc_err *err)
{
	int64_t t = tensor_parallel;

	assert(t >= 1);
	if (!mc_shape_is_dense(shape))
		return mc_err_set(err, MC_USAGE,
				  "%s has experts or latent attention, whose operators have no curves",
				  shape->name);
	if (shape->heads % t || shape->ffn % t || (shape->kv_heads % t && t % shape->kv_heads))
		return mc_err_set(err, MC_USAGE,
				  "%s can't be shared by %lld GPUs: heads %lld, KV heads %lld, FFN %lld",
				  shape->name, (long long)t, (long long)shape->heads,
				  (long long)shape->kv_heads, (long long)shape->ffn);
	if ((double)shape->weight_bytes_per_param != operators->element_bytes ||
	    (double)shape->kv_bytes_per_value != operators->element_bytes)
		return mc_err_set(err, MC_USAGE, "%s has weights or KV of another type than the curves' %s",
				  shape->name, operators->dtype);
	c->operators = operators;
	c->shape = *shape;
	c->tensor_parallel = t;
	return MC_OK;
}

/* What an iteration is added with. */
struct adding {
	const struct mc_compose *c;
	struct mc_parts *sum;
	int at; /* next part; the same in each iteration */
	int64_t calls;
	int rc;
	struct mc_err *err;
};

/* Calls of one operator; dims: all that it has, in the order of enum mc_dim. */
static void add(struct adding *a, const char *name, enum mc_op op, const int64_t *dims)
{
	struct mc_part *part = &a->sum->part[a->at];
	struct mc_op_point p = {.op = op};
	struct mc_op_time t;
	double seconds;

	for (int d = 0; d < MC_DIMS; d++)
		if (mc_op_dims[op] >> d & 1)
			p.dim[d] = *dims++;
	if (!a->rc)
		a->rc = mc_op_time(a->c->operators, &p, &t, a->err);
	if (a->rc)
		return;
	assert(a->at < MC_PARTS);
	if (a->at++ == a->sum->n)
		a->sum->n++;
	seconds = (double)a->calls * t.seconds;
	part->name = name;
	part->point = p;
	part->kind = op == MC_OP_ALL_REDUCE  ? MC_PART_COLLECTIVE
		     : op == MC_OP_HOST_STEP ? MC_PART_HOST
					     : MC_PART_OPERATOR;
	part->calls += a->calls;
	part->outside += t.covered ? 0 : a->calls;
	part->seconds += seconds;
	part->how = t.how > part->how ? t.how : part->how;
	a->sum->kind_s[part->kind] += seconds;
	a->sum->seconds += seconds;
}

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})

static void add_attention(struct adding *a, const struct mc_iteration *i, int64_t heads, int64_t kv_heads)
{
	int64_t dim = a->c->shape.head_dim;

	if (i->rows == 1) /* decode counts the new token */
		add(a, "attention", MC_OP_ATTENTION_DECODE,
		    DIMS(i->context + 1, i->seqs, heads, kv_heads, dim));
	else
		add(a, "attention", MC_OP_ATTENTION_PREFILL,
		    DIMS(i->rows, i->context, i->seqs, heads, kv_heads, dim));
}

static void add_layers(struct adding *a, const struct mc_iteration *i)
{
	const struct mc_shape *s = &a->c->shape;
	int64_t t = a->c->tensor_parallel, rows = i->rows * i->seqs, heads = s->heads / t;
	int64_t kv_heads = s->kv_heads > t ? s->kv_heads / t : 1, ffn = s->ffn / t;

	a->calls = 2 * s->layers;
	add(a, "norm", MC_OP_NORM, DIMS(rows, s->hidden));
	a->calls = s->layers;
	add(a, "qkv", MC_OP_GEMM, DIMS(rows, (heads + 2 * kv_heads) * s->head_dim, s->hidden));
	add(a, "rope", MC_OP_ROPE, DIMS(rows, heads, kv_heads, s->head_dim));
	add(a, "kv_scatter", MC_OP_KV_SCATTER, DIMS(rows, kv_heads, s->head_dim));
	add_attention(a, i, heads, kv_heads);
	add(a, "out", MC_OP_GEMM, DIMS(rows, s->hidden, heads * s->head_dim));
	add(a, "gate_up", MC_OP_GEMM, DIMS(rows, 2 * ffn, s->hidden));
	add(a, "swiglu", MC_OP_SWIGLU, DIMS(rows, ffn));
	add(a, "down", MC_OP_GEMM, DIMS(rows, s->hidden, ffn));
	a->calls = 2 * s->layers;
	if (t > 1) /* ranks come before bytes */
		add(a, "all_reduce", MC_OP_ALL_REDUCE,
		    DIMS(t, rows * s->hidden * (int64_t)a->c->operators->element_bytes));
}

static bool has_host(const struct mc_operators *o)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->curve[i].fixed.op == MC_OP_HOST_STEP)
			return true;
	return false;
}

int mc_compose_add(const struct mc_compose *c, const struct mc_iteration *i, struct mc_parts *sum,
		   struct mc_err *err)
{
	struct adding a = {.c = c, .sum = sum, .err = err};
	const struct mc_shape *s = &c->shape;
	int64_t t = c->tensor_parallel;

	assert(i->rows >= 1 && i->context >= 0 && i->seqs >= 1 && i->logits >= 0 && i->logits <= i->seqs);
	a.calls = 1;
	add(&a, "embedding", MC_OP_EMBED, DIMS(i->rows * i->seqs, s->hidden));
	add_layers(&a, i);
	a.calls = 1;
	if (has_host(c->operators))
		add(&a, "host", MC_OP_HOST_STEP, DIMS(i->seqs));
	if (i->logits) {
		add(&a, "last_norm", MC_OP_NORM, DIMS(i->logits, s->hidden));
		add(&a, "logits", MC_OP_GEMM, DIMS(i->logits, (s->vocab + t - 1) / t, s->hidden));
		add(&a, "sample", MC_OP_SAMPLE, DIMS(i->logits, s->vocab));
	}
	sum->iterations++;
	return a.rc;
}

int mc_compose_prefill(const struct mc_compose *c, const struct mc_prompts *p, struct mc_parts *sum,
		       struct mc_err *err)
{
	int64_t chunk = p->chunk ? p->chunk : p->tokens - p->cached;
	int rc = MC_OK;

	assert(p->cached >= 0 && p->cached < p->tokens && p->seqs >= 1 && chunk >= 1);
	if ((p->tokens - p->cached - 1) / chunk >= CHUNKS_MAX)
		return mc_err_set(err, MC_USAGE, "a prefill of more than 100,000 chunks");
	memset(sum, 0, sizeof *sum);
	for (int64_t at = p->cached; at < p->tokens && !rc; at += chunk) {
		int64_t left = p->tokens - at;
		struct mc_iteration i = {left < chunk ? left : chunk, at, p->seqs,
					 left <= chunk ? p->seqs : 0};

		rc = mc_compose_add(c, &i, sum, err);
	}
	return rc;
}
