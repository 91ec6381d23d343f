#include "model/optable.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

#include "model/compose.h"

/* Tables reach that far at most: rows of a pass, sequences of an iteration, tokens of a context. */
#define ROWS_MAX    (1 << 20)
#define ROWS_MIN    8192
#define SEQS_MAX    8192
#define CONTEXT_MAX (1 << 21)
/* Knots to an octave, as powers of 2. Dense times bend where tiles fill up; attention is a polynomial. */
#define ROWS_BITS      4
#define ATTENTION_BITS 3
#define CONTEXT_BITS   2

struct building {
	const struct mc_compose *compose;
	struct mc_compose_part attention[MC_PHASES]; /* of a pass, any */
	double factor[MC_PHASES];                    /* what a second of it adds to a pass */
	int rc;
	struct mc_err *err;
};

static const struct mc_compose_part *attention_part(const struct mc_parts *sum)
{
	for (int i = 0; i < sum->n; i++)
		if (sum->part[i].point.op == MC_OP_ATTENTION_PREFILL ||
		    sum->part[i].point.op == MC_OP_ATTENTION_DECODE)
			return &sum->part[i];
	assert(!"a pass has attention");
	return NULL;
}

/* Seconds of a pass; *attention, unless NULL: that part of it. */
static double add(struct building *b, struct mc_iteration i, struct mc_compose_part *attention)
{
	struct mc_parts sum = {0};

	if (!b->rc)
		b->rc = mc_compose_add(b->compose, &i, &sum, b->err);
	if (b->rc)
		return 1;
	if (attention)
		*attention = *attention_part(&sum);
	return sum.seconds;
}

/* Attention of all layers, all GPUs at once. */
static double attention_s(struct building *b, const struct mc_iteration *i)
{
	bool decode = i->rows == 1;
	enum mc_phase phase = decode ? MC_DECODE : MC_PREFILL;
	struct mc_op_point p = b->attention[phase].point;
	struct mc_op_time time = {0};

	p.dim[MC_DIM_CONTEXT] = i->context + decode; /* that of decode counts the new token */
	p.dim[MC_DIM_SEQS] = i->seqs;
	if (!decode)
		p.dim[MC_DIM_ROWS] = i->rows;
	if (!b->rc)
		b->rc = mc_op_time(b->compose->operators, &p, &time, b->err);
	return b->factor[phase] * (double)b->attention[phase].calls * time.seconds;
}

static double without_attention(struct building *b, struct mc_iteration i)
{
	return add(b, i, NULL) - attention_s(b, &i);
}

static double dense_at(void *arg, int64_t rows, int64_t none)
{
	(void)none;
	return without_attention(arg, (struct mc_iteration){rows, 0, 1, 0});
}

static double step_at(void *arg, int64_t seqs, int64_t none)
{
	(void)none;
	return without_attention(arg, (struct mc_iteration){1, 0, seqs, seqs});
}

static double attention_at(void *arg, int64_t rows, int64_t context1)
{
	return attention_s(arg, &(struct mc_iteration){rows, context1 - 1, 1, 0});
}

static double attend_at(void *arg, int64_t seqs, int64_t context1)
{
	return attention_s(arg, &(struct mc_iteration){1, context1 - 1, seqs, 0});
}

/* Pairs of tokens that attention of a chunk joins. */
static double pairs(double rows, double context)
{
	return rows * (context + (rows + 1) / 2);
}

/* At the knots, and so everywhere: what is linear between knots lies above what is convex and below it there.
 */
static void find_floors(struct mc_optable *t)
{
	const struct mc_plane *a = &t->attention;

	t->row_floor_s = t->pair_floor_s = INFINITY;
	for (size_t i = 0; i < t->dense.x.n; i++)
		t->row_floor_s = fmin(t->row_floor_s, t->dense.y[i] / t->dense.x.at[i]);
	for (size_t i = 0; i < a->x.n; i++)
		for (size_t j = 0; j < a->y.n; j++)
			t->pair_floor_s =
			    fmin(t->pair_floor_s,
				 a->z[i * (a->y.n + 1) + j] / pairs(a->x.at[i], mc_octaves_at(&a->y, j) - 1));
	t->row_floor_s = fmax(t->row_floor_s, 0);
	t->pair_floor_s = fmax(t->pair_floor_s, 0);
}

/* Where times of operators bend: the knots of all curves of ops over dimension d, in `unit`s. */
static void mark(const struct mc_compose *c, unsigned ops, enum mc_dim d, double unit, struct mc_marks *marks)
{
	for (const struct mc_curve *k = c->operators->curve; k < c->operators->curve + c->operators->n; k++)
		for (int a = 0; a < k->axes; a++)
			for (size_t j = 0; (ops >> k->fixed.op & 1) && k->dim[a] == d && j < k->n[a]; j++) {
				int64_t x = (int64_t)fmin(ceil(k->at[a][j] / unit), ROWS_MAX);

				mc_vec_push(marks, x);
				mc_vec_push(marks, x - 1); /* the last one below it */
			}
}

static struct mc_steps steps(const struct mc_compose *c, unsigned ops, enum mc_dim d, int64_t top, int bits)
{
	struct mc_marks marks = {0};
	struct mc_steps s;

