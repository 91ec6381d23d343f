#include "fit/opgap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "fit/opfit.h"
#include "fit/opgap_form.h"
#include "fit/text.h"
#include "hw/optime.h"
#include "model/compose.h"
#include "stat/sort.h"
#include "stat/summary.h"

#define GAP_DIGITS 6
#define TOKENS_MAX INT64_C(1000000000) /* of a batch: keeps every product of a shape below 2^63 */

static const enum mc_op level_ops[MC_OPGAP_LEVELS] = {MC_OP_LAYER, MC_OP_STEP};

struct points {
	MC_VEC(struct mc_opgap_point)
};

static int compare_points(const void *va, const void *vb)
{
	const struct mc_opgap_point *a = va, *b = vb;
	int c = memcmp(a->point.dim, b->point.dim, sizeof a->point.dim);

	return c ? c : (a->seconds > b->seconds) - (a->seconds < b->seconds);
}

/* Repeats of a point as one, the median; then in the order that points are dealt in. */
static int compare_hash(const void *va, const void *vb)
{
	const struct mc_opgap_point *a = va, *b = vb;

	if (a->phase != b->phase)
		return a->phase < b->phase ? -1 : 1;
	return a->hash != b->hash ? (a->hash > b->hash) - (a->hash < b->hash)
				  : memcmp(a->point.dim, b->point.dim, sizeof a->point.dim);
}

static void merge_repeats(struct points *p)
{
	size_t n = 0;

	if (!p->n)
		return;
	qsort(p->at, p->n, sizeof *p->at, compare_points);
	for (size_t i = 0, k; i < p->n; i += k) {
		struct mc_opgap_point *q = &p->at[i];

		for (k = 1; i + k < p->n && !memcmp(q->point.dim, q[k].point.dim, sizeof q->point.dim); k++)
			;
		p->at[n] = *q;
		p->at[n].seconds = (q[(k - 1) / 2].seconds + q[k / 2].seconds) / 2;
		p->at[n].hash = 0;
		for (int d = 0; d < MC_DIMS; d++)
			p->at[n].hash = mc_hash_pair(p->at[n].hash, (uint64_t)q->point.dim[d]);
		n++;
	}
	p->n = n;
	qsort(p->at, p->n, sizeof *p->at, compare_hash);
}

/* A sample's sums: with no gaps, and with those that are known so far. */
static int sums(struct mc_compose *c, const struct mc_opsample *s, struct mc_opgap_point *q,
		struct mc_err *err)
{
	const int64_t *d = s->point.dim;
	struct mc_iteration i = {d[MC_DIM_ROWS], d[MC_DIM_CONTEXT], d[MC_DIM_SEQS], d[MC_DIM_SEQS]};
	const struct mc_gaps *gaps = c->gaps;
	struct mc_parts bare = {0}, base = {0};
	int rc;

	if (i.rows > TOKENS_MAX / i.seqs || i.context > TOKENS_MAX / i.seqs)
		return mc_err_set(err, MC_USAGE, "more than 1G tokens");
	if (s->point.op == MC_OP_LAYER)
		i.logits = 0;
	c->gaps = NULL;
	rc = s->point.op == MC_OP_LAYER ? mc_compose_layer(c, &i, &bare, err)
					: mc_compose_add(c, &i, &bare, err);
	c->gaps = gaps;
	if (!rc && s->point.op == MC_OP_STEP)
		rc = mc_compose_add(c, &i, &base, err);
	*q = (struct mc_opgap_point){.point = s->point,
				     .phase = i.rows == 1 ? MC_DECODE : MC_PREFILL,
				     .rows = (double)(i.rows * i.seqs),
				     .seconds = s->seconds,
				     .bare_s = bare.seconds,
				     .base_s = s->point.op == MC_OP_STEP ? base.seconds : bare.seconds,
				     .floor_s = bare.floor_s};
	return rc;
}

