#include "out/chart.h"

#include <float.h>
#include <math.h>
#include <stdint.h>

#include "base/vec.h"
#include "out/html.h"

/* In units of the SVG, which is scaled to the width that there is. */
#define WIDTH  400
#define HEIGHT 280
#define LEFT   54
#define RIGHT  14
#define TOP    24
#define BOTTOM 40
#define GRAINS 2  /* dots are told apart to a half */
#define FEW    60 /* dots at most that are drawn large */

static double share(const struct mc_chart_axis *a, double v)
{
	if (a->log)
		return (log(fmax(v, a->low)) - log(a->low)) / (log(a->high) - log(a->low));
	return (v - a->low) / (a->high - a->low);
}

static double at_x(const struct mc_chart *c, double v)
{
	return LEFT + (WIDTH - LEFT - RIGHT) * share(&c->x, v);
}

static double at_y(const struct mc_chart *c, double v)
{
	return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share(&c->y, v);
}

/* Room around what was seen, and a range where there is none. */
static void widen(struct mc_chart_axis *a)
{
	if (!(a->low <= a->high)) {
		a->low = 1;
		a->high = 10;
	}
	if (a->log) {
		double room = fmax(1.05, exp(0.03 * (log(a->high) - log(a->low))));

		a->low = fmax(a->low / room, DBL_MIN);
		a->high = fmin(a->high * room, DBL_MAX);
	} else if (a->low == a->high) {
		a->high = a->low + 1;
	}
}

static void text_at(const struct mc_chart *c, double x, double y, const char *attributes)
{
	fprintf(c->out, "<text x=\"%.1f\" y=\"%.1f\"%s>", x, y, attributes);
}

static void grid(const struct mc_chart *c)
{
	double x[12], y[12];
	size_t nx = mc_chart_ticks(&c->x, x), ny = mc_chart_ticks(&c->y, y);
	char text[32];

	fprintf(c->out, "<rect class=\"frame\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\"/>\n", LEFT, TOP,
		WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
	fputs("<path class=\"grid\" d=\"", c->out);
	for (size_t i = 0; i < nx; i++)
		fprintf(c->out, "M%.1f %dV%d", at_x(c, x[i]), HEIGHT - BOTTOM, TOP);
	for (size_t i = 0; i < ny; i++)
		fprintf(c->out, "M%d %.1fH%d", LEFT, at_y(c, y[i]), WIDTH - RIGHT);
	fputs("\"/>\n", c->out);
	for (size_t i = 0; i < nx; i++) {
		text_at(c, at_x(c, x[i]), HEIGHT - BOTTOM + 14, " text-anchor=\"middle\"");
		fprintf(c->out, "%s</text>\n", mc_chart_label(c->x.unit, x[i], text));
	}
	for (size_t i = 0; i < ny; i++) {
		text_at(c, LEFT - 5, at_y(c, y[i]) + 4, " text-anchor=\"end\"");
		fprintf(c->out, "%s</text>\n", mc_chart_label(c->y.unit, y[i], text));
	}
}

void mc_chart_begin(struct mc_chart *c, const char *title)
{
	widen(&c->x);
	widen(&c->y);
	fputs("<figure>\n", c->out);
	mc_html_element(c->out, "figcaption", "%s", title);
	fprintf(c->out, "\n<svg viewBox=\"0 0 %d %d\" role=\"img\">\n", WIDTH, HEIGHT);
	mc_html_element(c->out, "title", "%s", title);
	grid(c);
	text_at(c, WIDTH - RIGHT, HEIGHT - 6, " text-anchor=\"end\"");
	mc_html_text(c->out, c->x.label);
	fputs("</text>\n", c->out);
	text_at(c, 4, 14, "");
	mc_html_text(c->out, c->y.label);
	fputs("</text>\n", c->out);
}

void mc_chart_end(struct mc_chart *c)
{
	fputs("</svg>\n", c->out);
}

static double clamp(double v, const struct mc_chart_axis *a)
{
	return v < a->low ? a->low : v > a->high ? a->high : v;
}

void mc_chart_line(const struct mc_chart *c, const struct mc_chart_points *p, const char *style)
{
	if (!p->n)
		return;
	fprintf(c->out, "<path class=\"%s\" d=\"", style);
	for (size_t i = 0; i < p->n; i++)
		fprintf(c->out, "%c%.1f %.1f", i ? 'L' : 'M', at_x(c, clamp(p->x[i], &c->x)),
			at_y(c, clamp(p->y[i], &c->y)));
	fputs("\"/>\n", c->out);
}

void mc_chart_dots(const struct mc_chart *c, const struct mc_chart_points *p, int series)
{
	uint8_t *drawn = mc_xcalloc((size_t)(WIDTH * GRAINS + 1) * (HEIGHT * GRAINS + 1), 1);
	bool any = false;

	for (size_t i = 0; i < p->n; i++) {
		int x, y;

		if (p->y[i] < c->y.low || p->y[i] > c->y.high || p->x[i] > c->x.high ||
		    (p->x[i] < c->x.low && !c->x.log))
			continue;
		x = (int)lround(GRAINS * at_x(c, p->x[i]));
		y = (int)lround(GRAINS * at_y(c, p->y[i]));
		if (drawn[y * (WIDTH * GRAINS + 1) + x])
			continue;
		drawn[y * (WIDTH * GRAINS + 1) + x] = 1;
		if (!any)
			fprintf(c->out, "<path class=\"dots%s s%d\" d=\"", p->n <= FEW ? " big" : "", series);
		any = true;
		fprintf(c->out, "M%.1f %.1fh0", (double)x / GRAINS, (double)y / GRAINS);
	}
	if (any)
		fputs("\"/>\n", c->out);
	free(drawn);
}

void mc_chart_bar(const struct mc_chart *c, double from, double to, double y, int series)
{
	double left = at_x(c, from), top = at_y(c, y);

	fprintf(c->out, "<rect class=\"f%d\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n",
		series, left, top, at_x(c, to) - left, HEIGHT - BOTTOM - top);
}

void mc_chart_key_begin(FILE *out)
{
	fputs("<ul class=\"key\">\n", out);
}

void mc_chart_key(FILE *out, int series, bool line, const char *text)
{
	fprintf(out, "<li><svg viewBox=\"0 0 20 10\"><path class=\"%s s%d\" d=\"%s\"/></svg>",
		line ? "line" : "dots", series, line ? "M1 5H19" : "M10 5h0");
	mc_html_text(out, text);
	fputs("</li>\n", out);
}

void mc_chart_key_end(FILE *out)
{
	fputs("</ul>\n</figure>\n", out);
}
