#include "out/times.h"

#include "out/json.h"
#include "out/textfmt.h"

/* Operators whose errors a run's times depend on most. */
static const enum mc_op weighty[] = {MC_OP_GEMM, MC_OP_ATTENTION_PREFILL, MC_OP_ATTENTION_DECODE,
				     MC_OP_ALL_REDUCE};

#define WEIGHTY (sizeof weighty / sizeof *weighty)

/* Is it of a run on these operators, and known on points that the fit did not see? */
static bool error_of(const struct mc_report *report, size_t i, struct mc_operators_summary *s)
{
	mc_operators_summary(&report->hardware->operators, weighty[i], s);
	return s->points && (weighty[i] != MC_OP_ALL_REDUCE || report->hardware->gpus > 1);
}

static void operators_text(FILE *out, const struct mc_report *report)
{
	const struct mc_operators *o = &report->hardware->operators;
	struct mc_operators_summary s;
	const char *lead = "held-out error, median/p95:";
	char n[MC_GROUPED];

	fprintf(out, "%-11s operators of %s: %s, %s, %s; tensor parallel %lld", "times", report->profile,
		o->device, o->dtype, o->date, (long long)report->hardware->gpus);
	if (report->cost->chunk < MC_COST_WHOLE)
		fprintf(out, ", chunks of %s", mc_text_grouped(report->cost->chunk, n));
	for (size_t i = 0; i < WEIGHTY; i++) {
		if (!error_of(report, i, &s))
			continue;
		if (*lead)
			fprintf(out, "\n%-11s %s", "", lead);
		fprintf(out, "%s %s %.1f/%.1f %%", *lead ? "" : ",", mc_op_names[weighty[i]], 100 * s.median,
			100 * s.p95);
		lead = "";
	}
	putc('\n', out);
}

void mc_times_text(FILE *out, const struct mc_report *report)
{
	const struct mc_cost *c = report->cost;

	if (!c || c->times == MC_TIMES_MEASURED)
		return;
	if (c->times == MC_TIMES_OPERATORS)
		operators_text(out, report);
	else if (c->no_operators[0])
		fprintf(out, "%-11s analytic; operators of %s are not enough: %s\n", "times", report->profile,
			c->no_operators);
}

static void operators_json(json_t *x, const struct mc_report *report)
{
	const struct mc_operators *o = &report->hardware->operators;
	json_t *errors;

	mc_json_int(x, "tensor_parallel", report->hardware->gpus);
	if (report->cost->chunk < MC_COST_WHOLE)
		mc_json_int(x, "chunk_tokens", report->cost->chunk);
	mc_json_text(x, "device", o->device);
	mc_json_text(x, "software", o->software);
	mc_json_text(x, "dtype", o->dtype);
	mc_json_text(x, "date", o->date);
	mc_json_text(x, "source", o->source);
	errors = mc_json_object(x, "held_out_error");
	for (size_t i = 0; i < WEIGHTY; i++) {
		struct mc_operators_summary s;
		json_t *e;

		if (!error_of(report, i, &s))
			continue;
		e = mc_json_object(errors, mc_op_names[weighty[i]]);
		mc_json_int(e, "points", s.points);
		mc_json_real(e, "median", s.median);
		mc_json_real(e, "p95", s.p95);
		mc_json_real(e, "worst", s.worst);
	}
}

void mc_times_json(json_t *result, const struct mc_report *report)
{
	const struct mc_cost *c = report->cost;
	json_t *x;

	if (!c)
		return;
	x = mc_json_object(result, "times");
	mc_json_text(x, "from", mc_times_names[c->times]);
	if (c->times == MC_TIMES_OPERATORS)
		operators_json(x, report);
	else if (c->no_operators[0])
		mc_json_text(x, "no_operators", c->no_operators);
}

/* A share in percent; something never reads as nothing. */
static const char *share(int64_t part, int64_t all, char text[16])
{
	double percent = 100 * (double)part / (double)all;

	snprintf(text, 16, percent < 0.1 ? "< 0.1" : "%.1f", percent);
	return text;
}

void mc_times_ranges_text(FILE *out, const struct mc_report *report)
{
	char low[MC_GROUPED], high[MC_GROUPED], most[MC_GROUPED], passes[MC_GROUPED], text[16];

	for (int i = 0; i < report->metrics->n_ranges; i++) {
		const struct mc_range_count *k = &report->metrics->range[i];
		const struct mc_op_range *r = &k->range;

		if (!k->below && !k->above)
			continue;
		fprintf(out, "note: %s measured at %s %s to %s;", mc_op_names[r->op], mc_dim_names[r->dim],
			mc_text_grouped((int64_t)r->low, low), mc_text_grouped((int64_t)r->high, high));
		if (k->above)
			fprintf(out, " beyond in %s %% (to %s)", share(k->above, k->passes, text),
				mc_text_grouped((int64_t)k->most, most));
		if (k->below)
			fprintf(out, "%s below in %s %%", k->above ? "," : "",
				share(k->below, k->passes, text));
		fprintf(out, " of %s %s\n", mc_text_grouped(k->passes, passes),
			r->op == MC_OP_ATTENTION_PREFILL  ? "prefill chunks"
			: r->op == MC_OP_ATTENTION_DECODE ? "decode iterations"
							  : "prefill chunks and decode iterations");
	}
}

json_t *mc_times_ranges_json(const struct mc_metrics *m)
{
	json_t *all = json_array();

	for (int i = 0; i < m->n_ranges; i++) {
		const struct mc_range_count *k = &m->range[i];
		json_t *x = json_object();

		mc_json_text(x, "operator", mc_op_names[k->range.op]);
		mc_json_text(x, "dimension", mc_dim_names[k->range.dim]);
		mc_json_real(x, "low", k->range.low);
		mc_json_real(x, "high", k->range.high);
		mc_json_int(x, "passes", k->passes);
		mc_json_int(x, "below", k->below);
		mc_json_int(x, "above", k->above);
		mc_json_real(x, "most", k->most);
		json_array_append_new(all, x);
	}
	return all;
}
