/*
 * From a scenario to metrics, the way `run` and `compare` do it: load, check, find the trace, resolve the
 * costs, read, simulate, measure.
 */
#ifndef MC_CLI_SIMULATE_H
#define MC_CLI_SIMULATE_H

#include "base/vec.h"
#include "cluster/cluster.h"
#include "cluster/metrics.h"
#include "out/report.h"

/* What the command line says about a scenario. */
struct mc_setup {
	const char *path; /* file, or "-" */
	struct {
		MC_VEC(const char *)
	} set; /* "key=value", in order; borrowed */
	bool quiet;
};

/* Must stay where it is: conf points into it. */
struct mc_simulation {
	struct mc_scenario scenario;
	struct mc_conf conf;
	const char *name; /* the scenario, as the user named it; borrowed */
	char *trace_path; /* the file that trace.path means */
	struct mc_shape shape;
	struct mc_profile profile;
	struct mc_cost cost;
	struct mc_trace own; /* as recorded; n == 0: borrowed from another simulation, or not read */
	const struct mc_trace *recorded; /* own, or that of another simulation */
	struct mc_trace timed;           /* n > 0: the same at trace.rate and trace.spread_ticks */
	const struct mc_trace *trace;    /* timed, or recorded */
	struct mc_result result;
	struct mc_metrics metrics;
	bool has_conf, has_profile, has_result;
};

void mc_simulation_fini(struct mc_simulation *sim);

/* The scenario alone: values in range, known keys, a cluster that can exist. *sim need not be initialised. */
int mc_simulation_configure(struct mc_simulation *sim, const struct mc_setup *setup, struct mc_err *err);
/* Model, profile and costs; the trace's file exists. */
int mc_simulation_resolve(struct mc_simulation *sim, const struct mc_setup *setup, struct mc_err *err);
/* Read the trace, or borrow that of `like` (may be NULL), which must live longer, when it would be the same
 * but for the times of its requests. */
int mc_simulation_read(struct mc_simulation *sim, const struct mc_setup *setup,
		       const struct mc_simulation *like, struct mc_err *err);
/* Simulate and measure. hooks may be NULL. */
int mc_simulation_run(struct mc_simulation *sim, const struct mc_cluster_hooks *hooks, struct mc_err *err);
/* configure, resolve and read. */
int mc_simulation_open(struct mc_simulation *sim, const struct mc_setup *setup,
		       const struct mc_simulation *like, struct mc_err *err);

struct mc_report mc_simulation_report(const struct mc_simulation *sim);

/* Is anything of it random? If not, all seeds give the same. */
bool mc_simulation_is_random(const struct mc_simulation *sim);

#endif
