/*
 * Samples beside what a profile makes of them: what its report draws, counts and lists. Samples of operators
 * are held against the profile's curves, those of prefill and decode against its measured entry of their
 * shape and degree, whole layers and iterations of a model that their file names against the sum of its
 * operators, gaps included; an entry that no file of samples is about brings the points that it holds.
 *
 * Samples that the profile was fitted to show how well it fits; others, how well it predicts.
 */
#ifndef MC_FIT_RESIDUALS_H
#define MC_FIT_RESIDUALS_H

#include "fit/samples.h"
#include "hw/opsamples.h"
#include "hw/optime.h"
#include "hw/profile.h"

enum mc_residual_state {
	MC_RESIDUAL_USED,    /* in the errors: from a curve or an entry, within its range */
	MC_RESIDUAL_OUTSIDE, /* beyond the range, or no curve of its dimensions: a guess from others */
	MC_RESIDUAL_FLAGGED, /* by who measured it */
	MC_RESIDUAL_UNKNOWN, /* the profile has no time for it */
	MC_RESIDUAL_STATES,
};
extern const char *const mc_residual_states[MC_RESIDUAL_STATES];

struct mc_residual {
	enum mc_residual_state state;
	/* An operator's number, or MC_OPS + twice the number of a measured entry, plus one for decode. */
	size_t group;
	struct mc_op_point point;    /* of operators */
	struct mc_sample sample;     /* of entries */
	double measured_s, fitted_s; /* fitted: 0 where it is not known */
	char flag[16];
	const char *file; /* borrowed */
	long line;        /* 0: not known */
};

struct mc_residuals {
	MC_VEC(struct mc_residual)
	const struct mc_profile *profile; /* borrowed */
	size_t groups;
	size_t *first; /* of each group in `at`, once finished; groups + 1 */
};

void mc_residuals_init(struct mc_residuals *r, const struct mc_profile *p);
void mc_residuals_fini(struct mc_residuals *r);
/* path is kept, the samples are not. */
void mc_residuals_add_operators(struct mc_residuals *r, const struct mc_opsamples *s, const char *path);
/* MC_USAGE: the profile has no entry of their shape and degree. */
int mc_residuals_add_samples(struct mc_residuals *r, const struct mc_samples *s, const char *path,
			     struct mc_err *err);
/* The points of entries that have none yet; then all in order of their groups. Once. */
void mc_residuals_finish(struct mc_residuals *r);

struct mc_residuals_stats {
	size_t count[MC_RESIDUAL_STATES];
	double median, p95, worst; /* |fitted / measured - 1| of those used */
	double bias;               /* median of fitted / measured - 1 */
};

/* Of one group, or of all: r->groups. */
void mc_residuals_stats(const struct mc_residuals *r, size_t group, struct mc_residuals_stats *s);
/* The most wrong ones of a group (or all) that are used, the worst first, at most n. Returns how many. */
size_t mc_residuals_worst(const struct mc_residuals *r, size_t group, const struct mc_residual **list,
			  size_t n);
/* fitted / measured - 1. */
double mc_residual_error(const struct mc_residual *r);
/* "rows 16, n 8192, k 1024", or "8192 tokens, 7782 cached". Returns text. */
char *mc_residual_text(const struct mc_residuals *all, const struct mc_residual *r, char *text, size_t n);
/* The entry of a group; NULL: an operator's. */
const struct mc_measured *mc_residuals_entry(const struct mc_residuals *r, size_t group);
/* "gemm", or "prefill of llama3-70b-tp8". Returns text. */
char *mc_residuals_name(const struct mc_residuals *r, size_t group, char *text, size_t n);

#endif
