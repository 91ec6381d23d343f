/* A fit as the text of a profile. */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "fit/fit.h"
#include "fit/text.h"

#define WIDTH 132
#define REALS JSON_REAL_PRECISION(9) /* values have at most 7 digits, so they print as they are */

static const char method[] =
    "weighted least squares with weights 1/seconds^2 and non-negative coefficients, written by 'mooncake "
    "fit': "
    "prefill seconds = a + b (n - p) + c (n^2 - p^2) + load p, for n tokens of which p are cached; decode "
    "iteration seconds = base + context tokens * s_per_context_token, batch 1";
static const char batch_growth[] = "not measured: from operation counts. An iteration of batch B costs "
				   "max(0, B * b - floor) more than one of "
				   "batch 1, where b is prefill.b_s_per_token (the operations that prefill "
				   "achieves) and floor is the weights "
				   "over the memory bandwidth that s_per_context_token shows";
json_t *mc_fit_number(double v, int digits)
{
	char text[40];

	snprintf(text, sizeof text, "%.*g", digits, v);
	return json_real(strtod(text, NULL));
}

static json_t *range(const struct mc_range *r)
{
	return json_pack("{s:I, s:I, s:I}", "prompt_max", (json_int_t)r->prompt_max, "context_max",
			 (json_int_t)r->context_max, "batch_max", (json_int_t)r->batch_max);
}

/* What every shape has, and what this one has beyond it. */
static json_t *shape_object(const struct mc_shape *s)
{
	json_t *o = json_object();

	for (const struct mc_shape_key *k = mc_shape_keys; k->key; k++) {
		int64_t v;

		memcpy(&v, (const char *)s + k->offset, sizeof v);
		if (k->required || v)
			json_object_set_new(o, k->key, json_integer(v));
	}
	return o;
}

static json_t *points(const struct mc_fit *f, const struct mc_samples *s, bool decode)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->n; i++) {
		const struct mc_sample *p = &s->at[i];
		double fitted = mc_fit_predict_s(f, p);

		if (p->decode != decode)
			continue;
		json_array_append_new(list, json_pack("{s:I, s:I, s:I, s:o, s:o, s:o}", "total",
						      (json_int_t)p->total, "cached", (json_int_t)p->cached,
						      "iterations", (json_int_t)p->iterations, "measured_s",
						      mc_fit_number(p->seconds, 7), "fitted_s",
						      mc_fit_number(fitted, 5), "error_percent",
						      mc_fit_number(100 * (fitted / p->seconds - 1), 3)));
	}
	return list;
}

static json_t *trusted(const struct mc_fit *f)
{
	json_t *o = range(&f->trusted);
	double n = (double)f->fitted.prompt_max;
	double attention = f->prefill[2] * n * n;
	double rest = f->prefill[0] + f->prefill[1] * n;

	json_object_set_new(
	    o, "reason",
	    json_sprintf(
		"prompt and context: up to 8 times the fitted ones, within VRAM: the operations behind b, c "
		"and the context term are counted exactly at any length, and attention is already %.0f %% "
		"of the longest prefill. batch: up to %lld, the fewest new tokens of a prefill sample: a "
		"dense layer does the same work for B sequences as for B new tokens, so both ends of the "
		"range were measured",
		100 * attention / (attention + rest), (long long)f->new_tokens_min));
	return o;
}

