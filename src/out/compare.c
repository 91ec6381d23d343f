#include "out/compare.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cluster/metrics.h"
#include "out/json.h"
#include "out/report.h"
#include "out/textfmt.h"

const char *const mc_paired_keys[MC_PAIRED] = {"ttft_s", "tbt_s", "e2e_s"};

void mc_comparison_pair(struct mc_comparison *c, const struct mc_latencies *a, const struct mc_latencies *b)
{
	size_t n = a->n < b->n ? a->n : b->n;
	double *x = mc_xcalloc(n + 1, sizeof *x), *y = mc_xcalloc(n + 1, sizeof *y);

	for (int k = 0; k < MC_PAIRED; k++) {
		struct mc_paired *p = &c->pair[k];
		size_t m = 0;

		*p = (struct mc_paired){0};
		for (size_t i = 0; i < n; i++) {
			if (isnan(a->v[k][i]) || isnan(b->v[k][i]))
				continue;
			x[m] = a->v[k][i];
			y[m] = b->v[k][i];
			p->better += y[m] < x[m];
			p->worse += y[m] > x[m];
			p->equal += y[m] == x[m];
			m++;
		}
		mc_ci_paired(y, x, m, 0.95, &p->difference);
	}
	c->paired = true;
	free(x);
	free(y);
}

static void settings_walk(json_t *all, const char *prefix, const json_t *v, size_t column, size_t n)
{
	const char *key;
	json_t *child, *values;

	if (json_is_object(v) && strcmp(prefix, "model")) {
		json_object_foreach((json_t *)v, key, child)
		{
			char path[128];

			snprintf(path, sizeof path, "%s%s%s", prefix, *prefix ? "." : "", key);
			settings_walk(all, path, child, column, n);
		}
		return;
	}
	values = json_object_get(all, prefix);
	if (!values) {
		values = json_array();
		for (size_t i = 0; i < n; i++)
			json_array_append_new(values, json_null());
		json_object_set_new(all, prefix, values);
	}
	json_array_set(values, column, (json_t *)v);
}

json_t *mc_comparison_settings(const struct mc_comparison *c)
{
	json_t *all = json_object(), *differ = json_object(), *values;
	const char *key;

	for (size_t i = 0; i < c->n; i++)
		settings_walk(all, "", json_object_get(c->column[i].result, "scenario"), i, c->n);
	json_object_foreach(all, key, values)
	{
		bool same = true;

		for (size_t i = 1; i < c->n; i++)
			same &= json_equal(json_array_get(values, 0), json_array_get(values, i));
		if (!same)
			json_object_set(differ, key, values);
	}
	json_decref(all);
	return differ;
}

/* A value in one of at most n columns: NaN when that result lacks the key. */
static double value(const struct mc_comparison *c, size_t column, const char *key)
{
	const struct mc_flat *f = mc_flat_find(&c->column[column].flat, key);

	return f ? f->value : NAN;
}

static void cell(struct mc_text_table *t, double v, const char *format)
{
	if (isfinite(v))
		mc_text_cell(t, format, v);
	else
		mc_text_cell(t, "-");
}

static void differing(FILE *out, const struct mc_comparison *c)
{
	json_t *differ = mc_comparison_settings(c), *values;
	struct mc_text_table *t = mc_text_table_new(1 + (int)c->n, 1);
	const char *key;

	json_object_foreach(differ, key, values)
	{
		mc_text_cell(t, "  %s", key);
		for (size_t i = 0; i < c->n; i++) {
			char *text =
			    json_dumps(json_array_get(values, i), JSON_ENCODE_ANY | JSON_REAL_PRECISION(12));

			mc_text_cell(t, "%s", text);
			free(text);
		}
	}
	fprintf(out, json_object_size(differ) ? "settings that differ:\n" : "all settings are the same\n");
	mc_text_table_write(t, out);
	mc_text_table_free(t);
	json_decref(differ);
}

static void two_metrics(FILE *out, const struct mc_comparison *c)
{
	static const char *const head[] = {"metric", "A", "B", "B - A", "B / A", "unit", ""};
	struct mc_text_table *t = mc_text_table_new(7, 1 | 1 << 5 | 1 << 6);

	for (size_t i = 0; i < sizeof head / sizeof *head; i++)
		mc_text_cell(t, "%s", head[i]);
	for (size_t k = 0; k < c->column[0].flat.n; k++) {
		const char *key = c->column[0].flat.at[k].key;
		const char *plain = c->column[0].flat.at[k].whole ? "%.0f" : "%.6g";
		enum mc_better better = mc_flat_better(key);
		double a = value(c, 0, key), b = value(c, 1, key);
		bool same = !(a < b) && !(a > b);

		mc_text_cell(t, "%s", key);
		cell(t, a, plain);
		cell(t, b, plain);
		cell(t, b - a, "%+.4g");
		cell(t, a != 0 ? b / a : NAN, "%.4f");
		mc_text_cell(t, "%s", mc_metric_unit(key));
		if (same || better == MC_BETTER_NEITHER)
			mc_text_cell(t, "%s", "");
		else
			mc_text_cell(t, "%s", (better == MC_BETTER_LOW) == (b < a) ? "better" : "worse");
	}
	mc_text_table_write(t, out);
	mc_text_table_free(t);
}

