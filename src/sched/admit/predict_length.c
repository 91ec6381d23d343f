/* The same with a prediction for each request (the report's future work): it leaves when the output of the
 * length predicted for it is made (conductor.length_predictor). */
#include "sched/admission.h"
#include "sched/horizon.h"

static enum mc_refusal arrive(const struct mc_view *view, const struct mc_prompt *prompt,
			      const struct mc_decision *placed)
{
	enum mc_refusal r = mc_admission_prefill(view, prompt, placed);

	if (r || placed->decode == MC_NONE)
		return r;
	return mc_admission_decode(view, prompt,
				   mc_horizon_by_length(view->horizon, placed->decode,
							mc_admission_starts(view, placed),
							mc_admission_joins(view, placed)));
}

const struct mc_admission mc_admission_predict_length = {
    .name = "predict-length",
    .help = "decode load is predicted for the end of prefill by the output length predicted for each request",
    .judges = true,
    .uses_horizon = true,
    .uses_length = true,
    .arrive = arrive,
};
