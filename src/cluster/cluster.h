/*
 * The simulated cluster: the composition root that carries out the Conductor's decisions in virtual time, on
 * a trace, with the times of a cost model.
 */
#ifndef MC_CLUSTER_CLUSTER_H
#define MC_CLUSTER_CLUSTER_H

#include <signal.h>

#include "base/err.h"
#include "cluster/replicas.h"
#include "cluster/result.h"
#include "cluster/scenario.h"
#include "model/cost.h"
#include "trace/store.h"

/* One placement as it was decided (the last time, if it was decided again after a fault), with what every
 * other instance would have cost. */
struct mc_explanation {
	int64_t request; /* in: its number in the trace, from 0; -1: none */
	bool found;
	struct mc_decision decision;
	struct mc_score *score; /* n, by instance, .prefill MC_NONE: it was down; free() */
	mc_time *decode_load;   /* predicted iteration time, n_decode, -1: it was down; free() */
	uint32_t n, n_decode;
	mc_time decided;
};

struct mc_cluster_hooks {
	void (*progress)(void *arg, int64_t done, int64_t total,
			 mc_time now); /* called now and then; may be NULL */
	void *arg;
	const volatile sig_atomic_t *interrupted; /* leave early when it becomes non-zero; may be NULL */
	struct mc_explanation *explain;           /* may be NULL */
	struct mc_replicas *replicas;             /* out: mc_replicas_fini; may be NULL */
};

/* What a run is made of; all borrowed. The scenario was checked, and the cost model belongs to it. */
struct mc_cluster_setup {
	const struct mc_scenario *scenario;
	const struct mc_cost *cost;
	const struct mc_trace *trace;
	const struct mc_cluster_hooks *hooks;
};

/*
 * Replay the trace and fill *r (mc_result_fini). Errors: a cluster that cannot exist (MC_USAGE); an invariant
 * that does not hold under run.check (MC_FAIL).
 */
int mc_cluster_run(const struct mc_cluster_setup *setup, struct mc_result *r, struct mc_err *err);

/* "prefill3", "decode0": of a node. Returns buf. */
char *mc_cluster_node_name(const struct mc_result *r, uint32_t node, char *buf, size_t n);

#endif
