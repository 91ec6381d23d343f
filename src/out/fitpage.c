#include "out/fitpage.h"

#include <inttypes.h>
#include <string.h>

#include "base/vec.h"
#include "out/chart.h"
#include "out/html.h"

#define WORST   20
#define FLAGGED 200 /* rows of flagged samples at most */

static void row(FILE *out, const char *key, const char *text)
{
	if (!*text)
		return;
	fputs("<tr>", out);
	mc_html_element(out, "td class=\"k\"", "%s", key);
	mc_html_cell(out, "%s", text);
	fputs("</tr>\n", out);
}

static void facts(FILE *out, const struct mc_profile *p)
{
	char text[512];

	mc_html_table_begin(out, "<|<");
	row(out, "file", p->path);
	row(out, "date", p->date);
	row(out, "source", p->source);
	snprintf(text, sizeof text,
		 "%" PRId64 " GPUs of %.4g TFLOP/s and %.4g GB/s; %.4g GB/s to and from the host%s", p->gpus,
		 p->peak_flops / 1e12, p->memory_bytes_per_s / 1e9, p->h2d_bytes_per_s / 1e9,
		 p->link_bytes_per_s > 0 ? "" : "; the link between GPUs is not known");
	if (p->link_bytes_per_s > 0)
		snprintf(text + strlen(text), sizeof text - strlen(text),
			 "; %.4g GB/s between GPUs, one direction", p->link_bytes_per_s / 1e9);
	row(out, "node", text);
	if (p->operators.n) {
		const struct mc_operators *o = &p->operators;

		row(out, "operators on", o->device);
		row(out, "software", o->software);
		row(out, "type", o->dtype);
		row(out, "measured", o->date);
		row(out, "sources", o->source);
	}
	for (int64_t i = 0; i < p->n_measured; i++) {
		const struct mc_measured *m = &p->measured[i];

		snprintf(text, sizeof text,
			 "%.300s; fitted to prompts of %" PRId64 " and contexts of %" PRId64
			 " tokens, batch %" PRId64,
			 m->source, m->fit.prompt_max, m->fit.context_max, m->fit.batch_max);
		row(out, m->key, text);
	}
	mc_html_table_end(out);
}

static void files(FILE *out, const struct mc_fitpage *p)
{
	fputs("<h3>Samples</h3>\n", out);
	if (!p->files) {
		fputs("<p>No file of samples was given: curves are drawn as the profile has them, errors are "
		      "those on "
		      "held-out points, and measured entries show the points that the profile holds.</p>\n",
		      out);
		return;
	}
	fputs(
	    "<p>Errors on samples are |fitted / measured &#8722; 1| of those within the range of a curve. "
	    "Where the profile was fitted to them, they say how well it fits; errors on held-out points say "
	    "how well it predicts.</p>\n<details><summary>",
	    out);
	fprintf(out, "%zu file%s</summary>\n", p->files, p->files == 1 ? "" : "s");
	mc_html_table_begin(out, "<file|samples|<device|<software|<type|<date|<source");
	for (const struct mc_fitpage_file *f = p->file; f < p->file + p->files; f++) {
		fputs("<tr>", out);
		mc_html_cell(out, "%s", f->path);
		mc_html_number(out, "%zu", f->n);
		mc_html_cell(out, "%s", f->device);
		mc_html_cell(out, "%s", f->software);
		mc_html_cell(out, "%s", f->dtype);
		mc_html_cell(out, "%s", f->date);
		mc_html_element(out, "td class=\"t w\"", "%s", f->source);
		fputs("</tr>\n", out);
	}
	mc_html_table_end(out);
	fputs("</details>\n", out);
}

static char *extent(enum mc_dim d, double v, char text[32])
{
	if (d == MC_DIM_BYTES)
		return mc_chart_label(MC_CHART_BYTES, v, text);
	snprintf(text, 32, "%.0f", v);
	return text;
}

static void range(FILE *out, const struct mc_operators_summary *s)
{
	const char *before = "";
	char low[32], high[32];

	fputs("<span class=\"small\">", out);
	for (int d = 0; d < MC_DIMS; d++) {
		if (!(s->high[d] > 0))
			continue;
		mc_html_printf(out, "%s%s %s", before, mc_dim_names[d],
			       extent((enum mc_dim)d, s->low[d], low));
		if (s->high[d] > s->low[d])
			mc_html_printf(out, " to %s", extent((enum mc_dim)d, s->high[d], high));
		before = ", ";
	}
	fputs("</span>", out);
}

