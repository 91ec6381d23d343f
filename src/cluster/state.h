/* The inside of a simulated cluster, shared by the files of this room alone. */
#ifndef MC_CLUSTER_STATE_H
#define MC_CLUSTER_STATE_H

#include "cluster/cluster.h"
#include "des/loop.h"
#include "kv/future.h"
#include "kv/pool.h"
#include "engine/decode.h"
#include "engine/prefill.h"
#include "net/flow.h"
#include "sched/conductor.h"

#define MC_CLUSTER_SAMPLES 1000000 /* rows of a time series, at most; even */

struct mc_cluster;

/* A request between its dispatch and its last token. */
struct mc_flight {
	struct mc_cluster *cluster;
	struct mc_row *row;
	uint32_t local, hit; /* blocks of the prompt: held at dispatch, cached when prefill starts */
	struct mc_lease lease, source; /* at its prefill instance; at the instance that it fetches from */
	struct mc_prefill_job prefill;
	struct mc_decode_job decode;
	struct mc_flight *next_free;
};

struct mc_cluster {
	const struct mc_scenario *scenario;
	const struct mc_cost *cost;
	const struct mc_trace *trace;
	const struct mc_cluster_hooks *hooks;
	struct mc_result *result;
	struct mc_err *err; /* first invariant that did not hold */
	struct mc_loop loop;
	struct mc_net *net;
	struct mc_tree *tree;
	struct mc_pool **pool;    /* n_prefill */
	struct mc_future *future; /* NULL: kv.evict needs none */
	struct mc_prefill *prefill;
	struct mc_decode *decode;
	struct mc_view view;
	struct mc_conductor conductor;
	bool layerwise;
	struct mc_event arrive, decide, sample;
	int64_t arrived, decided; /* requests so far */
	int64_t open;             /* decided, neither completed nor refused */
	mc_time schedule;         /* latency of a decision */
	struct mc_flight *free_flights;
	struct {
		MC_VEC(struct mc_flight *)
	} chunks; /* of flights, freed at the end */
	struct {
		MC_VEC(struct mc_step)
	} steps;                           /* scratch of one decision */
	double *link_seen;                 /* bytes of each link at the last sample */
	mc_time sampled;                   /* when that was */
	uint64_t input_tokens, hit_tokens; /* dispatched so far */
};

/* Links: prefill instance i sends on 2i and receives on 2i + 1, decode node j receives on 2 n_prefill + j. */
static inline uint32_t mc_cluster_link_out(uint32_t prefill)
{
	return 2 * prefill;
}

static inline uint32_t mc_cluster_link_in(uint32_t prefill)
{
	return 2 * prefill + 1;
}

static inline uint32_t mc_cluster_link_decode(const struct mc_cluster *c, uint32_t decode)
{
	return 2 * c->view.n_prefill + decode;
}

/* dispatch.c: let the Conductor decide on a request of the trace, and carry it out. */
void mc_cluster_dispatch(struct mc_cluster *c, int64_t request);
/* What an instance reports when a prompt starts or ends, or its blocks arrive. */
void mc_cluster_prefill_launched(void *cluster, struct mc_prefill_job *job);
void mc_cluster_prefill_finished(void *cluster, struct mc_prefill_job *job);
void mc_cluster_decode_finished(void *cluster, struct mc_decode_job *job);

/* limits.c: MC_USAGE, with the key, when the trace cannot be run on this cluster. */
int mc_cluster_limits(struct mc_cluster *c);

/* explain.c */
void mc_cluster_explain(struct mc_cluster *c, const struct mc_prompt *prompt,
			const struct mc_decision *decision);

/* sample.c */
void mc_cluster_sample(struct mc_cluster *c);

/* check.c: invariants at this instant (run.check); the first that fails stops the run and is kept in c->err.
 */
void mc_cluster_check(struct mc_cluster *c);
/* At the end of a run: nothing lost, nothing counted twice. */
void mc_cluster_check_end(struct mc_cluster *c);

#endif
