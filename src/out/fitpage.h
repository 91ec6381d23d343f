/*
 * The report of a profile: measured against fitted, by operator and by measured entry; the most wrong points;
 * errors on held-out points, ranges and sources; and beside another profile. One HTML page (out/html.h), or
 * its figures as text.
 */
#ifndef MC_OUT_FITPAGE_H
#define MC_OUT_FITPAGE_H

#include "fit/netfit.h"
#include "fit/residuals.h"
#include "out/fitpredict.h"

/* What a file of samples says of itself; "": nothing. */
struct mc_fitpage_file {
	const char *path, *device, *software, *dtype, *date, *source;
	size_t n; /* samples in it */
};

/* All borrowed. */
struct mc_fitpage {
	const struct mc_profile *profile;
	const struct mc_profile *other;       /* NULL: no comparison */
	const struct mc_residuals *residuals; /* finished */
	const struct mc_fitpredict *predict;  /* NULL: no model was named */
	const struct mc_netfit *net;          /* to the samples of transfers; NULL: there are too few */
	const struct mc_fitpage_file *file;
	size_t files;
};

void mc_fitpage_write(FILE *out, const struct mc_fitpage *p);
/* Errors by operator, the most wrong points, and the comparison. */
void mc_fitpage_text(FILE *out, const struct mc_fitpage *p);

/* Parts of the page. */
void mc_fitpage_group(FILE *out, const struct mc_fitpage *p, size_t group);
void mc_fitpage_compare(FILE *out, const struct mc_fitpage *p);
void mc_fitpage_gaps(FILE *out, const struct mc_operators *o);
/* Transfers that a fit did not see: a table, and as text. */
void mc_fitpage_net(FILE *out, const struct mc_netfit *f);
void mc_fitpage_net_text(FILE *out, const struct mc_netfit *f);
/* A paragraph on errors with more left out; nothing where the profile does not say. */
void mc_fitpage_left_out(FILE *out, const struct mc_curve_error e[MC_LEFT_OUTS]);
/* A table of points: operator (if named), dimensions, measured, fitted, error, file:line. */
void mc_fitpage_points(FILE *out, const struct mc_residuals *r, const struct mc_residual *const *list,
		       size_t n, bool named);

/* Ratios of the other profile's times to this one's, at the knots of this one that the other covers. */
struct mc_fitpage_ratio {
	size_t points, beyond; /* beyond: knots of which the other has no time, or none within its range */
	size_t guessed;        /* of points: the other has no curve of these dimensions, only of others */
	double low, median, high;
	struct mc_op_point low_at, high_at;
};

void mc_fitpage_ratio(const struct mc_fitpage *p, enum mc_op op, struct mc_fitpage_ratio *out);

#endif
