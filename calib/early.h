/* What would fail after minutes of measuring is refused before them. */
#ifndef MC_CALIB_EARLY_H
#define MC_CALIB_EARLY_H

#include "calib/calib.h"

/* --hardware is a profile; --output can be written, and what writes it is there. MC_USAGE or MC_FAIL. */
int mc_calib_early(const struct mc_calib_common *o, struct mc_err *err);

#endif
