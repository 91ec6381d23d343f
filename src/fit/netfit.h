/*
 * Samples of transfers between nodes to the network part of a profile: the coefficients of hw/nettime.h.
 *
 * Reads and writes together, over as many NICs as the profile's node has, or as most samples use if there are
 * none. Coefficients make the median of |log(predicted / measured)| small (least absolute values, by
 * reweighted least squares), none is below 0. Of the forms, start-up and rate alone or with a cost of a
 * request, of a slice, and with a loss by peers, the simplest is taken whose errors on points left out (a
 * fifth at a time) are as small as the best one's but for a twentieth.
 *
 * The profile's slice is the one that most samples have. What a slice costs shows in small requests beside
 * large ones; other slices are held against the fit, as are fewer or more NICs: over TCP both smaller and
 * larger ones than 64 KiB are slower than any cost of a slice says. Both ways at once give one
 * coefficient more, duplex, the others fixed. Flagged samples say nothing. Of samples that are
 * one slice each (fit/import/perftest.c) nothing is learnt of slices: none costs anything.
 */
#ifndef MC_FIT_NETFIT_H
#define MC_FIT_NETFIT_H

#include <jansson.h>

#include "base/err.h"
#include "hw/nettime.h"
#include "hw/opsamples.h"

/* What was left out of a fit, to see how far its prediction is off. */
enum mc_netfit_left {
	MC_NETFIT_ITSELF, /* nothing */
	MC_NETFIT_POINT,  /* a fifth of the points */
	MC_NETFIT_SIZE,   /* every second size */
	MC_NETFIT_LOAD,   /* all of one depth, or of one number of peers */
	MC_NETFIT_LEFTS,
};
extern const char *const mc_netfit_lefts[MC_NETFIT_LEFTS];

/* Samples that are not fitted with the others. */
enum mc_netfit_apart { MC_NETFIT_BOTH_WAYS, MC_NETFIT_OTHER_SLICES, MC_NETFIT_OTHER_NICS, MC_NETFIT_APARTS };

struct mc_netfit_error {
	size_t points;
	double median, p95, worst; /* |predicted / measured - 1| */
	double bias;               /* median of predicted / measured - 1 */
	struct mc_op_point at;     /* where it is worst */
};

struct mc_netfit {
	struct mc_nettime t; /* of a node with the NICs of the samples, none of whose limits is known */
	bool sliced;         /* some were cut: else nothing is known of slices, and a profile keeps its own */
	size_t points, flagged, read;        /* fitted, of which reads; flagged: not those that are bare */
	int64_t low[MC_DIMS], high[MC_DIMS]; /* of the points fitted */
	struct mc_netfit_error left_out[MC_NETFIT_LEFTS], apart[MC_NETFIT_APARTS];
	const char *device, *date; /* of the samples, borrowed; date: the latest */
};

/* Of n files; nics: of the profile's node. Returns false, with points as it is, where there are fewer than
 * MC_NETFIT_LEAST points or size does not
 * tell: all are of one, or larger ones take no longer. */
#define MC_NETFIT_LEAST 4
bool mc_netfit_samples(struct mc_netfit *f, const struct mc_opsamples *s, size_t n, int64_t nics);
/* Put into a profile's object (changed), whose hardware p is; its hardware's source says so. Where NICs are
 * faster than their line rate, that was another network's: then it is replaced, too. True: it was. */
bool mc_netfit_apply(const struct mc_netfit *f, json_t *root, const struct mc_profile *p);

#endif
