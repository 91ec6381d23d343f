#include "fit/residuals.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fit/fit.h"
#include "hw/nettime.h"
#include "model/compose.h"
#include "model/cost.h"
#include "stat/sort.h"
#include "stat/summary.h"

#define TOKENS_MAX INT64_C(1000000000) /* of a batch: keeps every product of a shape below 2^63 */

const char *const mc_residual_states[MC_RESIDUAL_STATES] = {"used", "outside", "flagged", "unknown"};

void mc_residuals_init(struct mc_residuals *r, const struct mc_profile *p)
{
	memset(r, 0, sizeof *r);
	r->profile = p;
	r->groups = MC_OPS + 2 * (size_t)p->n_measured;
}

void mc_residuals_fini(struct mc_residuals *r)
{
	mc_vec_fini(r);
	free(r->first);
	r->first = NULL;
}

const struct mc_measured *mc_residuals_entry(const struct mc_residuals *r, size_t group)
{
	return group < MC_OPS ? NULL : &r->profile->measured[(group - MC_OPS) / 2];
}

char *mc_residuals_name(const struct mc_residuals *r, size_t group, char *text, size_t n)
{
	const struct mc_measured *m = mc_residuals_entry(r, group);

	if (m)
		snprintf(text, n, "%s of %s", (group - MC_OPS) % 2 ? "decode" : "prefill", m->key);
	else
		snprintf(text, n, "%s", mc_op_names[group]);
	return text;
}

double mc_residual_error(const struct mc_residual *r)
{
	return r->fitted_s / r->measured_s - 1;
}

char *mc_residual_text(const struct mc_residuals *all, const struct mc_residual *r, char *text, size_t n)
{
	const struct mc_sample *s = &r->sample;

	if (!mc_residuals_entry(all, r->group))
		return mc_op_dims_text(&r->point, text, n);
	if (s->decode)
		snprintf(text, n, "%" PRId64 " iterations of %" PRId64 " from context %" PRId64,
			 s->iterations, s->batch, s->total);
	else
		snprintf(text, n, "%" PRId64 " tokens, %" PRId64 " cached", s->total, s->cached);
	return text;
}

/* A whole layer or iteration by the sum of its operators; UNKNOWN: there is none. */
static enum mc_residual_state summed(const struct mc_compose *c, const struct mc_op_point *p, double *seconds)
{
	const int64_t *d = p->dim;
	struct mc_iteration i = {d[MC_DIM_ROWS], d[MC_DIM_CONTEXT], d[MC_DIM_SEQS], d[MC_DIM_SEQS]};
	struct mc_parts sum = {.n = 0};

	if (i.rows > TOKENS_MAX / i.seqs || i.context > TOKENS_MAX / i.seqs)
		return MC_RESIDUAL_UNKNOWN;
	if (p->op == MC_OP_LAYER ? mc_compose_layer(c, &i, &sum, NULL) : mc_compose_add(c, &i, &sum, NULL))
		return MC_RESIDUAL_UNKNOWN;
	*seconds = sum.seconds;
	for (int k = 0; k < sum.n; k++)
		if (sum.part[k].outside)
			return MC_RESIDUAL_OUTSIDE;
	return MC_RESIDUAL_USED;
}

/* Of the model that samples name; false: none, or none that the profile's operators make. */
static bool compose_of(struct mc_compose *c, const struct mc_residuals *r, const struct mc_opsamples *s)
{
	struct mc_shape shape;

	return s->model && r->profile->operators.n && !mc_shape_from_json(&shape, s->model, NULL, NULL) &&
	       !mc_compose_init(c, &r->profile->operators, &shape,
				s->tensor_parallel ? s->tensor_parallel : 1, NULL);
}

