/* Early rejection (report, section 7.2): both loads are judged on arrival, as they are then. Those that are
 * still in prefill do not count as decode load yet: by the time that they do, too many were taken, and
 * prefill idles until they have gone. */
#include "sched/admission.h"
#include "sched/load.h"

static enum mc_refusal arrive(const struct mc_view *view, const struct mc_prompt *prompt,
			      const struct mc_decision *placed)
{
	enum mc_refusal r = mc_admission_prefill(view, prompt, placed);

	if (r || placed->decode == MC_NONE)
		return r;
	return mc_admission_decode(view, prompt, mc_load_running(view, placed->decode));
}

const struct mc_admission mc_admission_early = {
    .name = "early",
    .help = "both loads are judged on arrival (early rejection)",
    .judges = true,
    .arrive = arrive,
};
