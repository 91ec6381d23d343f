/*
 * A profile's prediction of transfers beside what they took: points at random, that no fit saw; and, so that
 * it is told how fast the network is now against when it was calibrated, some points of the calibration.
 */
#ifndef MC_CALIB_NETCHECK_H
#define MC_CALIB_NETCHECK_H

#include <stdio.h>

#include "calib/netgrid.h"
#include "hw/nettime.h"
#include "hw/opsamples.h"

enum { MC_NETCHECK_ANCHORS = 8 };

struct mc_netpair {
	struct mc_netpoint at;
	double predicted, measured, error; /* |predicted / measured - 1| */
};

struct mc_netpairs {
	MC_VEC(struct mc_netpair)
};

/* Up to MC_NETCHECK_ANCHORS points of a calibration that this side can measure, spread by their times, to the
 * end of the grid. */
void mc_netcheck_anchors(struct mc_netgrid *g, const struct mc_opsamples *then, const struct mc_netlimits *l);

/* Of the points after so many anchors those that were measured: medians of visits without flag, beside the
 * prediction, by error. */
void mc_netcheck_pairs(struct mc_netpairs *out, const struct mc_netgrid *g, size_t anchors,
		       const struct mc_opsamples *now, const struct mc_nettime *t);
/* Of the anchors: now / then, the median; 0: not known. */
double mc_netcheck_pace(const struct mc_netgrid *g, size_t anchors, const struct mc_opsamples *now,
			const struct mc_opsamples *then);

/* Errors as if the network were `pace` times as slow; sorted again. */
void mc_netcheck_at_pace(struct mc_netpairs *p, double pace);
/* The error below which that share of them is; of one pair at least. */
double mc_netcheck_share(const struct mc_netpairs *p, double share);
/* By direction, size, depth and peers: how many, their errors, the worst one. */
void mc_netcheck_print(const struct mc_netpairs *p, FILE *out);

#endif
