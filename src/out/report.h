/*
 * What a sink is given, and the sinks: one file sink_NAME.c each, defining mc_sink_NAME, its name in
 * OUT_SINKS of local.mk. A report borrows all that it points to.
 */
#ifndef MC_OUT_REPORT_H
#define MC_OUT_REPORT_H

#include <jansson.h>
#include <stdint.h>
#include <stdio.h>

#include "base/vec.h"
#include "cluster/metrics.h"
#include "conf/field.h"
#include "trace/store.h"

#define MC_RESULT_SCHEMA "1.0"

/* A setting that was given and had no effect on this run. */
struct mc_ignored {
	const char *key, *reason;
};

struct mc_ignored_list {
	MC_VEC(struct mc_ignored)
};

struct mc_report {
	const char *version;        /* of the program */
	const char *name;           /* the scenario, as the user named it */
	const struct mc_conf *conf; /* of the scenario */
	const struct mc_scenario *scenario;
	const struct mc_trace *trace;
	const char *model, *profile; /* names */
	const struct mc_result *result;
	const struct mc_metrics *metrics;
	const struct mc_profile *hardware;
	const struct mc_cost *cost;
};

struct mc_sink {
	const char *name;
	const char *help; /* one line */
	void (*write)(FILE *out,
		      const struct mc_report *report); /* write errors stay in out for the caller */
};

/* Sorted by name, NULL-terminated. */
extern const struct mc_sink *const mc_sinks[];
const struct mc_sink *mc_sink_find(const char *name); /* NULL: none */

/* The JSON result as a new reference. Keys keep their order; numbers are in base units. */
json_t *mc_report_json(const struct mc_report *report);
/* How every JSON result is written: the same bytes for the same run. A newline ends it. */
void mc_report_dump(FILE *out, const json_t *doc);

/* Settings that were given and that this run could not use. mc_vec_fini the list. */
/* Settings that this scenario can't use. cost NULL: as if its times were closed forms. */
void mc_report_ignored(const struct mc_conf *conf, const struct mc_scenario *s, const struct mc_cost *cost,
		       struct mc_ignored_list *list);
/* The same after a run: with what turned out on the way. */
void mc_report_ignored_by(const struct mc_report *report, struct mc_ignored_list *list);

#endif
