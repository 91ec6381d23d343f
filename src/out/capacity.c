#include "out/capacity.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "out/json.h"
#include "out/report.h"
#include "out/textfmt.h"

static const char *relation(const struct mc_capacity *c)
{
	return c->at_most ? "at most" : "at least";
}

static void cell(struct mc_text_table *t, double v, const char *format)
{
	if (isfinite(v))
		mc_text_cell(t, format, v);
	else
		mc_text_cell(t, "-");
}

/* Which columns there is something for. */
struct shown {
	bool ci, ratio;
};

/* The answer; where not all searches have one, what is known. */
static void line(struct mc_text_table *t, const struct mc_capacity *c, size_t i, const struct shown *shown)
{
	const struct mc_capacity_side *s = &c->side[i];
	struct mc_capacity_summary m;
	double pass, fail;

	mc_capacity_summarize(c, i, &m);
	pass = m.pass.n ? m.pass.mean : m.highest_pass > 0 ? m.highest_pass : NAN;
	fail = m.pass.n ? m.fail : m.lowest_fail;
	mc_text_cell(t, "%s", s->name);
	cell(t, pass, "%.4g");
	cell(t, fail, "%.4g");
	if (shown->ci)
		cell(t, m.pass.n ? m.pass.half : NAN, "%.2g");
	cell(t, pass * s->arrivals_per_s, "%.3f");
	if (shown->ratio)
		cell(t, m.ratio.n ? m.ratio.mean : NAN, "%.3f");
	if (shown->ratio && shown->ci)
		cell(t, m.ratio.n ? m.ratio.half : NAN, "%.2g");
}

static void table(FILE *out, const struct mc_capacity *c)
{
	struct shown shown = {.ratio = c->n > 1};
	struct mc_text_table *t;

	for (size_t i = 0; i < c->n; i++)
		shown.ci |= c->side[i].n > 1;
	t = mc_text_table_new(4 + shown.ci + shown.ratio + (shown.ci && shown.ratio), 1);
	mc_text_cell(t, "%s", c->across ? c->across : "trace.rate");
	mc_text_cell(t, "holds at");
	mc_text_cell(t, "fails at");
	if (shown.ci)
		mc_text_cell(t, "+- 95 %%");
	mc_text_cell(t, "arrivals/s");
	if (shown.ratio)
		mc_text_cell(t, "ratio");
	if (shown.ratio && shown.ci)
		mc_text_cell(t, "+- 95 %%");
	for (size_t i = 0; i < c->n; i++)
		line(t, c, i, &shown);
	mc_text_table_write(t, out);
	mc_text_table_free(t);
}

/* What a side's figures do not say. */
static void notes(FILE *out, const struct mc_capacity *c, size_t i)
{
	const struct mc_capacity_side *s = &c->side[i];
	struct mc_capacity_summary m;
	size_t searching = 0;

	mc_capacity_summarize(c, i, &m);
	for (size_t k = 0; k < s->n; k++)
		searching += s->search[k].bisect.state == MC_BISECT_SEARCHING;
	if (!s->n)
		fprintf(out, "%s: not begun\n", s->name);
	if (searching)
		fprintf(out, "%s: cut off; it holds at the one rate and fails at the other so far\n",
			s->name);
	if (m.never)
		fprintf(out, "%s: never held, down to %.4g (%zu of %zu searches)\n", s->name, m.lowest_fail,
			m.never, s->n);
	if (m.always)
		fprintf(out, "%s: held at all rates, up to %.4g (%zu of %zu searches)\n", s->name,
			m.highest_pass, m.always, s->n);
	for (size_t k = 0; k < s->n; k++) {
		const struct mc_bisect *b = &s->search[k].bisect;

		if (b->again > 0)
			fprintf(out,
				"%s: seed %" PRId64
				" fails at %.4g, but holds again at %.4g: the answer is the "
				"lower one\n",
				s->name, s->search[k].seed, b->fail, b->again);
	}
	if (m.unsteady)
		fprintf(out,
			"%s: queues still grew at the end of %zu of %zu runs at the answer: a longer trace "
			"would give less\n",
			s->name, m.unsteady, s->n);
	if (s->n && s->search[0].bottleneck[0])
		fprintf(out, "%s: where it fails: %s\n", s->name, s->search[0].bottleneck);
}

static void text(FILE *out, const struct mc_capacity *c, const json_t *first)
{
	const json_t *trace = json_object_get(first, "trace");
	const struct mc_capacity_side *most = &c->side[0];
	char n[MC_GROUPED];

	for (size_t i = 1; i < c->n; i++)
		most = c->side[i].n > most->n ? &c->side[i] : most;
	fprintf(out, "%s: the highest trace.rate up to which %s is %s %.6g\n", c->scenario, c->metric,
		relation(c), c->keep);
	fprintf(out, "%s requests of %s",
		mc_text_grouped(json_integer_value(json_object_get(trace, "requests")), n),
		json_string_value(json_object_get(trace, "path")));
	if (isfinite(c->side[0].arrivals_per_s))
		fprintf(out, ", %.3f/s as recorded", c->side[0].arrivals_per_s);
	fprintf(out, "; each search to %.2g %%", 100 * c->precision);
	if (most->n > 1)
		fprintf(out, ", seeds %" PRId64 " to %" PRId64 "\n", most->search[0].seed,
			most->search[most->n - 1].seed);
	else if (most->random)
		fprintf(out, ", seed %" PRId64 " alone: --seeds N shows how much it matters\n",
			most->search[0].seed);
	else
		fprintf(out, "; nothing is random: all seeds give the same\n");
	if (c->incomplete)
		fprintf(out, "INCOMPLETE: interrupted before all searches were done\n");
	putc('\n', out);
	table(out, c);
	putc('\n', out);
	for (size_t i = 0; i < c->n; i++)
		notes(out, c, i);
}

