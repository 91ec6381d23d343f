/*
 * Samples that cannot be right, or that their neighbours contradict: flagged, so that people see them and no
 * fit uses them. Never corrected.
 */
#ifndef MC_FIT_SUSPECTS_H
#define MC_FIT_SUSPECTS_H

#include "fit/import.h"

/* What lies no more than that apart is noise: the public tables round to 1 us, and a launch varies by a few.
 */
#define MC_SUSPECTS_SLACK_S 5e-6
/* Repeats of one point disagree when the slowest takes 1.5 times the fastest: those of the public tables lie
 * within a few per cent where they are longer than the slack. */
#define MC_SUSPECTS_REPEATS 1.5
/*
 * Along a dimension, the others equal, more takes no less time. Real kernels break that where tiles fill the
 * last wave of blocks better or another kernel is chosen: by up to a third. Three neighbours in a row that
 * break it by more are wrong rows; a longer run is how the software behaves (an all-reduce that changes its
 * algorithm too late).
 */
#define MC_SUSPECTS_NEIGHBOURS 0.35
#define MC_SUSPECTS_RUN        3
/* Operands up to so many bytes may stay in the last-level cache from one repeat to the next (A100: 40 MB,
 * H100: 50 MB): faster than memory, but not wrong, only not what a model sees. */
#define MC_SUSPECTS_CACHE_BYTES 64e6

enum mc_suspect {
	MC_SUSPECT_UNPHYSICAL, /* faster than the hardware */
	MC_SUSPECT_IN_CACHE,   /* faster than its memory */
	MC_SUSPECT_DIP,        /* faster than most points with less of one dimension */
	MC_SUSPECT_BUMP,       /* slower than most points with more of one dimension */
	MC_SUSPECT_DISAGREES,  /* of repeats that disagree */
	MC_SUSPECTS,
};
extern const char *const mc_suspect_names[MC_SUSPECTS + 1]; /* as flags; NULL-terminated */

/* Sort rows by their points and make one of repeats: the median time, flagged when they disagree. The place
 * is that of the first. */
void mc_suspects_merge(struct mc_import *im);
/* Flag rows (after merging; flags that are there stay), by limits as far as they are known and by neighbours.
 * Counts every flag of the rows. */
void mc_suspects_flag(struct mc_import *im, const struct mc_op_limits *l, double element_bytes,
		      size_t count[MC_SUSPECTS]);

#endif
