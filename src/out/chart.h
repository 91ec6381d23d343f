/*
 * A chart as inline SVG, drawn as it is told: axes, lines, dots, bars. Coordinates are printed with fixed
 * decimals, so the same numbers give the same bytes. Classes are those of the style in html.c: series 0 to 5
 * are told apart by colour blind people too; 6 is grey, 7 a warning.
 */
#ifndef MC_OUT_CHART_H
#define MC_OUT_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define MC_CHART_SERIES 6 /* colours for data */
#define MC_CHART_GREY   6
#define MC_CHART_RED    7

enum mc_chart_unit { MC_CHART_PLAIN, MC_CHART_SECONDS, MC_CHART_BYTES, MC_CHART_PERCENT };

struct mc_chart_axis {
	const char *label; /* text: "rows", "measured" */
	enum mc_chart_unit unit;
	bool log;         /* values below the lowest one above 0 are drawn at the edge */
	double low, high; /* what was seen; wider once the chart has begun */
};

struct mc_chart {
	FILE *out;
	struct mc_chart_axis x, y;
};

/* Nothing seen yet. */
void mc_chart_axis_init(struct mc_chart_axis *a, const char *label, enum mc_chart_unit unit, bool log);
void mc_chart_axis_see(struct mc_chart_axis *a, double v);
/* Up to 12 places to label, rising; of an axis that has begun. Returns how many. */
size_t mc_chart_ticks(const struct mc_chart_axis *a, double tick[12]);
/* "10 us", "1.5k", "20 %". Returns text. */
char *mc_chart_label(enum mc_chart_unit unit, double v, char text[32]);

/* Out, x and y are set, and what is to be drawn was seen. title is text. */
void mc_chart_begin(struct mc_chart *c, const char *title);
void mc_chart_end(struct mc_chart *c);
struct mc_chart_points {
	const double *x, *y;
	size_t n;
};
/* style: classes, such as "line s0". What lies outside is left out of dots, and lines leave the frame
 * nowhere. */
void mc_chart_line(const struct mc_chart *c, const struct mc_chart_points *p, const char *style);
void mc_chart_dots(const struct mc_chart *c, const struct mc_chart_points *p, int series);
/* From the bottom to y, between two x. */
void mc_chart_bar(const struct mc_chart *c, double from, double to, double y, int series);

/* Under the chart: what the series are. Entries between begin and end. */
void mc_chart_key_begin(FILE *out);
void mc_chart_key(FILE *out, int series, bool line, const char *text);
void mc_chart_key_end(FILE *out);

#endif