static void real(FILE *out, double v)
{
	fprintf(out, isfinite(v) ? ",%.12g" : ",", v);
}

static void csv(FILE *out, const struct mc_capacity *c)
{
	fputs("side,seeds,rate,ci95_half,min,max,fails_at,arrivals_per_s,ratio,ratio_ci95_half,below,above,"
	      "again,"
	      "unsteady\n",
	      out);
	for (size_t i = 0; i < c->n; i++) {
		struct mc_capacity_summary m;
		bool known;

		mc_capacity_summarize(c, i, &m);
		known = m.pass.n > 0;
		fprintf(out, "%s,%zu", c->side[i].name, c->side[i].n);
		real(out, known ? m.pass.mean : NAN);
		real(out, known ? m.pass.half : NAN);
		real(out, known ? m.min : NAN);
		real(out, known ? m.max : NAN);
		real(out, known ? m.fail : NAN);
		real(out, known ? m.pass.mean * c->side[i].arrivals_per_s : NAN);
		real(out, m.ratio.n ? m.ratio.mean : NAN);
		real(out, m.ratio.n ? m.ratio.half : NAN);
		real(out, known ? NAN : m.lowest_fail);
		real(out, known || m.highest_pass <= 0 ? NAN : m.highest_pass);
		fprintf(out, ",%zu,%zu\n", m.again, m.unsteady);
	}
}

static json_t *search_json(const struct mc_capacity_search *s)
{
	const struct mc_bisect *b = &s->bisect;
	json_t *o = json_object(), *probes = json_array();

	mc_json_int(o, "seed", s->seed);
	mc_json_text(o, "state", mc_bisect_state_name(b->state));
	mc_json_real(o, "holds_at", b->pass > 0 ? b->pass : NAN);
	mc_json_real(o, "fails_at", b->fail);
	mc_json_real(o, "holds_again_at", b->again > 0 ? b->again : NAN);
	if (s->bottleneck[0])
		mc_json_text(o, "bottleneck", s->bottleneck);
	for (size_t i = 0; i < b->probe.n; i++) {
		const struct mc_bisect_probe *p = &b->probe.at[i];
		json_t *x = json_object();

		mc_json_real(x, "rate", p->x);
		mc_json_real(x, "value", p->value);
		json_object_set_new(x, "holds", json_boolean(p->pass));
		json_object_set_new(x, "steady", json_boolean(p->steady));
		json_array_append_new(probes, x);
	}
	json_object_set_new(o, "probes", probes);
	return o;
}

static json_t *side_json(const struct mc_capacity *c, size_t i)
{
	const struct mc_capacity_side *s = &c->side[i];
	struct mc_capacity_summary m;
	json_t *o = json_object(), *x, *all = json_array();
	bool known;

	mc_capacity_summarize(c, i, &m);
	known = m.pass.n > 0;
	mc_json_text(o, "name", s->name);
	json_object_set_new(o, "random", json_boolean(s->random));
	x = mc_json_object(o, "rate");
	mc_json_real(x, "mean", known ? m.pass.mean : NAN);
	mc_json_real(x, "ci95_half", known ? m.pass.half : NAN);
	mc_json_real(x, "min", known ? m.min : NAN);
	mc_json_real(x, "max", known ? m.max : NAN);
	mc_json_real(o, "fails_at", known ? m.fail : NAN);
	mc_json_real(o, "arrivals_per_s", known ? m.pass.mean * s->arrivals_per_s : NAN);
	x = mc_json_object(o, "ratio");
	mc_json_real(x, "mean", m.ratio.n ? m.ratio.mean : NAN);
	mc_json_real(x, "ci95_half", m.ratio.n ? m.ratio.half : NAN);
	mc_json_int(o, "unsteady", (int64_t)m.unsteady);
	for (size_t k = 0; k < s->n; k++)
		json_array_append_new(all, search_json(&s->search[k]));
	json_object_set_new(o, "searches", all);
	return o;
}

static void json(FILE *out, const struct mc_capacity *c, const json_t *first)
{
	static const char *const same[] = {"version", "name", "trace", "scenario"};
	json_t *doc = json_object(), *sides = json_array();

	mc_json_text(doc, "schema", MC_RESULT_SCHEMA);
	mc_json_text(doc, "kind", "mooncake-capacity");
	for (size_t i = 0; i < sizeof same / sizeof *same; i++)
		json_object_set(doc, same[i], json_object_get(first, same[i]));
	json_object_set_new(doc, "across", c->across ? json_string(c->across) : json_null());
	mc_json_text(doc, "metric", c->metric);
	mc_json_text(doc, "relation", relation(c));
	mc_json_real(doc, "keep", c->keep);
	mc_json_real(doc, "precision", c->precision);
	json_object_set_new(doc, "incomplete", json_boolean(c->incomplete));
	for (size_t i = 0; i < c->n; i++)
		json_array_append_new(sides, side_json(c, i));
	json_object_set_new(doc, "sides", sides);
	mc_report_dump(out, doc);
	json_decref(doc);
}

void mc_out_capacity(FILE *out, const char *format, const struct mc_capacity *c, const json_t *first)
{
	if (!strcmp(format, "json"))
		json(out, c, first);
	else if (!strcmp(format, "csv"))
		csv(out, c);
	else
		text(out, c, first);
}
