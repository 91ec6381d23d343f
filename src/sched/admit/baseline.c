/* The report's baseline: prefill is judged on arrival, decode only when prefill has ended, which is then
 * wasted. */
#include "sched/admission.h"
#include "sched/load.h"

static enum mc_refusal prefilled(const struct mc_view *view, const struct mc_prompt *prompt, uint32_t decode)
{
	struct mc_tally_sum others = mc_load_running(view, decode);

	others.kv -= mc_prompt_kv(prompt); /* its own is there since its prefill began */
	return mc_admission_decode(view, prompt, others);
}

const struct mc_admission mc_admission_baseline = {
    .name = "baseline",
    .help = "prefill load is judged on arrival, decode load after prefill",
    .judges = true,
    .arrive = mc_admission_prefill,
    .prefilled = prefilled,
};
