#include "hw/operators.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "hw/opsamples.h"

#define CURVES_MAX 10000
#define GAPS_MAX   1000

const char *const mc_left_outs[MC_LEFT_OUTS] = {"point", "second", "shape"};

/* An error inside of number i of a list. */
static int in_list(struct mc_err *err, const char *list, size_t i)
{
	char key[sizeof err->key];

	if (err) {
		snprintf(key, sizeof key, "%s[%zu]%s%.60s", list, i, err->key[0] ? "." : "", err->key);
		memcpy(err->key, key, sizeof key);
	}
	return MC_USAGE;
}

static int load_curves(struct mc_operators *o, const json_t *curves, struct mc_err *err)
{
	size_t n = json_array_size(curves);

	if (!n || n > CURVES_MAX)
		return mc_err_key(err, MC_USAGE, "curves", "is not a list of 1 to 10,000 curves");
	o->curve = mc_xcalloc(n, sizeof *o->curve);
	for (size_t i = 0; i < n; i++) {
		const json_t *c = json_array_get(curves, i);

		if (mc_curve_load(&o->curve[i], c, &o->limits, o->element_bytes, err))
			return in_list(err, "curves", i);
		o->n++;
		for (size_t j = 0; j < i; j++)
			if (!memcmp(&o->curve[j].fixed, &o->curve[i].fixed, sizeof o->curve[i].fixed)) {
				mc_err_set(err, MC_USAGE,
					   "has the operator and fixed dimensions of curves[%zu]", j);
				return in_list(err, "curves", i);
			}
	}
	return MC_OK;
}

static int load_gaps(struct mc_operators *o, const json_t *gaps, struct mc_err *err)
{
	size_t n = json_array_size(gaps);

	if (gaps && (!n || n > GAPS_MAX))
		return mc_err_key(err, MC_USAGE, "gaps", "is not a list of 1 to 1,000 models");
	o->gaps = n ? mc_xcalloc(n, sizeof *o->gaps) : NULL;
	for (size_t i = 0; i < n; i++) {
		if (mc_gaps_load(&o->gaps[i], json_array_get(gaps, i), err))
			return in_list(err, "gaps", i);
		o->n_gaps++;
	}
	return MC_OK;
}

static int load_held_out(struct mc_operators *o, const json_t *list, struct mc_err *err)
{
	for (size_t i = 0; i < json_array_size(list); i++) {
		const json_t *h = json_array_get(list, i), *error = json_object_get(h, "error");
		const char *op = json_string_value(json_object_get(h, "op"));
		const char *what = json_string_value(json_object_get(h, "left_out"));
		enum mc_op known = op ? mc_op_find(op) : MC_OPS;
		int k = 0;

		while (k < MC_LEFT_OUTS && (!what || strcmp(what, mc_left_outs[k])))
			k++;
		if (known == MC_OPS || k == MC_LEFT_OUTS || !error || json_object_size(h) != 3) {
			mc_err_set(err, MC_USAGE,
				   "is not {op, left_out, error} of an operator and point, second or shape");
			return in_list(err, "held_out", i);
		}
		if (mc_curve_error_load(&o->held_out[known][k], error, err))
			return in_list(err, "held_out", i);
	}
	if (list && !json_is_array(list))
		return mc_err_key(err, MC_USAGE, "held_out", "is not a list");
	return MC_OK;
}

static int load(struct mc_operators *o, const json_t *section, struct mc_err *err)
{
	const struct {
		const char *key;
		char **text;
	} texts[] = {{"device", &o->device},
		     {"dtype", &o->dtype},
		     {"date", &o->date},
		     {"source", &o->source},
		     {"software", &o->software}};
	const json_t *gaps = json_object_get(section, "gaps");
	const json_t *held_out = json_object_get(section, "held_out");
	size_t known = (json_object_get(section, "curves") != NULL) + (gaps != NULL) + (held_out != NULL);
	int rc;

	if (!json_is_object(section))
		return mc_err_key(err, MC_USAGE, "",
				  "is not an object of device, software, dtype, date, source and curves");
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		const json_t *v = json_object_get(section, texts[i].key);
		bool optional = texts[i].text == &o->software;

		known += v != NULL;
		if ((v && !json_is_string(v)) || (!optional && json_string_length(v) == 0))
			return mc_err_key(err, MC_USAGE, texts[i].key, "is missing, empty or no text");
		*texts[i].text = mc_xstrdup(v ? json_string_value(v) : "");
	}
	if (known != json_object_size(section))
		return mc_err_key(err, MC_USAGE, "",
				  "has an unknown key; expected device, software, dtype, date, source, "
				  "curves, gaps, held_out");
	o->element_bytes = (double)mc_opsamples_element_bytes(o->dtype);
	if (o->element_bytes == 0)
		return mc_err_key(err, MC_USAGE, "dtype", "is none of f32, bf16, f16");
	rc = load_curves(o, json_object_get(section, "curves"), err);
	if (!rc)
		rc = load_gaps(o, gaps, err);
	return rc ? rc : load_held_out(o, held_out, err);
}

int mc_operators_load(struct mc_operators *o, const json_t *section, const struct mc_op_limits *l,
		      struct mc_err *err)
{
	int rc;

	memset(o, 0, sizeof *o);
	o->limits = *l;
	rc = load(o, section, err);
	if (rc)
		mc_operators_fini(o);
	return rc;
}

void mc_operators_fini(struct mc_operators *o)
{
	for (size_t i = 0; i < o->n; i++)
		mc_curve_fini(&o->curve[i]);
	free(o->curve);
	for (size_t i = 0; i < o->n_gaps; i++)
		mc_gaps_fini(&o->gaps[i]);
	free(o->gaps);
	free(o->device);
	free(o->software);
	free(o->dtype);
	free(o->date);
	free(o->source);
	memset(o, 0, sizeof *o);
}

static void widen(struct mc_operators_summary *s, int d, double low, double high)
{
	if (s->curves == 1 || low < s->low[d])
		s->low[d] = low;
	if (s->curves == 1 || high > s->high[d])
		s->high[d] = high;
}

static void summary_add(struct mc_operators_summary *s, const struct mc_curve *c)
{
	const struct mc_curve_error *e = &c->error;

	s->curves++;
	for (int d = 0; d < MC_DIMS; d++)
		if (c->fixed.dim[d])
			widen(s, d, (double)c->fixed.dim[d], (double)c->fixed.dim[d]);
	for (int a = 0; a < c->axes; a++)
		widen(s, (int)c->dim[a], c->at[a][0], c->at[a][c->n[a] - 1]);
	s->points += e->points;
	s->median += (double)e->points * e->median;
	s->p95 += (double)e->points * e->p95;
	if (e->points && e->worst > s->worst)
		s->worst = e->worst;
}

void mc_operators_summary(const struct mc_operators *o, enum mc_op op, struct mc_operators_summary *out)
{
	const struct mc_curve_error *all = &o->held_out[op][MC_LEFT_POINT];

	memset(out, 0, sizeof *out);
	for (size_t i = 0; i < o->n; i++)
		if (o->curve[i].fixed.op == op)
			summary_add(out, &o->curve[i]);
	if (out->points) {
		out->median /= (double)out->points;
		out->p95 /= (double)out->points;
	}
	if (all->points) {
		out->points = all->points;
		out->median = all->median;
		out->p95 = all->p95;
		out->worst = all->worst;
	}
}
