#include "model/compose.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#define CHUNKS_MAX 100000

static void find_gaps(struct mc_compose *c)
{
	const struct mc_shape *s = &c->shape;
	const int64_t shape[MC_GAP_DIMS] = {s->layers,   s->hidden, s->heads, s->kv_heads,
					    s->head_dim, s->ffn,    s->vocab};
	double nearest = INFINITY;

	c->gaps = NULL;
	c->own_gaps = false;
	for (size_t i = 0; i < c->operators->n_gaps && !c->own_gaps; i++) {
		const struct mc_gaps *g = &c->operators->gaps[i];
		double d = mc_gaps_distance(g, shape, c->tensor_parallel);

		c->own_gaps =
		    !memcmp(g->shape, shape, sizeof shape) && g->tensor_parallel == c->tensor_parallel;
		if (d < nearest || c->own_gaps) {
			nearest = d;
			c->gaps = g;
		}
	}
}

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
	find_gaps(c);
	return MC_OK;
}

/* What an iteration is added with. */
struct adding {
	const struct mc_compose *c;
	struct mc_parts *sum;
	enum mc_phase phase;
	int64_t rows; /* of all sequences */
	int at;       /* next part; the same in each iteration */
	int64_t calls;
	double before_s, before_floor_s; /* of *sum, before this iteration */
	int rc;
	struct mc_err *err;
};

/* The next part's place. */
static struct mc_compose_part *next_part(struct adding *a, const char *name, enum mc_part_kind kind)
{
	struct mc_compose_part *part = &a->sum->part[a->at];

	assert(a->at < MC_COMPOSE_PARTS);
	if (a->at++ == a->sum->n)
		a->sum->n++;
	part->name = name;
	part->kind = kind;
	return part;
}

static void add_seconds(struct adding *a, struct mc_compose_part *part, double seconds)
{
	part->seconds += seconds;
	a->sum->kind_s[part->kind] += seconds;
	a->sum->seconds += seconds;
}

/* Calls of one operator; dims: all that it has, in the order of enum mc_dim. */
static void add(struct adding *a, const char *name, enum mc_op op, const int64_t *dims)
{
	const struct mc_operators *o = a->c->operators;
	struct mc_op_point p = {.op = op};
	struct mc_compose_part *part;
	struct mc_op_time t;

	for (int d = 0; d < MC_DIMS; d++)
		if (mc_op_dims[op] >> d & 1)
			p.dim[d] = *dims++;
	if (!a->rc)
		a->rc = mc_op_time(o, &p, &t, a->err);
	if (a->rc)
		return;
	part = next_part(a, name,
			 op == MC_OP_ALL_REDUCE  ? MC_PART_COLLECTIVE
			 : op == MC_OP_HOST_STEP ? MC_PART_HOST
						 : MC_PART_OPERATOR);
	part->point = p;
	part->calls += a->calls;
	part->outside += t.covered ? 0 : a->calls;
	part->how = t.how > part->how ? t.how : part->how;
	a->sum->floor_s += (double)a->calls * mc_op_floor_s(&p, &o->limits, o->element_bytes);
	add_seconds(a, part, (double)a->calls * t.seconds);
}

/* Gaps after a->calls sums of sum_s each, in the place that was kept for them. What is in *sum of this
 * iteration stays above its floor. */
static void add_gap(struct adding *a, struct mc_compose_part *part, const struct mc_gap *g, double sum_s)
{
	double s = (double)a->calls * mc_gap_s(g, (double)a->rows, sum_s);
	double least = a->sum->floor_s - a->before_floor_s - (a->sum->seconds - a->before_s);

	part->calls += a->calls;
	part->outside += a->rows > g->rows_max ? a->calls : 0;
	part->how = a->c->own_gaps ? MC_HOW_CURVE : MC_HOW_SCALED;
	add_seconds(a, part, s > least ? s : least);
}

static struct mc_op_point whole(enum mc_op op, const struct mc_iteration *i)
{
	return (struct mc_op_point){
	    op, {[MC_DIM_ROWS] = i->rows, [MC_DIM_CONTEXT] = i->context, [MC_DIM_SEQS] = i->seqs}};
}

