/*
 * Samples of whole layers and whole iterations (ops layer and step, hw/opsamples.h) against the sum of the
 * fitted operators: what is left becomes the gaps of a profile (hw/gaps.h). Two levels, one after the other:
 * layers against the sum of their operators, then iterations against the sum of theirs with the layers' gaps
 * in it; prefill and decode apart.
 *
 * The form is the simplest that predicts points that it did not see about as well as the best does (lower
 * by no more than a twentieth and 0.2 %, of the sum of median and 95th percentile): nothing, a constant, a
 * share of the sum, both, or a constant and a part that grows with the rows, with or without a share. Points
 * are dealt to five parts by their hash, as in fit/opfit.h. Least squares of relative errors, repeated with
 * Huber's weights (1964), so that points that a loaded machine spoiled don't bend the rest. A form needs 4, 6
 * or 9 points for its 1, 2 or 3 coefficients.
 */
#ifndef MC_FIT_OPGAP_H
#define MC_FIT_OPGAP_H

#include <jansson.h>

#include "base/err.h"
#include "base/vec.h"
#include "hw/operators.h"
#include "hw/opsamples.h"

enum mc_opgap_level { MC_OPGAP_LAYER, MC_OPGAP_STEP, MC_OPGAP_LEVELS };

/* Of one model at one degree. */
struct mc_opgap {
	struct mc_gaps gaps;
	struct {
		size_t points, flagged; /* of repeats one */
		size_t unphysical;      /* faster than the hardware allows for the operators */
		size_t lacking;         /* of operators that no curve gives the time of */
		char why[256];          /* of the first of those */
	} level[MC_OPGAP_LEVELS];
};

struct mc_opgaps {
	MC_VEC(struct mc_opgap)
	size_t nameless; /* layers and steps in files that name no model */
};

/* Of n files, with o's curves. Errors (MC_USAGE): a file's model is none, or can't be shared by its GPUs.
 * *g needs _fini only on success. */
int mc_opgaps_samples(struct mc_opgaps *g, const struct mc_operators *o, const struct mc_opsamples *s,
		      size_t n, struct mc_err *err);
void mc_opgaps_fini(struct mc_opgaps *g);
/* The list for a profile, the caller's; NULL: nothing was measured. */
json_t *mc_opgaps_list(const struct mc_opgaps *g);

#endif
