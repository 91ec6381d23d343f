/* A gate that the errors of a prediction have to pass: "5%,15%" of their median and 95th percentile. */
#ifndef MC_CALIB_GATE_H
#define MC_CALIB_GATE_H

#include <stdbool.h>

#include "base/err.h"

struct mc_calib_gate {
	bool given;
	double median, p95; /* ratios */
};

/* From the text of --require; NULL: no gate. */
int mc_calib_gate_parse(struct mc_calib_gate *g, const char *text, struct mc_err *err);
/* MC_FAIL: they are above. */
int mc_calib_gate_judge(const struct mc_calib_gate *g, double median, double p95, struct mc_err *err);

#endif
