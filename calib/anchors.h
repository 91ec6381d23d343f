/*
 * How fast a machine is now, against when it was calibrated: some steps of the calibration are measured once
 * more. A machine that others share is a tenth slower or faster within minutes, at everything alike; a
 * prediction can't know that, so whoever judges one wants it told apart.
 */
#ifndef MC_CALIB_ANCHORS_H
#define MC_CALIB_ANCHORS_H

#include "calib/compute.h"

enum { MC_CALIB_ANCHORS = 8 };

struct mc_calib_anchor {
	struct mc_calib_point at;
	double then; /* seconds, median of the calibration's visits */
	struct mc_calib_series now;
};

struct mc_calib_anchors {
	MC_VEC(struct mc_calib_anchor)
	size_t turn;
};

/* Up to MC_CALIB_ANCHORS whole steps of a calibration, half of them decodes, spread by their times, none
 * longer than most_s. Flagged samples are left out. */
void mc_calib_anchors_choose(struct mc_calib_anchors *a, const struct mc_opsamples *s, double most_s);
/* Of DIR/cpu-MODEL.csv, if it was measured on this device with this software; else none, and *why is a
 * constant that says so. */
void mc_calib_anchors_find(struct mc_calib_anchors *a, const struct mc_calib_compute *c, const char **why);
void mc_calib_anchors_fini(struct mc_calib_anchors *a);

/* Measure the next one; nothing if there is none. */
int mc_calib_anchors_visit(struct mc_calib_anchors *a, struct mc_calib_compute *c, struct mc_err *err);

struct mc_calib_pace {
	double median, low, high; /* of now / then of the steps; 1: as it was */
	size_t steps;             /* 0: not known */
};

void mc_calib_anchors_pace(struct mc_calib_anchors *a, struct mc_calib_pace *out);

#endif
