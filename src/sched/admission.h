/*
 * Admission: which requests are refused under overload, and when (report, section 7). One rule a file in
 * admit/, one line in local.mk. A rule reads the view; what it needs of the past is in the view's horizon.
 *
 * All rules judge prefill on arrival, by the request's predicted TTFT, and leave the double check at the
 * decode instance in place, with all KV there. They differ in when and by what decode is judged.
 */
#ifndef MC_SCHED_ADMISSION_H
#define MC_SCHED_ADMISSION_H

#include <stdbool.h>

#include "sched/decision.h"

struct mc_admission {
	const char *name;
	const char *help;  /* one line */
	bool judges;       /* refuses anything at all: else there is no double check, either */
	bool uses_horizon; /* reads view->horizon */
	bool uses_length;  /* of which by predicted output lengths */
	/* On arrival: the request, and the place that was chosen for it. */
	enum mc_refusal (*arrive)(const struct mc_view *view, const struct mc_prompt *prompt,
				  const struct mc_decision *placed);
	/* At the end of its prefill, when it goes on to decode instance `decode`; NULL: not judged again. */
	enum mc_refusal (*prefilled)(const struct mc_view *view, const struct mc_prompt *prompt,
				     uint32_t decode);
};

/* Sorted by name, NULL-terminated. */
extern const struct mc_admission *const mc_admissions[];
extern const char *const mc_admissions_names[]; /* the same, names alone */
const struct mc_admission *mc_admission_find(const char *name);

/* What rules are made of. By the predicted TTFT of the place; by these others and this one at a decode
 * instance. Refused above the request's admit_load. */
enum mc_refusal mc_admission_prefill(const struct mc_view *view, const struct mc_prompt *prompt,
				     const struct mc_decision *placed);
enum mc_refusal mc_admission_decode(const struct mc_view *view, const struct mc_prompt *prompt,
				    struct mc_tally_sum others);
/* When the prefill that was placed will start and end. */
mc_time mc_admission_starts(const struct mc_view *view, const struct mc_decision *placed);
mc_time mc_admission_joins(const struct mc_view *view, const struct mc_decision *placed);

#endif
