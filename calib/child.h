/* mooncake, run as a child: beside this program, or in PATH. */
#ifndef MC_CALIB_CHILD_H
#define MC_CALIB_CHILD_H

#include "base/err.h"

/* argv without the program, NULL-terminated. output: where its standard output goes, NULL: to ours. Returns
 * its exit code; MC_FAIL with *err filled where it can't be run. Interrupted by a signal: 128 and its number.
 */
int mc_calib_child(const char *const *argv, const char *output, struct mc_err *err);

#endif