/* How many points, and their errors; nothing where there are none. */
static void errors(FILE *out, long long points, double median, double p95, double worst)
{
	const double off[] = {median, p95, worst};
	char text[16];

	if (!points) {
		fputs("<td></td><td></td><td></td><td></td>", out);
		return;
	}
	mc_html_number(out, "%lld", points);
	for (int i = 0; i < 3; i++)
		mc_html_number(out, "%s", mc_html_percent(off[i], text));
}

static bool has_group(const struct mc_fitpage *p, size_t group, struct mc_operators_summary *o)
{
	const struct mc_residuals *r = p->residuals;

	memset(o, 0, sizeof *o);
	if (group < MC_OPS)
		mc_operators_summary(&p->profile->operators, (enum mc_op)group, o);
	return o->curves || r->first[group + 1] > r->first[group];
}

static void left_out(FILE *out, const struct mc_residuals_stats *s)
{
	static const char *const why[MC_RESIDUAL_STATES] = {"", "outside", "flagged", "no time"};
	const char *before = "";

	fputs("<td>", out);
	for (int k = MC_RESIDUAL_OUTSIDE; k < MC_RESIDUAL_STATES; k++)
		if (s->count[k]) {
			fprintf(out, "%s%zu %s", before, s->count[k], why[k]);
			before = ", ";
		}
	fputs("</td>", out);
}

static void overview_row(FILE *out, const struct mc_fitpage *p, size_t group,
			 const struct mc_operators_summary *o)
{
	struct mc_residuals_stats s;
	char name[256];

	mc_residuals_stats(p->residuals, group, &s);
	fprintf(out, "<tr><td class=\"t w\"><a href=\"#g%zu\">", group);
	mc_html_text(out, mc_residuals_name(p->residuals, group, name, sizeof name));
	fputs("</a>", out);
	if (o->curves)
		range(out, o);
	fputs("</td>", out);
	if (o->curves)
		mc_html_number(out, "%zu", o->curves);
	else
		fputs("<td></td>", out);
	errors(out, o->points, o->median, o->p95, o->worst);
	if (p->residuals->n) {
		errors(out, (long long)s.count[MC_RESIDUAL_USED], s.median, s.p95, s.worst);
		left_out(out, &s);
	}
	fputs("</tr>\n", out);
}

#define GROUP_HEAD   "<th class=\"g\" colspan=\"5\">samples</th>"
#define ERRORS_HEAD  "<th>points</th><th>median</th><th>p95</th><th>worst</th>"
#define SAMPLES_HEAD ERRORS_HEAD "<th>left out</th>"
#define OVERVIEW_HEAD(group, samples)                                                                        \
	"<tr><th></th><th></th><th class=\"g\" colspan=\"4\">held-out points</th>" group                     \
	"</tr>\n<tr><th class=\"t\">operator</th><th>curves</th>" ERRORS_HEAD samples "</tr>"

static void overview(FILE *out, const struct mc_fitpage *p)
{
	struct mc_operators_summary o;
	bool any = false;

	fputs("<h2>Errors</h2>\n", out);
	for (size_t g = 0; g < p->residuals->groups; g++) {
		if (!has_group(p, g, &o))
			continue;
		if (!any)
			mc_html_table_head(out, p->residuals->n ? OVERVIEW_HEAD(GROUP_HEAD, SAMPLES_HEAD)
								: OVERVIEW_HEAD("", ""));
		any = true;
		overview_row(out, p, g, &o);
	}
	if (any)
		mc_html_table_end(out);
	else
		fputs("<p>The profile holds no measured times, and no samples were given.</p>\n", out);
}

void mc_fitpage_points(FILE *out, const struct mc_residuals *r, const struct mc_residual *const *list,
		       size_t n, bool named)
{
	char text[256];

	mc_html_table_begin(out, named ? "<|<point|measured|fitted|error|<where"
				       : "<point|measured|fitted|error|<where");
	for (size_t i = 0; i < n; i++) {
		const struct mc_residual *x = list[i];

		fputs("<tr>", out);
		if (named)
			mc_html_element(out, "td class=\"k\"", "%s",
					mc_residuals_name(r, x->group, text, sizeof text));
		mc_html_element(out, "td class=\"t w\"", "%s", mc_residual_text(r, x, text, sizeof text));
		mc_html_number(out, "%s", mc_chart_label(MC_CHART_SECONDS, x->measured_s, text));
		if (x->fitted_s > 0) {
			mc_html_number(out, "%s", mc_chart_label(MC_CHART_SECONDS, x->fitted_s, text));
			mc_html_number(out, "%+.1f %%", 100 * mc_residual_error(x));
		} else {
			fputs("<td></td><td></td>", out);
		}
		fputs("<td class=\"t p\">", out);
		mc_html_text(out, x->file);
		if (x->line)
			fprintf(out, ":%ld", x->line);
		if (*x->flag)
			mc_html_printf(out, " (%s)", x->flag);
		fputs("</td></tr>\n", out);
	}
	mc_html_table_end(out);
}

