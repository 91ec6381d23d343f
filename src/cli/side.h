/* One side of a comparison: a stored result, an --out-dir folder, or a scenario that is run now. */
#ifndef MC_CLI_SIDE_H
#define MC_CLI_SIDE_H

#include "cli/simulate.h"
#include "cli/watch.h"
#include "out/compare.h"

struct mc_side {
	struct mc_simulation sim; /* of a scenario */
	json_t *result;
	struct mc_latencies rows; /* n == 0: not known */
};

void mc_side_fini(struct mc_side *side);

/* A folder or a result file; *stored is false, and nothing done, when path is a scenario. Newer majors are
 * refused. */
int mc_side_load(struct mc_side *side, const char *path, bool *stored, struct mc_err *err);
/* Run a scenario; `like` (may be NULL) lends its trace. An interrupted run is MC_FAIL. */
int mc_side_run(struct mc_side *side, const struct mc_setup *setup, const struct mc_side *like,
		struct mc_watch *watch, struct mc_err *err);

#endif
