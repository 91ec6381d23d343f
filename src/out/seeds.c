#include "out/seeds.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cluster/metrics.h"
#include "out/json.h"
#include "out/report.h"
#include "out/textfmt.h"
#include "stat/ci.h"

struct line {
	const char *key;
	struct mc_ci ci;
	double min, max;
};

static struct line line(const struct mc_seeds *seeds, size_t k, double *values)
{
	struct line l = {.key = seeds->run[0].at[k].key, .min = INFINITY, .max = -INFINITY};

	for (int64_t i = 0; i < seeds->n; i++) {
		const struct mc_flat *f = mc_flat_find(&seeds->run[i], l.key);

		values[i] = f ? f->value : NAN;
		l.min = fmin(l.min, values[i]);
		l.max = fmax(l.max, values[i]);
	}
	mc_ci_mean(values, (size_t)seeds->n, 0.95, &l.ci);
	return l;
}

static void text(FILE *out, const struct mc_seeds *seeds, double *values)
{
	struct mc_text_table *t = mc_text_table_new(6, 1 | 1 << 5);

	fprintf(out, "%s, seeds %" PRId64 " to %" PRId64 ": mean and 95 %% confidence interval\n",
		json_string_value(json_object_get(seeds->result, "name")), seeds->first,
		seeds->first + seeds->n - 1);
	if (!seeds->random)
		fprintf(out, "nothing is random in this scenario: all seeds give the same\n");
	if (seeds->incomplete)
		fprintf(out, "INCOMPLETE: interrupted before all seeds were done\n");
	putc('\n', out);
	mc_text_cell(t, "metric");
	mc_text_cell(t, "mean");
	mc_text_cell(t, "+- 95 %%");
	mc_text_cell(t, "min");
	mc_text_cell(t, "max");
	mc_text_cell(t, "unit");
	for (size_t k = 0; k < seeds->run[0].n; k++) {
		struct line l = line(seeds, k, values);

		mc_text_cell(t, "%s", l.key);
		mc_text_cell(t, "%.6g", l.ci.mean);
		if (isfinite(l.ci.half))
			mc_text_cell(t, "%.3g", l.ci.half);
		else
			mc_text_cell(t, "-");
		mc_text_cell(t, "%.6g", l.min);
		mc_text_cell(t, "%.6g", l.max);
		mc_text_cell(t, "%s", mc_metric_unit(l.key));
	}
	mc_text_table_write(t, out);
	mc_text_table_free(t);
}

static void csv(FILE *out, const struct mc_seeds *seeds, double *values)
{
	fputs("key,mean,ci95_half,min,max,n,unit\n", out);
	for (size_t k = 0; k < seeds->run[0].n; k++) {
		struct line l = line(seeds, k, values);

		fprintf(out, "%s,%.12g,", l.key, l.ci.mean);
		if (isfinite(l.ci.half))
			fprintf(out, "%.12g", l.ci.half);
		fprintf(out, ",%.12g,%.12g,%" PRId64 ",%s\n", l.min, l.max, seeds->n, mc_metric_unit(l.key));
	}
}

static void json(FILE *out, const struct mc_seeds *seeds, double *values)
{
	static const char *const same[] = {"version", "name", "trace", "scenario"};
	json_t *doc = json_object(), *all = json_array(), *metrics, *x;

	mc_json_text(doc, "schema", MC_RESULT_SCHEMA);
	mc_json_text(doc, "kind", "mooncake-seeds");
	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		json_object_set(doc, same[i], json_object_get(seeds->result, same[i]));
	for (int64_t i = 0; i < seeds->n; i++)
		json_array_append_new(all, json_integer(seeds->first + i));
	json_object_set_new(doc, "seeds", all);
	json_object_set_new(doc, "random", json_boolean(seeds->random));
	json_object_set_new(doc, "incomplete", json_boolean(seeds->incomplete));
	metrics = mc_json_object(doc, "metrics");
	for (size_t k = 0; k < seeds->run[0].n; k++) {
		struct line l = line(seeds, k, values);

		x = mc_json_object(metrics, l.key);
		mc_json_real(x, "mean", l.ci.mean);
		mc_json_real(x, "ci95_half", l.ci.half);
		mc_json_real(x, "min", l.min);
		mc_json_real(x, "max", l.max);
		all = json_array();
		for (int64_t i = 0; i < seeds->n; i++)
			json_array_append_new(all, isfinite(values[i]) ? json_real(values[i]) : json_null());
		json_object_set_new(x, "values", all);
	}
	mc_report_dump(out, doc);
	json_decref(doc);
}

void mc_seeds_write(FILE *out, const char *format, const struct mc_seeds *seeds)
{
	double *values = mc_xcalloc((size_t)seeds->n, sizeof *values);

	if (!strcmp(format, "json"))
		json(out, seeds, values);
	else if (!strcmp(format, "csv"))
		csv(out, seeds, values);
	else
		text(out, seeds, values);
	free(values);
}