	mark(c, ops, d, 1, &marks);
	if (ops >> MC_OP_ALL_REDUCE & 1)
		mark(c, 1u << MC_OP_ALL_REDUCE, MC_DIM_BYTES,
		     (double)c->shape.hidden * c->operators->element_bytes, &marks);
	mc_steps_init(&s, top, bits, &marks);
	mc_vec_fini(&marks);
	return s;
}

#define ATTENTION (1u << MC_OP_ATTENTION_PREFILL | 1u << MC_OP_ATTENTION_DECODE)

int mc_optable_init(struct mc_optable *t, const struct mc_compose *compose, int64_t chunk, struct mc_err *err)
{
	struct building b = {.compose = compose, .err = err};
	int64_t rows = chunk < 2 ? 2 : chunk < ROWS_MAX ? chunk : ROWS_MAX;
	int64_t dense = 2 * rows > ROWS_MIN ? 2 * rows : ROWS_MIN;
	struct mc_octaves context = mc_octaves_to(CONTEXT_MAX, CONTEXT_BITS);
	struct mc_steps x;

	assert(chunk >= 1);
	memset(t, 0, sizeof *t);
	add(&b, (struct mc_iteration){64, 0, 1, 0}, &b.attention[MC_PREFILL]);
	add(&b, (struct mc_iteration){1, 0, 1, 0}, &b.attention[MC_DECODE]);
	if (b.rc)
		return b.rc;
	for (int i = 0; i < MC_PHASES; i++)
		b.factor[i] = mc_compose_factor(compose, (enum mc_phase)i);
	x = steps(compose, ~ATTENTION, MC_DIM_ROWS, dense, ROWS_BITS);
	mc_line_init(&t->dense, &x, dense_at, &b);
	x = steps(compose, ~ATTENTION, MC_DIM_ROWS, SEQS_MAX, ROWS_BITS);
	mc_line_init(&t->step, &x, step_at, &b);
	x = steps(compose, 1u << MC_OP_ATTENTION_PREFILL, MC_DIM_ROWS, rows, ATTENTION_BITS);
	mc_plane_init(&t->attention, &x, context, attention_at, &b);
	x = steps(compose, 1u << MC_OP_ATTENTION_DECODE, MC_DIM_SEQS, SEQS_MAX, CONTEXT_BITS);
	mc_plane_init(&t->attend, &x, context, attend_at, &b);
	t->sample_s = add(&b, (struct mc_iteration){64, 0, 1, 1}, NULL) -
		      add(&b, (struct mc_iteration){64, 0, 1, 0}, NULL);
	find_floors(t);
	t->n_ranges = mc_op_ranges(compose, t->range);
	if (b.rc)
		mc_optable_fini(t);
	return b.rc;
}

void mc_optable_fini(struct mc_optable *t)
{
	mc_line_fini(&t->dense);
	mc_line_fini(&t->step);
	mc_plane_fini(&t->attention);
	mc_plane_fini(&t->attend);
}

static double line_s(const struct mc_line *l, double x)
{
	double top = mc_steps_top(&l->x);

	assert(x >= 1);
	return x <= top ? mc_line_value(l, x) : mc_line_value(l, top) * (x / top);
}

double mc_optable_dense_s(const struct mc_optable *t, double rows)
{
	return line_s(&t->dense, rows);
}

double mc_optable_step_s(const struct mc_optable *t, double seqs)
{
	return line_s(&t->step, seqs);
}

double mc_optable_attention_s(const struct mc_optable *t, double rows, double context)
{
	const struct mc_plane *a = &t->attention;
	double x = fmin(rows, mc_steps_top(&a->x)), y = context < a->y.top ? context + 1 : a->y.top;
	double s = mc_plane_value(a, x, y);

	return x < rows || y < context + 1 ? s * (pairs(rows, context) / pairs(x, y - 1)) : s;
}

double mc_optable_attend_s(const struct mc_optable *t, double seqs, double context)
{
	const struct mc_plane *a = &t->attend;
	double mean = context / seqs + 1;
	double x = fmin(seqs, mc_steps_top(&a->x)), y = mean <= a->y.top ? mean : a->y.top;
	double s = mc_plane_value(a, x, y);

	return x < seqs || y < mean ? s * (seqs * mean / (x * y)) : s;
}

double mc_optable_chunk_s(const struct mc_optable *t, double rows, double context, bool last)
{
	double s = mc_optable_dense_s(t, rows) + mc_optable_attention_s(t, rows, context);

	return last ? s + t->sample_s : s;
}

double mc_optable_prefill_s(const struct mc_optable *t, double n, double p, double chunk)
{
	double s = 0;

	if (p >= n)
		return 0;
	if (n - p > chunk) { /* full chunks all have the same rows */
		double dense = mc_optable_dense_s(t, chunk);

		for (; n - p > chunk; p += chunk)
			s += dense + mc_optable_attention_s(t, chunk, p);
	}
	return s + mc_optable_chunk_s(t, n - p, p, true);
}

double mc_optable_decode_s(const struct mc_optable *t, double seqs, double context)
{
	return mc_optable_step_s(t, seqs) + mc_optable_attend_s(t, seqs, context);
}

double mc_optable_floor_s(const struct mc_optable *t, double n, double p)
{
	return t->row_floor_s * (n - p) + t->pair_floor_s * pairs(n - p, p);
}