static bool same_model(const struct mc_gaps *g, const struct mc_shape *s, int64_t tensor_parallel)
{
	const int64_t shape[MC_GAP_DIMS] = {s->layers,   s->hidden, s->heads, s->kv_heads,
					    s->head_dim, s->ffn,    s->vocab};

	return !memcmp(g->shape, shape, sizeof shape) && g->tensor_parallel == tensor_parallel;
}

/* The shape and degree of a file; what it is measured in is what its header says. */
static int model_of(const struct mc_opsamples *s, struct mc_shape *shape, int64_t *tensor_parallel,
		    struct mc_err *err)
{
	if (mc_shape_from_json(shape, s->model, NULL, err))
		return mc_err_at(err, NULL, 0, 0, "model");
	shape->weight_bytes_per_param = shape->kv_bytes_per_value = mc_opsamples_element_bytes(s->dtype);
	*tensor_parallel = s->tensor_parallel ? s->tensor_parallel : 1;
	return MC_OK;
}

struct files {
	const struct mc_operators *o;
	const struct mc_opsamples *s;
	size_t n;
};

static void lacking(struct mc_opgap *g, enum mc_opgap_level level, const struct mc_err *why)
{
	if (!g->level[level].lacking++)
		memcpy(g->level[level].why, why->text, sizeof g->level[level].why - 1);
}

static void collect_file(struct mc_opgap *g, struct mc_compose *c, enum mc_opgap_level level,
			 const struct mc_opsamples *s, struct points *p)
{
	for (size_t i = 0; i < s->n; i++) {
		struct mc_err why = {0};
		struct mc_opgap_point q;

		if (s->at[i].point.op != level_ops[level])
			continue;
		if (s->at[i].flag[0])
			g->level[level].flagged++;
		else if (sums(c, &s->at[i], &q, &why))
			lacking(g, level, &why);
		else if (q.seconds < q.floor_s)
			g->level[level].unphysical++;
		else
			mc_vec_push(p, q);
	}
}

static void collect(struct mc_opgap *g, const struct files *f, enum mc_opgap_level level, struct points *p)
{
	for (size_t i = 0; i < f->n; i++) {
		struct mc_compose c = {0};
		struct mc_err why = {0};
		struct mc_shape shape;
		int64_t t;

		if (!f->s[i].model || model_of(&f->s[i], &shape, &t, NULL) ||
		    !same_model(&g->gaps, &shape, t))
			continue;
		if (mc_compose_init(&c, f->o, &shape, t, &why)) {
			lacking(g, level, &why);
			continue;
		}
		c.gaps = &g->gaps;
		c.own_gaps = true;
		collect_file(g, &c, level, &f->s[i], p);
	}
	merge_repeats(p);
	g->level[level].points = p->n;
}

static void error_of(struct mc_curve_error *e, const struct points *p, double *off)
{
	size_t worst = 0;

	for (size_t i = 1; i < p->n; i++)
		if (off[i] > off[worst])
			worst = i;
	mc_op_dims_text(&p->at[worst].point, e->worst_at, sizeof e->worst_at);
	mc_sort_f64(off, p->n);
	e->points = (int64_t)p->n;
	e->median = off[mc_stat_rank(p->n, 50)];
	e->p95 = off[mc_stat_rank(p->n, 95)];
	e->worst = off[p->n - 1];
}

static void fit_level(struct mc_opgap *g, const struct files *f, enum mc_opgap_level level)
{
	struct mc_gap_level *l = level == MC_OPGAP_LAYER ? &g->gaps.layer : &g->gaps.step;
	struct points p = {0};
	double *off;

	collect(g, f, level, &p);
	if (!p.n)
		return;
	off = mc_xcalloc(p.n, sizeof *off);
	for (size_t i = 0; i < p.n; i++)
		off[i] = fabs(p.at[i].bare_s / p.at[i].seconds - 1);
	error_of(&l->sum_error, &p, off);
	for (size_t i = 0, k; i < p.n; i += k) {
		for (k = 1; i + k < p.n && p.at[i + k].phase == p.at[i].phase; k++)
			;
		mc_opgap_form(p.at + i, k, &l->gap[p.at[i].phase], off + i);
	}
	error_of(&l->error, &p, off);
	free(off);
	mc_vec_fini(&p);
}