static enum mc_residual_state timed(const struct mc_residuals *r, const struct mc_op_point *p,
				    double *seconds)
{
	struct mc_op_time t;

	if (mc_op_is_net(p->op)) {
		struct mc_nettime net;

		mc_nettime_init(&net, r->profile);
		*seconds = mc_nettime_point_s(&net, p);
		return p->op == MC_OP_NET_BOTH || p->dim[MC_DIM_NICS] != net.nics ? MC_RESIDUAL_OUTSIDE
										  : MC_RESIDUAL_USED;
	}
	if (mc_op_time(&r->profile->operators, p, &t, NULL))
		return MC_RESIDUAL_UNKNOWN;
	*seconds = t.seconds;
	return t.covered && t.how == MC_HOW_CURVE ? MC_RESIDUAL_USED : MC_RESIDUAL_OUTSIDE;
}

void mc_residuals_add_operators(struct mc_residuals *r, const struct mc_opsamples *s, const char *path)
{
	struct mc_compose c;
	bool whole = compose_of(&c, r, s);

	for (size_t i = 0; i < s->n; i++) {
		const struct mc_opsample *x = &s->at[i];
		struct mc_residual one = {.group = (size_t)x->point.op,
					  .point = x->point,
					  .measured_s = x->seconds,
					  .file = path,
					  .line = x->line};

		if (mc_opsample_bare(x))
			continue;
		memcpy(one.flag, x->flag, sizeof one.flag);
		if (whole && (x->point.op == MC_OP_LAYER || x->point.op == MC_OP_STEP))
			one.state = summed(&c, &x->point, &one.fitted_s);
		else
			one.state = timed(r, &x->point, &one.fitted_s);
		if (*x->flag)
			one.state = MC_RESIDUAL_FLAGGED;
		mc_vec_push(r, one);
	}
}

/* The coefficients of an entry as those of a fit. */
static void fit_of(struct mc_fit *f, const struct mc_measured *m)
{
	memset(f, 0, sizeof *f);
	f->prefill[0] = m->prefill_a_s;
	f->prefill[1] = m->prefill_b_s;
	f->prefill[2] = m->prefill_c_s;
	f->prefill[3] = m->prefill_load_s;
	f->decode[0] = m->decode_base_s;
	f->decode[1] = m->decode_context_s;
}

static enum mc_residual_state state_of(const struct mc_measured *m, const struct mc_sample *s)
{
	if (s->batch > m->fit.batch_max)
		return MC_RESIDUAL_OUTSIDE;
	if (s->decode)
		return s->total + s->iterations - 1 <= m->fit.context_max ? MC_RESIDUAL_USED
									  : MC_RESIDUAL_OUTSIDE;
	return s->total <= m->fit.prompt_max ? MC_RESIDUAL_USED : MC_RESIDUAL_OUTSIDE;
}

int mc_residuals_add_samples(struct mc_residuals *r, const struct mc_samples *s, const char *path,
			     struct mc_err *err)
{
	const struct mc_measured *m = mc_cost_measured(r->profile, &s->shape);
	struct mc_fit f;

	if (!m || m->tensor_parallel != s->tensor_parallel) {
		mc_err_set(err, MC_USAGE,
			   "samples of %s over %" PRId64 " GPUs, of which profile %s has no measured entry",
			   s->shape.name, s->tensor_parallel, r->profile->name);
		return mc_err_at(err, path, 0, 0, NULL);
	}
	fit_of(&f, m);
	for (size_t i = 0; i < s->n; i++) {
		struct mc_residual one = {.state = state_of(m, &s->at[i]),
					  .group = MC_OPS + 2 * (size_t)(m - r->profile->measured) +
						   s->at[i].decode,
					  .sample = s->at[i],
					  .measured_s = s->at[i].seconds,
					  .fitted_s = mc_fit_predict_s(&f, &s->at[i]),
					  .file = path,
					  .line = s->at[i].line};

		mc_vec_push(r, one);
	}
	return MC_OK;
}