static void flagged(FILE *out, const struct mc_residuals *r)
{
	const struct mc_residual *list[FLAGGED];
	size_t n = 0, all = 0;

	for (size_t i = 0; i < r->n; i++) {
		if (r->at[i].state != MC_RESIDUAL_FLAGGED)
			continue;
		if (n < FLAGGED)
			list[n++] = &r->at[i];
		all++;
	}
	if (!all)
		return;
	fprintf(out,
		"<h2>Flagged samples</h2>\n<p>Not fitted, and not in any error.%s</p>\n"
		"<details><summary>%zu of %zu</summary>\n",
		n < all ? " The first ones:" : "", n, all);
	mc_fitpage_points(out, r, list, n, true);
	fputs("</details>\n", out);
}

static void predicted(FILE *out, const struct mc_fitpredict *t, int i, int side)
{
	char text[32];

	if (t->row[i].seconds[side] > 0)
		mc_html_number(out, "%s%s", mc_chart_label(MC_CHART_SECONDS, t->row[i].seconds[side], text),
			       t->row[i].outside[side] ? " *" : "");
	else
		fputs("<td></td>", out);
}

static void predictions(FILE *out, const struct mc_fitpage *p)
{
	const struct mc_fitpredict *t = p->predict;
	bool two = p->other != NULL;

	if (!t)
		return;
	fputs("<h2>", out);
	mc_html_printf(out, "Prefill and decode of %s on %" PRId64 " GPU%s", t->shape.name,
		       t->tensor_parallel, t->tensor_parallel == 1 ? "" : "s");
	fputs("</h2>\n<p>", out);
	mc_html_printf(out, "%s: %s.", p->profile->name, t->how[0]);
	if (two)
		mc_html_printf(out, " %s: %s.", p->other->name, t->how[1]);
	fputs(" A star: partly beyond what was measured.</p>\n", out);
	mc_html_table_begin(out, two ? "<what|batch|tokens|this|other|ratio" : "<what|batch|tokens|time");
	for (int i = 0; i < MC_FITPREDICT_ROWS; i++) {
		fputs("<tr>", out);
		mc_html_cell(out, "%s", t->row[i].decode ? "decode, an iteration" : "prefill");
		mc_html_number(out, "%" PRId64, t->row[i].batch);
		mc_html_number(out, "%" PRId64, t->row[i].tokens);
		predicted(out, t, i, 0);
		if (two)
			predicted(out, t, i, 1);
		if (two && t->row[i].seconds[0] > 0 && t->row[i].seconds[1] > 0)
			mc_html_number(out, "%.2f", t->row[i].seconds[1] / t->row[i].seconds[0]);
		else if (two)
			fputs("<td></td>", out);
		fputs("</tr>\n", out);
	}
	mc_html_table_end(out);
}

void mc_fitpage_write(FILE *out, const struct mc_fitpage *p)
{
	const struct mc_residual *worst[WORST];
	size_t n = mc_residuals_worst(p->residuals, p->residuals->groups, worst, WORST);
	struct mc_operators_summary o;
	char title[256];

	snprintf(title, sizeof title, p->other ? "Profiles %.100s and %.100s" : "Profile %.100s",
		 p->profile->name, p->other ? p->other->name : "");
	mc_html_begin(out, title);
	if (p->other)
		mc_html_element(out, "h3", "This: %s", p->profile->name);
	facts(out, p->profile);
	if (p->other) {
		mc_html_element(out, "h3", "Other: %s", p->other->name);
		facts(out, p->other);
	}
	files(out, p);
	overview(out, p);
	if (n) {
		fputs("<h3>The most wrong of all</h3>\n", out);
		mc_fitpage_points(out, p->residuals, worst, n, true);
	}
	mc_fitpage_gaps(out, &p->profile->operators);
	if (p->net)
		mc_fitpage_net(out, p->net);
	mc_fitpage_compare(out, p);
	predictions(out, p);
	for (size_t g = 0; g < p->residuals->groups; g++)
		if (has_group(p, g, &o))
			mc_fitpage_group(out, p, g);
	flagged(out, p->residuals);
	mc_html_end(out);
}
