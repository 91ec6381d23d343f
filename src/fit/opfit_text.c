/* Fitted curves as the "operators" section of a profile. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fit/opfit.h"
#include "fit/text.h"

/* A curve's times are held against the hardware's bound to five digits. */
#define TIME_DIGITS 6

static json_t *times(const struct mc_curve *c)
{
	json_t *list = json_array();

	for (size_t i = 0; i < mc_curve_knots(c); i++) {
		struct mc_op_point p = mc_curve_knot(c, i);
		double work_s = c->over_work ? mc_op_work_s(&p, &c->limits, c->element_bytes) : 1;

		json_array_append_new(list, mc_fit_number(exp(c->log_s[i]) * work_s, TIME_DIGITS));
	}
	return list;
}

json_t *mc_opfit_error(const struct mc_curve_error *e)
{
	return json_pack("{s:I, s:o, s:o, s:o, s:s}", "points", (json_int_t)e->points, "median",
			 mc_fit_number(e->median, 3), "p95", mc_fit_number(e->p95, 3), "worst",
			 mc_fit_number(e->worst, 3), "worst_at", e->worst_at);
}

static json_t *curve(const struct mc_opfit_curve *f)
{
	const struct mc_curve *c = &f->curve;
	json_t *fixed = json_object(), *axes = json_array(), *o;

	for (int d = 0; d < MC_DIMS; d++)
		if (c->fixed.dim[d])
			json_object_set_new(fixed, mc_dim_names[d],
					    json_integer((json_int_t)c->fixed.dim[d]));
	for (int a = 0; a < c->axes; a++) {
		json_t *at = json_array();

		for (size_t i = 0; i < c->n[a]; i++)
			json_array_append_new(at, json_integer((json_int_t)c->at[a][i]));
		json_array_append_new(axes,
				      json_pack("{s:s, s:o}", "dim", mc_dim_names[c->dim[a]], "at", at));
	}
	o = json_pack("{s:s, s:o, s:o, s:o, s:s}", "op", mc_op_names[c->fixed.op], "fixed", fixed, "axes",
		      axes, "seconds", times(c), "between", c->over_work ? "work" : "seconds");
	if (c->error.points)
		json_object_set_new(o, "error", mc_opfit_error(&c->error));
	json_object_set_new(o, "source",
			    f->filled
				? json_sprintf("%zu points, %zu outliers left out; %zu knots that "
					       "nobody measured, from those around them",
					       f->points, f->outliers, f->filled)
				: json_sprintf("%zu points, %zu outliers left out", f->points, f->outliers));
	return o;
}

static json_t *held_out(const struct mc_opfit *f)
{
	json_t *list = json_array();

	for (int op = 0; op < MC_OPS; op++)
		for (int k = 0; k < MC_LEFT_OUTS; k++)
			if (f->total[op].left_out[k].points)
				json_array_append_new(list,
						      json_pack("{s:s, s:s, s:o}", "op", mc_op_names[op],
								"left_out", mc_left_outs[k], "error",
								mc_opfit_error(&f->total[op].left_out[k])));
	return list;
}

json_t *mc_opfit_section(const struct mc_opfit *f)
{
	json_t *o = json_object(), *curves = json_array(), *gaps;

	for (size_t i = 0; i < f->n; i++)
		json_array_append_new(curves, curve(&f->at[i]));
	json_object_set_new(o, "device", json_string(*f->device ? f->device : "not said"));
	json_object_set_new(o, "software", json_string(f->software));
	json_object_set_new(o, "dtype", json_string(f->dtype));
	json_object_set_new(o, "date", json_string(*f->date ? f->date : "not said"));
	json_object_set_new(o, "source", json_string(*f->source ? f->source : "not said"));
	json_object_set_new(o, "curves", curves);
	json_object_set_new(o, "held_out", held_out(f));
	gaps = mc_opgaps_list(&f->gaps);
	if (gaps)
		json_object_set_new(o, "gaps", gaps);
	return o;
}

char *mc_opfit_profile_text(const struct mc_opfit *f, const json_t *hardware, const char *name,
			    const char *date)
{
	json_t *o = mc_fit_profile_object(hardware, name, date ? date : f->date,
					  "hardware as stated there; operators by 'mooncake fit'");
	json_t *measured = json_object_get(hardware, "measured");
	char *text;

	if (measured)
		json_object_set(o, "measured", measured);
	json_object_set_new(o, "operators", mc_opfit_section(f));
	text = mc_fit_json_text(o);
	json_decref(o);
	return text;
}