/* NULL: nobody measured it. */
static const struct mc_gap *gap_of(const struct mc_gap_level *l, enum mc_phase phase)
{
	return l->gap[phase].rows_max ? &l->gap[phase] : NULL;
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

static void add_layers(struct adding *a, const struct mc_iteration *i, int64_t layers)
{
	const struct mc_shape *s = &a->c->shape;
	int64_t t = a->c->tensor_parallel, rows = a->rows, heads = s->heads / t;
	int64_t kv_heads = s->kv_heads > t ? s->kv_heads / t : 1, ffn = s->ffn / t;
	const struct mc_gap *gap = a->c->gaps ? gap_of(&a->c->gaps->layer, a->phase) : NULL;
	double before_s = a->sum->seconds;

	a->calls = 2 * layers;
	add(a, "norm", MC_OP_NORM, DIMS(rows, s->hidden));
	a->calls = layers;
	add(a, "qkv", MC_OP_GEMM, DIMS(rows, (heads + 2 * kv_heads) * s->head_dim, s->hidden));
	add(a, "rope", MC_OP_ROPE, DIMS(rows, heads, kv_heads, s->head_dim));
	add(a, "kv_scatter", MC_OP_KV_SCATTER, DIMS(rows, kv_heads, s->head_dim));
	add_attention(a, i, heads, kv_heads);
	add(a, "out", MC_OP_GEMM, DIMS(rows, s->hidden, heads * s->head_dim));
	add(a, "gate_up", MC_OP_GEMM, DIMS(rows, 2 * ffn, s->hidden));
	add(a, "swiglu", MC_OP_SWIGLU, DIMS(rows, ffn));
	add(a, "down", MC_OP_GEMM, DIMS(rows, s->hidden, ffn));
	a->calls = 2 * layers;
	if (t > 1) /* ranks come before bytes */
		add(a, "all_reduce", MC_OP_ALL_REDUCE,
		    DIMS(t, rows * s->hidden * (int64_t)a->c->operators->element_bytes));
	a->calls = layers;
	if (!a->rc && gap) {
		struct mc_compose_part *part = next_part(a, "layer_gap", MC_PART_GAP);

		part->point = whole(MC_OP_LAYER, i);
		add_gap(a, part, gap, (a->sum->seconds - before_s) / (double)layers);
	}
}

static bool has_host(const struct mc_operators *o)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->curve[i].fixed.op == MC_OP_HOST_STEP)
			return true;
	return false;
}

static struct adding begin(const struct mc_compose *c, const struct mc_iteration *i, struct mc_parts *sum,
			   struct mc_err *err)
{
	assert(i->rows >= 1 && i->context >= 0 && i->seqs >= 1 && i->logits >= 0 && i->logits <= i->seqs);
	return (struct adding){.c = c,
			       .sum = sum,
			       .phase = i->rows == 1 ? MC_DECODE : MC_PREFILL,
			       .rows = i->rows * i->seqs,
			       .calls = 1,
			       .before_s = sum->seconds,
			       .before_floor_s = sum->floor_s,
			       .err = err};
}

int mc_compose_add(const struct mc_compose *c, const struct mc_iteration *i, struct mc_parts *sum,
		   struct mc_err *err)
{
	struct adding a = begin(c, i, sum, err);
	const struct mc_shape *s = &c->shape;
	const struct mc_gap *gap = c->gaps ? gap_of(&c->gaps->step, a.phase) : NULL;
	struct mc_compose_part *part = NULL;
	int64_t t = c->tensor_parallel;

	add(&a, "embedding", MC_OP_EMBED, DIMS(a.rows, s->hidden));
	add_layers(&a, i, s->layers);
	a.calls = 1;
	if (has_host(c->operators))
		add(&a, "host", MC_OP_HOST_STEP, DIMS(i->seqs));
	if (!a.rc && gap) /* before the parts that not every iteration has */
		part = next_part(&a, "step_gap", MC_PART_GAP);
	if (i->logits) {
		add(&a, "last_norm", MC_OP_NORM, DIMS(i->logits, s->hidden));
		add(&a, "logits", MC_OP_GEMM, DIMS(i->logits, (s->vocab + t - 1) / t, s->hidden));
		add(&a, "sample", MC_OP_SAMPLE, DIMS(i->logits, s->vocab));
	}
	if (!a.rc && part) {
		part->point = whole(MC_OP_STEP, i);
		add_gap(&a, part, gap, sum->seconds - a.before_s);
	}
	sum->iterations++;
	return a.rc;
}

int mc_compose_layer(const struct mc_compose *c, const struct mc_iteration *i, struct mc_parts *sum,
		     struct mc_err *err)
{
	struct adding a = begin(c, i, sum, err);

	add_layers(&a, i, 1);
	return a.rc;
}

double mc_compose_factor(const struct mc_compose *c, enum mc_phase phase)
{
	return c->gaps ? (1 + c->gaps->layer.gap[phase].share) * (1 + c->gaps->step.gap[phase].share) : 1;
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