static json_t *entry(const struct mc_fit *f, const struct mc_samples *s)
{
	json_t *o = json_object();

	json_object_set_new(o, "model", json_string(s->shape.name));
	json_object_set_new(o, "tensor_parallel", json_integer(s->tensor_parallel));
	json_object_set_new(o, "source", json_string(s->source));
	json_object_set_new(o, "date", json_string(s->date));
	json_object_set_new(o, "method", json_string(method));
	json_object_set_new(o, "shape", shape_object(&s->shape));
	json_object_set_new(o, "prefill",
			    json_pack("{s:f, s:f, s:f, s:f}", "a_s", f->prefill[0], "b_s_per_token",
				      f->prefill[1], "c_s_per_token2", f->prefill[2], "load_s_per_token",
				      f->prefill[3]));
	json_object_set_new(
	    o, "decode",
	    json_pack("{s:f, s:f}", "base_s", f->decode[0], "s_per_context_token", f->decode[1]));
	json_object_set_new(o, "error",
			    json_pack("{s:o, s:o}", "prefill_max_ratio",
				      mc_fit_number(f->prefill_error_ratio, 4), "decode_max_ratio",
				      mc_fit_number(f->decode_error_ratio, 4)));
	json_object_set_new(o, "fitted", range(&f->fitted));
	json_object_set_new(o, "trusted", trusted(f));
	json_object_set_new(o, "batch_growth", json_string(batch_growth));
	json_object_set_new(
	    o, "points",
	    json_pack("{s:o, s:o}", "prefill", points(f, s, false), "decode", points(f, s, true)));
	return o;
}

/* One line where it fits, else a line a member: points read as a table, and a diff shows what changed. */
static void print(struct mc_str *out, json_t *v, size_t depth)
{
	char *line = json_dumps(v, JSON_ENCODE_ANY | JSON_ENSURE_ASCII | REALS);
	const char *key, *sep = "";
	json_t *m;
	size_t i;

	if (depth && (!(json_is_object(v) || json_is_array(v)) || strlen(line) + 2 * depth < WIDTH)) {
		mc_str_printf(out, "%s", line);
	} else if (json_is_array(v)) {
		mc_str_printf(out, "[");
		json_array_foreach(v, i, m)
		{
			mc_str_printf(out, "%s\n%*s", sep, (int)(2 * depth + 2), "");
			print(out, m, depth + 1);
			sep = ",";
		}
		mc_str_printf(out, "\n%*s]", (int)(2 * depth), "");
	} else {
		mc_str_printf(out, "{");
		json_object_foreach(v, key, m)
		{
			mc_str_printf(out, "%s\n%*s\"%s\": ", sep, (int)(2 * depth + 2), "", key);
			print(out, m, depth + 1);
			sep = ",";
		}
		mc_str_printf(out, "\n%*s}", (int)(2 * depth), "");
	}
	free(line);
}

char *mc_fit_json_text(json_t *o)
{
	struct mc_str out = {0};

	print(&out, o, 0);
	mc_str_printf(&out, "\n");
	return out.at;
}

json_t *mc_fit_profile_object(const json_t *hardware, const char *name, const char *date, const char *source)
{
	json_t *o = json_object();

	json_object_set_new(o, "schema", json_string("1.0"));
	json_object_set_new(o, "name", json_string(name));
	json_object_set_new(o, "date", json_string(date));
	json_object_set_new(o, "source", json_string(source));
	json_object_set(o, "hardware", json_object_get(hardware, "hardware"));
	json_object_set(o, "analytic", json_object_get(hardware, "analytic"));
	return o;
}

char *mc_fit_profile_text(const struct mc_fit *f, const struct mc_samples *s, const json_t *hardware,
			  const char *name, const char *date)
{
	json_t *o = mc_fit_profile_object(hardware, name, date ? date : s->date,
					  "hardware as stated there; measured part by 'mooncake fit'");
	json_t *measured = json_object();
	char key[96], *text;

	snprintf(key, sizeof key, "%s-tp%lld", s->shape.name, (long long)s->tensor_parallel);
	json_object_update(measured, json_object_get(hardware, "measured"));
	json_object_set_new(measured, key, entry(f, s));
	json_object_set_new(o, "measured", measured);
	if (json_object_get(hardware, "operators"))
		json_object_set(o, "operators", json_object_get(hardware, "operators"));
	text = mc_fit_json_text(o);
	json_decref(o);
	return text;
}
