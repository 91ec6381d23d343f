/* Early rejection by prediction (report, section 7.4): decode load is that of the moment at which the prefill
 * will have ended, every decode taking t_d, which is measured on those that have ended. */
#include "sched/admission.h"
#include "sched/horizon.h"

static enum mc_refusal arrive(const struct mc_view *view, const struct mc_prompt *prompt,
			      const struct mc_decision *placed)
{
	enum mc_refusal r = mc_admission_prefill(view, prompt, placed);

	if (r || placed->decode == MC_NONE)
		return r;
	return mc_admission_decode(view, prompt,
				   mc_horizon_by_age(view->horizon, placed->decode,
						     mc_admission_starts(view, placed),
						     mc_admission_joins(view, placed)));
}

const struct mc_admission mc_admission_predict = {
    .name = "predict",
    .help = "decode load is predicted for the end of prefill, every decode taking the mean time",
    .judges = true,
    .uses_horizon = true,
    .arrive = arrive,
};
