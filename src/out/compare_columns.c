/* The comparison that people see first: a column for each value, the best of each line marked. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "out/compare.h"
#include "out/report.h"
#include "out/textfmt.h"

#define CELL 32 /* bytes of a rendered value */

/* A line of the table. */
struct shown {
	const char *label, *key;
	double scale;
	int decimals; /* -1: as many as the value needs */
	bool rare;    /* shown where it is not 0 in all columns */
};

static const struct shown lines[] = {
    {"effective requests, %", "slo.effective_ratio", 100, 1, false},
    {"refused", "requests.rejected", 1, 0, true},
    {"wasted prefills", "prefill.wasted", 1, 0, true},
    {"TTFT mean, s", "ttft_s.mean", 1, -1, false},
    {"     p50", "ttft_s.p50", 1, -1, false},
    {"     p90", "ttft_s.p90", 1, -1, false},
    {"     p99", "ttft_s.p99", 1, -1, false},
    {"TBT mean, ms", "tbt_s.mean", 1e3, 1, false},
    {"    p90", "tbt_s.p90", 1e3, 1, false},
    {"    p99", "tbt_s.p99", 1e3, 1, false},
    {"end to end mean, s", "e2e_s.mean", 1, -1, false},
    {"cache hits, % of tokens", "cache.hit_ratio", 100, 1, false},
    {"prefill compute mean, s", "prefill.compute_s_mean", 1, 3, false},
    {"prefill queue mean, s", "prefill.queue_s_mean", 1, -1, false},
    {"prefill busy, %", "prefill.busy_ratio", 100, 1, false},
    {"decode batch mean", "decode.batch_mean", 1, 1, false},
    {"KV moved, TB", "network.bytes", 1e-12, 2, false},
    {"requests/s", "throughput.requests_per_s", 1, 2, false},
    {"goodput, requests/s", "throughput.goodput_requests_per_s", 1, 2, false},
};

static double value(const struct mc_comparison *c, size_t column, const char *key)
{
	const struct mc_flat *f = mc_flat_find(&c->column[column].flat, key);

	return f ? f->value : NAN;
}

static int decimals(const struct shown *s, double v)
{
	return s->decimals >= 0 ? s->decimals : mc_text_decimals(v);
}

/* The first column with the best value of a key; n: no value is better than another. */
static size_t best(const struct mc_comparison *c, const char *key)
{
	enum mc_better better = mc_flat_better(key);
	size_t top = c->n;
	bool differ = false;

	if (better == MC_BETTER_NEITHER)
		return c->n;
	for (size_t i = 0; i < c->n; i++) {
		double v = value(c, i, key), w = top < c->n ? value(c, top, key) : NAN;

		if (isnan(v))
			continue;
		differ |= !isnan(w) && v != w;
		if (isnan(w) || (better == MC_BETTER_LOW ? v < w : v > w))
			top = i;
	}
	return differ ? top : c->n;
}

/* The cell of a column as it is shown, without its mark; "-" when the result lacks it. */
static void render(const struct mc_comparison *c, const struct shown *s, size_t column, char *buf)
{
	double v = value(c, column, s->key) * s->scale;

	if (isfinite(v))
		snprintf(buf, CELL, "%.*f", decimals(s, v), v);
	else
		snprintf(buf, CELL, "-");
}

static bool any(const struct mc_comparison *c, const char *key)
{
	for (size_t i = 0; i < c->n; i++)
		if (value(c, i, key) > 0)
			return true;
	return false;
}

/* What looks equal to the best is marked like it; where all look equal, nothing is. */
static void line(struct mc_text_table *t, const struct mc_comparison *c, const struct shown *s)
{
	size_t top = best(c, s->key), same = 0;
	char text[CELL], winner[CELL] = "";

	if (top < c->n)
		render(c, s, top, winner);
	for (size_t i = 0; i < c->n; i++) {
		render(c, s, i, text);
		same += !strcmp(text, winner);
	}
	if (s->rare && !any(c, s->key))
		return;
	mc_text_cell(t, "%s", s->label);
	for (size_t i = 0; i < c->n; i++) {
		render(c, s, i, text);
		mc_text_cell(t, "%s%s", text, same < c->n && !strcmp(text, winner) ? "*" : " ");
	}
}

static void table(FILE *out, const struct mc_comparison *c)
{
	struct mc_text_table *t = mc_text_table_new(1 + (int)c->n, 1);

	mc_text_cell(t, "%s", c->across ? c->across : "");
	for (size_t i = 0; i < c->n; i++)
		mc_text_cell(t, "%s ", c->column[i].name);
	for (size_t k = 0; k < sizeof lines / sizeof *lines; k++)
		line(t, c, &lines[k]);
	mc_text_table_write(t, out);
	mc_text_table_free(t);
}

static void sentence(FILE *out, const struct mc_comparison *c)
{
	const struct shown *share = &lines[0];
	size_t ttft = best(c, "ttft_s.mean"), effective = best(c, share->key);
	char text[2][CELL];
	double worst = 0, v;

	if (ttft == c->n) {
		fprintf(out, "All have the same mean TTFT.\n");
		return;
	}
	for (size_t i = 0; i < c->n; i++)
		worst = fmax(worst, value(c, i, "ttft_s.mean"));
	v = value(c, ttft, "ttft_s.mean");
	fprintf(out, "Lowest mean TTFT: %s with %.*f s", c->column[ttft].name, mc_text_decimals(v), v);
	if (v > 0)
		fprintf(out, ", %.1f times below the highest", worst / v);
	render(c, share, ttft, text[0]);
	if (effective < c->n)
		render(c, share, effective, text[1]);
	if (effective == c->n || !strcmp(text[0], text[1]))
		fprintf(out, "; no other has more effective requests (%s %%).\n", text[0]);
	else
		fprintf(out, "; most effective requests: %s with %s %%.\n", c->column[effective].name,
			text[1]);
}

void mc_comparison_columns(FILE *out, const struct mc_comparison *c)
{
	const json_t *first = c->column[0].result, *trace = json_object_get(first, "trace");
	char n[MC_GROUPED];

	if (c->across)
		fprintf(out, "%s: %s requests of %s, seed %" JSON_INTEGER_FORMAT "\n\n", c->scenario,
			mc_text_grouped(json_integer_value(json_object_get(trace, "requests")), n),
			json_string_value(json_object_get(trace, "path")),
			json_integer_value(json_object_get(first, "seed")));
	table(out, c);
	fprintf(out, "\n* best of its line. ");
	sentence(out, c);
}