/* One for each model and degree, in the order of the files. */
static int find_models(struct mc_opgaps *g, const struct mc_opsamples *s, size_t n, struct mc_err *err)
{
	for (size_t i = 0; i < n; i++) {
		struct mc_shape shape;
		size_t wholes = 0, k = 0;
		int64_t t;

		for (size_t j = 0; j < s[i].n; j++)
			wholes += s[i].at[j].point.op == MC_OP_LAYER || s[i].at[j].point.op == MC_OP_STEP;
		if (wholes && !s[i].model)
			g->nameless += wholes;
		if (!wholes || !s[i].model)
			continue;
		if (model_of(&s[i], &shape, &t, err))
			return MC_USAGE;
		while (k < g->n && !same_model(&g->at[k].gaps, &shape, t))
			k++;
		if (k == g->n)
			mc_vec_push(
			    g, ((struct mc_opgap){
				   .gaps = {.model = mc_xstrdup(shape.name[0] ? shape.name : "model"),
					    .tensor_parallel = t,
					    .shape = {shape.layers, shape.hidden, shape.heads, shape.kv_heads,
						      shape.head_dim, shape.ffn, shape.vocab}}}));
	}
	return MC_OK;
}

int mc_opgaps_samples(struct mc_opgaps *g, const struct mc_operators *o, const struct mc_opsamples *s,
		      size_t n, struct mc_err *err)
{
	struct files f = {o, s, n};
	int rc;

	memset(g, 0, sizeof *g);
	rc = find_models(g, s, n, err);
	for (size_t i = 0; i < g->n && !rc; i++)
		for (int level = 0; level < MC_OPGAP_LEVELS; level++)
			fit_level(&g->at[i], &f, (enum mc_opgap_level)level);
	if (rc)
		mc_opgaps_fini(g);
	return rc;
}

static json_t *gap_json(const struct mc_gap *g)
{
	return json_pack("{s:o, s:o, s:o, s:I}", "constant_s", mc_fit_number(g->constant_s, GAP_DIGITS),
			 "row_s", mc_fit_number(g->row_s, GAP_DIGITS), "share",
			 mc_fit_number(g->share, GAP_DIGITS), "rows_max", (json_int_t)g->rows_max);
}

static json_t *level_json(const struct mc_gap_level *l)
{
	json_t *o = json_object();

	for (int k = 0; k < MC_PHASES; k++)
		if (l->gap[k].rows_max)
			json_object_set_new(o, mc_phase_names[k], gap_json(&l->gap[k]));
	json_object_set_new(o, "sum_error", mc_opfit_error(&l->sum_error));
	json_object_set_new(o, "error", mc_opfit_error(&l->error));
	return o;
}

json_t *mc_opgaps_list(const struct mc_opgaps *g)
{
	json_t *list = json_array();

	for (size_t i = 0; i < g->n; i++) {
		const struct mc_gaps *m = &g->at[i].gaps;
		json_t *o = json_object(), *shape = json_object();

		if (m->layer.error.points + m->step.error.points == 0) {
			json_decref(o);
			json_decref(shape);
			continue;
		}
		for (int d = 0; d < MC_GAP_DIMS; d++)
			json_object_set_new(shape, mc_gap_dim_names[d],
					    json_integer((json_int_t)m->shape[d]));
		json_object_set_new(o, "model", json_string(m->model));
		json_object_set_new(o, "tensor_parallel", json_integer((json_int_t)m->tensor_parallel));
		json_object_set_new(o, "shape", shape);
		if (m->layer.error.points)
			json_object_set_new(o, "layer", level_json(&m->layer));
		if (m->step.error.points)
			json_object_set_new(o, "step", level_json(&m->step));
		json_array_append_new(list, o);
	}
	if (json_array_size(list))
		return list;
	json_decref(list);
	return NULL;
}

void mc_opgaps_fini(struct mc_opgaps *g)
{
	for (size_t i = 0; i < g->n; i++)
		mc_gaps_fini(&g->at[i].gaps);
	mc_vec_fini(g);
}
