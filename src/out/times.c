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
