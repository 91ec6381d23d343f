/* What was measured, for people: by size what a request takes alone, and what the network carries at most,
 * with the engine and without. */
#ifndef MC_CALIB_NETTABLE_H
#define MC_CALIB_NETTABLE_H

#include <stdio.h>

#include "hw/opsamples.h"

void mc_nettable_print(const struct mc_opsamples *s, FILE *out);

#endif
