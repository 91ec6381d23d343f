/* No admission: all that could ever be served is taken, however long it waits. */
#include "sched/admission.h"

static enum mc_refusal arrive(const struct mc_view *view, const struct mc_prompt *prompt,
			      const struct mc_decision *placed)
{
	(void)view;
	(void)prompt;
	(void)placed;
	return MC_TAKEN;
}

const struct mc_admission mc_admission_none = {
    .name = "none",
    .help = "all are taken, whatever the load",
    .arrive = arrive,
};
