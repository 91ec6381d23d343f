/* The form of a gap (hw/gaps.h) and its coefficients, from measured wholes and their sums: fit/opgap.h says
 * how. */
#ifndef MC_FIT_OPGAP_FORM_H
#define MC_FIT_OPGAP_FORM_H

#include <stddef.h>
#include <stdint.h>

#include "hw/gaps.h"

/* A measured whole; of repeats the median. */
struct mc_opgap_point {
	struct mc_op_point point;
	enum mc_phase phase;
	double rows, seconds;
	double bare_s;  /* sum of the operators */
	double base_s;  /* what the gap is added to: the same with the gaps of the level below */
	double floor_s; /* what the hardware allows for the operators */
	uint64_t hash;
};

/* Of n > 0 points of one phase, in the order that they are dealt in. *off[i]: how far held-out point i was
 * off, |predicted / measured - 1|. With too few points for any form the gap is as if nothing was measured. */
void mc_opgap_form(const struct mc_opgap_point *p, size_t n, struct mc_gap *out, double *off);

#endif