static void pairs_text(FILE *out, const struct mc_comparison *c)
{
	struct mc_text_table *t = mc_text_table_new(7, 1 | 1 << 6);
	static const char *const head[] = {
	    "paired by request", "B - A mean", "+- 95 %", "better", "worse", "equal", "unit"};
	char n[MC_GROUPED];

	if (!c->paired) {
		fprintf(out, "\nnot paired by request: %s\n", c->unpaired);
		mc_text_table_free(t);
		return;
	}
	putc('\n', out);
	for (size_t i = 0; i < sizeof head / sizeof *head; i++)
		mc_text_cell(t, "%s", head[i]);
	for (int k = 0; k < MC_PAIRED; k++) {
		const struct mc_paired *p = &c->pair[k];

		mc_text_cell(t, "%s", mc_paired_keys[k]);
		cell(t, p->difference.n ? p->difference.mean : NAN, "%+.6g");
		cell(t, p->difference.half, "%.3g");
		mc_text_cell(t, "%s", mc_text_grouped(p->better, n));
		mc_text_cell(t, "%s", mc_text_grouped(p->worse, n));
		mc_text_cell(t, "%s", mc_text_grouped(p->equal, n));
		mc_text_cell(t, "s");
	}
	mc_text_table_write(t, out);
	mc_text_table_free(t);
}

static void csv(FILE *out, const struct mc_comparison *c)
{
	fputs("key", out);
	for (size_t i = 0; i < c->n; i++)
		fprintf(out, ",%s", c->column[i].name);
	fputs(c->n == 2 ? ",difference,ratio,unit\n" : ",unit\n", out);
	for (size_t k = 0; k < c->column[0].flat.n; k++) {
		const char *key = c->column[0].flat.at[k].key;

		fputs(key, out);
		for (size_t i = 0; i < c->n; i++)
			fprintf(out, isnan(value(c, i, key)) ? "," : ",%.12g", value(c, i, key));
		if (c->n == 2) {
			double a = value(c, 0, key), b = value(c, 1, key);

			fprintf(out, isfinite(b - a) ? ",%.12g" : ",", b - a);
			fprintf(out, isfinite(b / a) ? ",%.12g" : ",", b / a);
		}
		fprintf(out, ",%s\n", mc_metric_unit(key));
	}
}

static void pairs_json(json_t *doc, const struct mc_comparison *c)
{
	json_t *all = mc_json_object(doc, "paired");

	for (int k = 0; k < MC_PAIRED; k++) {
		const struct mc_paired *p = &c->pair[k];
		json_t *o = mc_json_object(all, mc_paired_keys[k]);

		mc_json_int(o, "requests", (int64_t)p->difference.n);
		mc_json_real(o, "difference_mean", p->difference.mean);
		mc_json_real(o, "difference_ci95_half", p->difference.half);
		mc_json_int(o, "better", p->better);
		mc_json_int(o, "worse", p->worse);
		mc_json_int(o, "equal", p->equal);
	}
}

static void json(FILE *out, const struct mc_comparison *c)
{
	json_t *doc = json_object(), *columns = json_array();

	mc_json_text(doc, "schema", MC_RESULT_SCHEMA);
	mc_json_text(doc, "kind", "mooncake-comparison");
	json_object_set_new(doc, "across", c->across ? json_string(c->across) : json_null());
	for (size_t i = 0; i < c->n; i++) {
		const struct mc_column *col = &c->column[i];
		json_t *o = json_object(), *metrics;

		mc_json_text(o, "name", col->name);
		json_object_set(o, "trace", json_object_get(col->result, "trace"));
		metrics = mc_json_object(o, "metrics");
		for (size_t k = 0; k < col->flat.n; k++) {
			const struct mc_flat *f = &col->flat.at[k];

			if (f->whole)
				mc_json_int(metrics, f->key, (int64_t)f->value);
			else
				mc_json_real(metrics, f->key, f->value);
		}
		json_object_set(o, "bottleneck", json_object_get(col->result, "bottleneck"));
		json_array_append_new(columns, o);
	}
	json_object_set_new(doc, "columns", columns);
	json_object_set_new(doc, "settings", mc_comparison_settings(c));
	if (c->paired)
		pairs_json(doc, c);
	else
		json_object_set_new(doc, "paired", json_null());
	mc_report_dump(out, doc);
	json_decref(doc);
}

void mc_comparison_write(FILE *out, const char *format, const struct mc_comparison *c)
{
	if (!strcmp(format, "json")) {
		json(out, c);
	} else if (!strcmp(format, "csv")) {
		csv(out, c);
	} else if (c->n != 2 || c->across) {
		mc_comparison_columns(out, c);
	} else {
		fprintf(out, "A: %s\nB: %s\n", c->column[0].name, c->column[1].name);
		differing(out, c);
		putc('\n', out);
		two_metrics(out, c);
		pairs_text(out, c);
	}
}