/* One point of a profile, as fit/profile_text.c writes them; others are left out. */
static void add_point(struct mc_residuals *r, size_t group, const json_t *o)
{
	struct mc_residual one = {.group = group, .file = r->profile->path};
	json_int_t iterations = json_integer_value(json_object_get(o, "iterations"));

	one.sample.decode = (group - MC_OPS) % 2;
	one.sample.batch = 1;
	one.sample.total = json_integer_value(json_object_get(o, "total"));
	one.sample.cached = json_integer_value(json_object_get(o, "cached"));
	one.sample.iterations = iterations > 0 ? iterations : 1;
	one.measured_s = json_number_value(json_object_get(o, "measured_s"));
	one.fitted_s = json_number_value(json_object_get(o, "fitted_s"));
	if (one.measured_s > 0 && one.fitted_s > 0 && one.sample.total > 0)
		mc_vec_push(r, one);
}

static void add_points(struct mc_residuals *r, const struct mc_measured *m)
{
	static const char *const kinds[] = {"prefill", "decode"};
	size_t group = MC_OPS + 2 * (size_t)(m - r->profile->measured);

	for (size_t i = 0; i < r->n; i++)
		if (mc_residuals_entry(r, r->at[i].group) == m)
			return;
	for (size_t k = 0; k < 2; k++) {
		const json_t *list = m->points ? json_object_get(m->points, kinds[k]) : NULL;

		for (size_t i = 0; i < json_array_size(list); i++)
			add_point(r, group + k, json_array_get(list, i));
	}
}

void mc_residuals_finish(struct mc_residuals *r)
{
	struct mc_residual *sorted;
	size_t *next;

	for (int64_t i = 0; i < r->profile->n_measured; i++)
		add_points(r, &r->profile->measured[i]);
	r->first = mc_xcalloc(r->groups + 2, sizeof *r->first);
	for (size_t i = 0; i < r->n; i++)
		r->first[r->at[i].group + 1]++;
	for (size_t g = 0; g < r->groups; g++)
		r->first[g + 1] += r->first[g];
	sorted = mc_xcalloc(r->n + 1, sizeof *sorted);
	next = mc_xcalloc(r->groups, sizeof *next);
	memcpy(next, r->first, r->groups * sizeof *next);
	for (size_t i = 0; i < r->n; i++)
		sorted[next[r->at[i].group]++] = r->at[i];
	free(next);
	free(r->at);
	r->at = sorted;
	r->cap = r->n + 1;
}

static void group_range(const struct mc_residuals *r, size_t group, size_t *from, size_t *to)
{
	*from = group < r->groups ? r->first[group] : 0;
	*to = group < r->groups ? r->first[group + 1] : r->n;
}

void mc_residuals_stats(const struct mc_residuals *r, size_t group, struct mc_residuals_stats *s)
{
	size_t from, to, n = 0;
	double *off;

	memset(s, 0, sizeof *s);
	group_range(r, group, &from, &to);
	off = mc_xcalloc(to - from + 1, sizeof *off);
	for (size_t i = from; i < to; i++) {
		s->count[r->at[i].state]++;
		if (r->at[i].state == MC_RESIDUAL_USED)
			off[n++] = mc_residual_error(&r->at[i]);
	}
	if (n) {
		mc_sort_f64(off, n);
		s->bias = off[mc_stat_rank(n, 50)];
		for (size_t i = 0; i < n; i++)
			off[i] = fabs(off[i]);
		mc_sort_f64(off, n);
		s->median = off[mc_stat_rank(n, 50)];
		s->p95 = off[mc_stat_rank(n, 95)];
		s->worst = off[n - 1];
	}
	free(off);
}

size_t mc_residuals_worst(const struct mc_residuals *r, size_t group, const struct mc_residual **list,
			  size_t n)
{
	size_t from, to, m = 0;

	group_range(r, group, &from, &to);
	for (size_t i = from; i < to; i++) {
		const struct mc_residual *x = &r->at[i];
		size_t k;

		if (x->state != MC_RESIDUAL_USED)
			continue;
		/* Of equals the first one stays ahead. */
		for (k = m; k && fabs(mc_residual_error(list[k - 1])) < fabs(mc_residual_error(x)); k--)
			if (k < n)
				list[k] = list[k - 1];
		if (k < n)
			list[k] = x;
		m += m < n;
	}
	return m;
}
