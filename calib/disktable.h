/* What people see of a disk: a line for each point, with percentiles of single requests where one was under
 * way at a time. */
#ifndef MC_CALIB_DISKTABLE_H
#define MC_CALIB_DISKTABLE_H

#include <stdio.h>

#include "calib/diskgrid.h"
#include "calib/measure.h"
#include "hw/opsamples.h"

/* Seconds of a request. */
struct mc_disk_latency {
	struct mc_disk_point point;
	double p50, p90, p99, p999, max;
};

struct mc_disk_table {
	MC_VEC(struct mc_disk_latency)
};

/* Sorts the series; an empty one adds nothing. */
void mc_disk_table_add(struct mc_disk_table *t, const struct mc_disk_point *p, struct mc_calib_series *s);
/* The samples of disks, reads before writes, small ones first. */
void mc_disk_table_print(const struct mc_disk_table *t, const struct mc_opsamples *s, FILE *out);
void mc_disk_table_fini(struct mc_disk_table *t);

#endif
