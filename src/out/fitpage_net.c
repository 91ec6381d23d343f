/* Transfers between nodes: how well a fit to the samples predicts those that it did not see. */
#include "hw/optime.h"
#include "out/fitpage.h"
#include "out/html.h"

enum { ROWS = MC_NETFIT_LEFTS + MC_NETFIT_APARTS };

/* A row of the table, of what is left out, then of what no fit takes; NULL: there is nothing of it. */
static const struct mc_netfit_error *row_of(const struct mc_netfit *f, int i, const char **what)
{
	static const char *const apart[MC_NETFIT_APARTS] = {
	    [MC_NETFIT_BOTH_WAYS] = "both ways: duplex alone fitted",
	    [MC_NETFIT_OTHER_SLICES] = "not fitted: other slices",
	    [MC_NETFIT_OTHER_NICS] = "not fitted: other NICs"};
	bool left = i < MC_NETFIT_LEFTS;
	const struct mc_netfit_error *e = left ? &f->left_out[i] : &f->apart[i - MC_NETFIT_LEFTS];

	*what = left ? mc_netfit_lefts[i] : apart[i - MC_NETFIT_LEFTS];
	return e->points ? e : NULL;
}

void mc_fitpage_net(FILE *out, const struct mc_netfit *f)
{
	char text[128];

	fputs(
	    "<h3>Transfers between nodes</h3>\n<p>The samples fitted anew, with a part of them left out, and "
	    "the fit held against that part.</p>\n",
	    out);
	mc_html_table_begin(out, "<left out|points|median|p95|worst|bias|<worst at");
	for (int i = 0; i < ROWS; i++) {
		const char *what;
		const struct mc_netfit_error *e = row_of(f, i, &what);

		if (!e)
			continue;
		fputs("<tr>", out);
		mc_html_cell(out, "%s", what);
		mc_html_number(out, "%zu", e->points);
		mc_html_number(out, "%s", mc_html_percent(e->median, text));
		mc_html_number(out, "%s", mc_html_percent(e->p95, text));
		mc_html_number(out, "%s", mc_html_percent(e->worst, text));
		mc_html_number(out, "%+.1f %%", 100 * e->bias);
		mc_html_cell(out, "%s", mc_op_point_text(&e->at, text, sizeof text));
		fputs("</tr>\n", out);
	}
	mc_html_table_end(out);
}

void mc_fitpage_net_text(FILE *out, const struct mc_netfit *f)
{
	fprintf(out, "  %-30s %6s %8s %8s %8s %8s  %s\n", "errors with this left out", "points", "median",
		"p95", "worst", "bias", "of");
	for (int i = 0; i < ROWS; i++) {
		const char *what;
		const struct mc_netfit_error *e = row_of(f, i, &what);
		char at[128];

		if (e)
			fprintf(out, "  %-30s %6zu %7.1f%% %7.1f%% %7.0f%% %+7.1f%%  %s\n", what, e->points,
				100 * e->median, 100 * e->p95, 100 * e->worst, 100 * e->bias,
				mc_op_point_text(&e->at, at, sizeof at));
	}
}
