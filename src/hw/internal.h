/* Inside of this room. */
#ifndef MC_HW_INTERNAL_H
#define MC_HW_INTERNAL_H

#include "hw/profile.h"

/* Does the list of NICs hold a rate for each? MC_USAGE, with the key. */
int mc_profile_check_nics(const struct mc_profile *p, struct mc_err *err);

#endif
