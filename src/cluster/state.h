/* The inside of a simulated cluster, shared by the files of this room alone. */
#ifndef MC_CLUSTER_STATE_H
#define MC_CLUSTER_STATE_H

#include "cluster/arrivals.h"
#include "cluster/cluster.h"
#include "cluster/faults.h"
#include "cluster/roles.h"
#include "des/loop.h"
#include "kv/future.h"
#include "kv/pool.h"
#include "engine/coupled.h"
#include "engine/decode.h"
#include "engine/prefill.h"
#include "net/fabric.h"
#include "sched/conductor.h"
#include "sched/horizon.h"
#include "trace/turns.h"

#define MC_CLUSTER_SAMPLES 1000000 /* rows of a time series, at most; even */

struct mc_cluster;

struct mc_expected;
struct mc_flight;
struct mc_replica_move;
struct mc_replica_moves;
struct mc_stale;

/* A part of a prompt on its way to the prefill instance: pinned where it comes from. */
struct mc_fetch {
	struct mc_flight *flight;
	struct mc_part part;
	struct mc_lease lease;
};

/* Blocks on their way to an SSD. */
struct mc_ssd_write {
	struct mc_lease lease;
	uint32_t from; /* blocks of the lease that are there */
};

/* The SSD tier of a node: a pool of whole prefixes, filled by one writer. */
struct mc_ssd {
	struct mc_cluster *cluster;
	uint32_t home;                    /* the node */
	struct mc_pool *pool;             /* NULL: none */
	uint32_t link_device, link_write; /* all that is read and written; what is written */
	struct {
		MC_VEC(struct mc_ssd_write)
	} write;          /* first: under way; the rest waits */
	size_t done;      /* of `write`: finished */
	uint64_t staged;  /* blocks of those that are not finished */
	uint64_t staging; /* those that there is room for */
};

enum mc_stage {
	MC_STAGE_PREFILL,  /* waits for it */
	MC_STAGE_HANDOVER, /* from the start of prefill on, and until all is at the decode node */
	MC_STAGE_DECODE,
};

/* A request between its dispatch and its last token. */
struct mc_flight {
	struct mc_cluster *cluster;
	struct mc_row *row;
	uint32_t local, hit; /* blocks of the prompt: held at dispatch, cached when prefill starts */
	uint32_t sent_from;  /* blocks that its decode node had when the hand-over began */
	struct mc_lease lease, decode_lease; /* at its prefill instance; at its decode node */
	struct mc_fetch fetch[MC_PARTS];
	uint32_t fetches, parts; /* under way; of fetch[] */
	uint32_t failed_at;      /* blocks from here on could not be fetched, from `failed_node`; MC_NONE */
	uint32_t failed_node;
	bool failure_known; /* to its prefill instance */
	enum mc_stage stage;
	bool homeless;  /* no decode instance was left for it: another is looked for at the end of prefill */
	double sending; /* bytes of its hand-over */
	uint32_t transfer;            /* its hand-over, under way; MC_NONE */
	struct mc_expected *expected; /* admit.c; NULL: nobody asks when it decodes */
	int64_t stream; /* bytes/s at which its prefill makes what is streamed; 0: no stream, or no longer */
	struct mc_prefill_job prefill;
	struct mc_decode_job decode;
	struct mc_coupled_job coupled;
	struct mc_flight *prev, *next; /* of all that are open, in order of dispatch; or of the free ones */
};

/* Blocks have .. n-1 of a chain, to be copied from a node to a prefill instance that has those before. */
struct mc_copy_job {
	const uint64_t *id;
	uint32_t n, have;
	uint32_t from, to; /* nodes */
	bool in_dram;      /* of `from`, all n, resident; else it has them in VRAM */
	double *bytes;     /* a sum of the result that they count for */
};

/* What a node tells of what it sends and reads (struct mc_view_node). */
struct mc_node_change {
	int32_t sends, streams, reads;
	int64_t stream_bytes_per_s;
};

/* What a decode instance tells of a request (struct mc_view_decode): 1: it has it from now on, -1: no longer.
 */
struct mc_decode_change {
	int8_t running, announced; /* its KV is all there; has room or waits for it */
	int8_t assigned;           /* -1 alone: it is over */
};

/* What is told of a request to admission rules that predict: its prefill starts and ends then; it is gone;
 * its last token is there. */
struct mc_admit_news {
	enum { MC_ADMIT_MOVED, MC_ADMIT_GONE, MC_ADMIT_ENDED } of;
	struct mc_expected *expected; /* NULL: it is in no horizon */
	int64_t request;
	mc_time starts, joins;
	mc_time stay; /* at decode; -1: it was not there */
};

/* One under way. */
struct mc_copying {
	struct mc_cluster *cluster;
	struct mc_copying *next, **link;
	struct mc_copy_job job; /* with ids of its own */
	struct mc_lease source, target;
	uint32_t transfer;
};

/* A node that may be lost. */
struct mc_outage {
	struct mc_cluster *cluster;
	uint32_t node;
	bool down;  /* or up, known or not */
	bool known; /* what was lost has been cleared up */
	mc_time since;
	struct mc_event detect;
	uint32_t nics;      /* of its NICs, down now */
	mc_time nics_since; /* up to when their time was counted */
};

struct mc_cluster {
	const struct mc_scenario *scenario;
	const struct mc_cost *cost;
	const struct mc_trace *trace;
	const struct mc_cluster_hooks *hooks;
	struct mc_result *result;
	struct mc_err *err; /* first invariant that did not hold */
	struct mc_loop loop;
	struct mc_fabric *fabric; /* endpoints: prefill instances, then decode nodes */
	struct mc_tree *tree;
	struct mc_pool **pool;    /* by node: prefill instances, then decode nodes; NULL: keeps nothing */
	struct mc_future *future; /* NULL: kv.evict needs none */
	struct mc_prefill *prefill;
	struct mc_decode *decode;
	struct mc_coupled *coupled; /* nodes that do both; then those two are NULL. NULL: there are none */
	struct mc_view view;
	struct mc_tree *known;  /* that of the view: `tree`, or as it was some time ago */
	struct mc_stale *stale; /* NULL: the Conductor knows all at once */
	struct mc_conductor conductor;
	struct mc_horizon *horizon; /* NULL: admission asks for none */
	bool decode_check;          /* by decode nodes, of what has all its KV there */
	struct mc_ssd *ssd;         /* by node; NULL: no SSD tier */
	struct mc_chains evicted;   /* of the pool that was leased from last */
	uint32_t ssds;              /* nodes that have one */
	uint64_t background;        /* transfers under way that no request waits for */
	struct mc_copying *copies;  /* of those, the ones of copy.c */
	struct mc_trace_turn *turn; /* by request; NULL: no answers are kept */
	uint64_t broken;            /* transfers that failed */
	double crossed;   /* bytes of transfers that have begun, once for its receiver and each SSD link */
	bool by_deadline; /* cluster.prefill_order */
	bool layerwise, caching, write_through, replicating;
	struct mc_event replicate; /* the policy's next look */
	uint32_t tick;             /* how often it has looked */
	struct mc_arrivals arrivals;
	struct mc_event sample;
	int64_t open;     /* placed, not ended */
	mc_time schedule; /* latency of a decision */
	struct mc_flight *first, *last, *free_flights;
	struct {
		MC_VEC(struct mc_flight *)
	} chunks; /* of flights, freed at the end */
	struct {
		MC_VEC(struct mc_step)
	} steps;                           /* scratch of one decision */
	double *link_seen;                 /* bytes of each link at the last sample */
	mc_time sampled;                   /* when that was */
	uint64_t input_tokens, hit_tokens; /* dispatched so far */
	struct mc_role_switch *roles;      /* NULL: no node changes its role */
	struct mc_outage *outage;          /* by node; NULL: nothing fails */
	struct mc_faults *faults;
	struct mc_fault fault; /* the next one */
	struct mc_event fail;
	struct {
		MC_VEC(struct mc_fault)
	} slow; /* under way */
	struct {
		MC_VEC(int64_t)
	} again;        /* scratch: requests that start over */
	double slowest; /* share of a link's bandwidth that slow events leave at least */
	bool stuck;     /* what is open waits for a NIC that never comes */
	/* Of work that was lost: seconds of prefills that had ended, that had begun; the same of bytes
	 * between stages. */
	double lost_ended_s, lost_begun_s;
	int64_t lost_crossed, lost_crossing;
};

/* A node's DRAM pool, or its SSD's. */
static inline struct mc_pool *mc_cluster_pool(const struct mc_cluster *c, uint32_t node)
{
	return node < c->view.ssd ? c->pool[node] : c->ssd[node - c->view.ssd].pool;
}

static inline uint32_t mc_cluster_nodes(const struct mc_cluster *c)
{
	return c->view.coupled ? c->view.n_prefill : c->view.n_prefill + c->view.n_decode;
}

/* Nodes of prefill instances, for their names; MC_NONE: coupled ones. */
static inline uint32_t mc_cluster_named(const struct mc_cluster *c)
{
	return c->view.coupled ? MC_NONE : c->view.n_prefill;
}

/* NICs of a node. */
static inline uint32_t mc_cluster_nics(const struct mc_cluster *c)
{
	return c->cost->nics.n ? c->cost->nics.n : 1;
}

/* Is it lost, whether anyone knows or not? */
static inline bool mc_cluster_dead(const struct mc_cluster *c, uint32_t node)
{
	return c->outage && c->outage[node].down;
}

/* cluster.c: "prefill3", "decode0"; n_prefill MC_NONE: "node3". */
char *mc_cluster_name(uint32_t n_prefill, uint32_t node, char *buf, size_t n);

/* cluster.c: leave early (Ctrl-C)? */
void mc_cluster_heed_interrupt(struct mc_cluster *c);

/* arrivals.c: who comes when; the first comes. Has every request ended? */
void mc_cluster_arrivals_init(struct mc_cluster *c);
void mc_cluster_arrivals_fini(struct mc_cluster *c);
void mc_cluster_arrivals_begin(struct mc_cluster *c);
bool mc_cluster_over(const struct mc_cluster *c);
void mc_cluster_arrivals_sample(const struct mc_cluster *c, struct mc_sample *s);
/* The request is refused, on arrival or later: it has no flight (any more: mc_cluster_close comes first, with
 * the outcome left as unfinished). Every refusal comes here; it may be sent again. */
void mc_cluster_refuse(struct mc_cluster *c, int64_t request, enum mc_refusal reason);
/* Its row says how. */
void mc_cluster_ended(struct mc_cluster *c, int64_t request);

/* fabric.c: the network; what it did, into the result. */
void mc_cluster_fabric_init(struct mc_cluster *c);
void mc_cluster_fabric_collect(struct mc_cluster *c);

/* coupled.c: a cluster of coupled nodes: what the view says of it; the nodes and their pools (MC_USAGE, with
 * the key, when VRAM holds nothing or too much). */
void mc_cluster_coupled_view(struct mc_cluster *c);
int mc_cluster_coupled_init(struct mc_cluster *c);
void mc_cluster_coupled_fini(struct mc_cluster *c);
/* Of the prompt that many tokens are expected to be cached. */
void mc_cluster_coupled_submit(struct mc_cluster *c, struct mc_flight *f, const struct mc_prompt *prompt,
			       uint32_t cached);
/* What waits for memory waits from now on: before the view is read. */
void mc_cluster_coupled_look(struct mc_cluster *c);
void mc_cluster_coupled_stop(struct mc_cluster *c);
void mc_cluster_coupled_collect(struct mc_cluster *c);
void mc_cluster_coupled_sample(const struct mc_cluster *c, struct mc_sample *s);
/* Sums over the rows against what the nodes counted: what is broken, or NULL. */
const char *mc_cluster_coupled_check_end(const struct mc_cluster *c);

/* tiers.c: the nodes' pools. MC_USAGE, with the key, when one would hold nothing or too much. */
int mc_cluster_tiers_init(struct mc_cluster *c);
void mc_cluster_tiers_fini(struct mc_cluster *c);

/* Lease at a node's DRAM; what has to go for it goes to the SSD, where there is one. A node that is lost
 * gives none. */
struct mc_lease mc_cluster_acquire(struct mc_cluster *c, uint32_t node, const uint64_t *id, uint32_t n);
/* ssd.c: the SSD tier of a node; blocks of one, 0: it has none. */
int mc_cluster_ssd_init(struct mc_cluster *c);
void mc_cluster_ssd_fini(struct mc_cluster *c);
/* Write the prompt's blocks that the node's SSD lacks, behind what waits already. */
void mc_cluster_ssd_store(struct mc_cluster *c, uint32_t node, const uint64_t *id, uint32_t n);

/* transfer.c: what moves KV. Fetch the parts of a placement; send the prompt's KV to the decode
 * node, layer by layer until produce_end (the last layer is there only then), or at once (0). */
void mc_cluster_fetch(struct mc_cluster *c, struct mc_flight *f, const struct mc_prompt *prompt,
		      const struct mc_score *placed);
/* Room at the decode node, from the start of prefill on: VRAM, and DRAM for what it keeps of the prompt. What
 * it has of it is pinned, and loads to VRAM meanwhile. */
void mc_cluster_reserve(struct mc_cluster *c, struct mc_flight *f);
void mc_cluster_hand_over(struct mc_cluster *c, struct mc_flight *f, mc_time produce_end);

/* One of the transfers of this room has failed: what is left of so many bytes. */
double mc_cluster_broken(struct mc_cluster *c, uint32_t transfer, double bytes);

/* Its prefill is over: what is left to send goes at full speed. */
void mc_cluster_stream_over(struct mc_cluster *c, struct mc_flight *f);

/* copy.c: begin one; ids are copied. At the end of a run those under way stop, and count what was sent. */
void mc_cluster_copy(struct mc_cluster *c, const struct mc_copy_job *job);
void mc_cluster_copies_stop(struct mc_cluster *c);

/* replicate.c: the policy of conductor.replicas; a prompt is about to be placed. */
void mc_cluster_replicate_init(struct mc_cluster *c);
void mc_cluster_replicate_note(struct mc_cluster *c, const struct mc_prompt *prompt);

/* answers.c: KV of answers. At the last token, while the request still holds its prompt at the decode node.
 */
void mc_cluster_answers_init(struct mc_cluster *c);
void mc_cluster_answer_done(struct mc_cluster *c, const struct mc_flight *f);

/* outage.c: what fails, from faults.*. MC_USAGE: what this cluster does not have. */
int mc_cluster_outages_init(struct mc_cluster *c);
void mc_cluster_outages_fini(struct mc_cluster *c);
void mc_cluster_outages_collect(struct mc_cluster *c);

/* roles.c: nodes that change between prefill and decode. After the view and the events of others. */
void mc_cluster_roles_init(struct mc_cluster *c);
void mc_cluster_roles_fini(struct mc_cluster *c);
void mc_cluster_roles_collect(struct mc_cluster *c);
/* Something has ended at a node: one that drains may be done. */
void mc_cluster_roles_eased(struct mc_cluster *c);
/* Has this instance no node now? Then it does nothing and holds nothing: does it? */
bool mc_cluster_at_rest(const struct mc_cluster *c, uint32_t node);
bool mc_cluster_rests(const struct mc_cluster *c, uint32_t node);

/* recover.c: a node was lost, and the Conductor knows now: all that was there goes on elsewhere. */
void mc_cluster_recover(struct mc_cluster *c, uint32_t node);
/* Its decode node takes it no longer, and not all of its KV is there: it gets another one. */
void mc_cluster_move(struct mc_cluster *c, struct mc_flight *f);
/* A fetch of the flight has failed, and no other one is under way. */
void mc_cluster_unfetched(struct mc_cluster *c, struct mc_flight *f);
/* Forget where the request was, and what was done for it. */
void mc_cluster_row_clear(struct mc_row *row);
/* Its prompt is computed, and there is no decode instance: find one now, or refuse it. */
void mc_cluster_find_home(struct mc_cluster *c, struct mc_flight *f);

/* dispatch.c: a request as the Conductor sees it, without its blocks. */
struct mc_prompt mc_cluster_prompt(const struct mc_cluster *c, const struct mc_row *row);
/* dispatch.c: note a part of a placement whose tokens before it are `hit`; returns those with it. */
uint32_t mc_cluster_note_part(const struct mc_cluster *c, struct mc_row *row, const struct mc_part *part,
			      uint32_t hit);
/* dispatch.c: the flight is over, and so is its request if its row says how. */
void mc_cluster_close(struct mc_flight *f);
/* Its last token exists. */
void mc_cluster_finish(struct mc_flight *f);

/* stale.c: what the Conductor learns, and when (conductor.staleness). */
void mc_cluster_stale_init(struct mc_cluster *c);
void mc_cluster_stale_fini(struct mc_cluster *c);
/* It is about to decide: every decision begins with this. Then the view is what it knows now. */
void mc_cluster_look(struct mc_cluster *c);
/* All that the node (MC_NONE: any) has told becomes known now: it was lost, and that is known. */
void mc_cluster_hear(struct mc_cluster *c, uint32_t node);
/* What nodes tell: a prefill instance's wait has changed; so has what a node sends and reads; so has what a
 * decode instance has of a request. What the Conductor decides itself it changes in the view with no detour.
 */
void mc_cluster_report(struct mc_cluster *c, uint32_t prefill);
void mc_cluster_report_change(struct mc_cluster *c, uint32_t node, const struct mc_node_change *by);
void mc_cluster_report_decode(struct mc_cluster *c, const struct mc_row *row,
			      const struct mc_decode_change *by);
void mc_cluster_report_admit(struct mc_cluster *c, uint32_t node, const struct mc_admit_news *news);
/* Where it is late: a prompt was placed, as it thinks, at an instance that holds `held` blocks of it; and
 * once it has them leased, these. A copy of the replication policy has ended; those that it cannot know of
 * yet. */
void mc_cluster_stale_given(struct mc_cluster *c, const struct mc_prompt *prompt,
			    const struct mc_score *placed, uint32_t held);
void mc_cluster_stale_kept(struct mc_cluster *c, uint32_t prefill, uint32_t held);
void mc_cluster_stale_moved(struct mc_cluster *c, const struct mc_replica_move *move);
void mc_cluster_stale_moves(struct mc_cluster *c, struct mc_replica_moves *out);
/* What does not hold of it; NULL: all does. Once it has heard all, it knows what is. */
const char *mc_cluster_stale_check(struct mc_cluster *c);
/* face.c: what can be carried out of a placement by what was known, with what is there. */
void mc_cluster_face(struct mc_cluster *c, const struct mc_prompt *prompt, struct mc_score *placed);

/* dispatch.c: let the Conductor decide on a request of the trace, and carry it out. */
void mc_cluster_dispatch(struct mc_cluster *c, int64_t request);
/* What an instance reports when a prompt starts or ends, or its blocks arrive. Starting: where prompts are
 * not served in order, what it counts on may not be there yet, and what others have computed meanwhile may.
 */
void mc_cluster_prefill_starting(void *cluster, struct mc_prefill_job *job);
void mc_cluster_prefill_launched(void *cluster, struct mc_prefill_job *job);
void mc_cluster_prefill_finished(void *cluster, struct mc_prefill_job *job);
void mc_cluster_decode_finished(void *cluster, struct mc_decode_job *job);

/* admit.c: what admission needs to know of a flight: it was dispatched, will join decode then, has got
 * another decode node, is gone before its end, is at its end. */
void mc_cluster_admit_init(struct mc_cluster *c);
void mc_cluster_admit_fini(struct mc_cluster *c);
void mc_cluster_admit_dispatched(struct mc_cluster *c, struct mc_flight *f, const struct mc_prompt *prompt,
				 const struct mc_decision *d);
void mc_cluster_admit_joins(struct mc_cluster *c, struct mc_flight *f, mc_time at);
void mc_cluster_admit_rehomed(struct mc_cluster *c, struct mc_flight *f);
void mc_cluster_admit_gone(struct mc_cluster *c, struct mc_flight *f);
void mc_cluster_admit_ended(struct mc_cluster *c, struct mc_flight *f);
/* The flight is over, or some news of it: the last one frees it. NULL is fine. */
void mc_cluster_admit_forget(struct mc_expected *e);
void mc_cluster_admit_hear(struct mc_cluster *c, const struct mc_admit_news *news);
/* May it go on, now that its prompt is computed, that all its KV is at its decode node? If not, the flight is
 * over. */
bool mc_cluster_admit_prefilled(struct mc_cluster *c, struct mc_flight *f);
bool mc_cluster_admit_arrived(struct mc_cluster *c, struct mc_flight *f);

/* limits.c: MC_USAGE, with the key, when the trace cannot be run on this cluster. */
int mc_cluster_limits(struct mc_cluster *c);

/* explain.c */
void mc_cluster_explain(struct mc_cluster *c, const struct mc_prompt *prompt,
			const struct mc_decision *decision);

/* replicas.c: for who asked (hooks). */
void mc_cluster_replicas_init(struct mc_cluster *c);
void mc_cluster_replicas_sample(struct mc_cluster *c);

/* sample.c */
void mc_cluster_sample(struct mc_cluster *c);

/* check.c: what counts as there at the start of prefill is there. */
void mc_cluster_check_launch(struct mc_cluster *c, const struct mc_flight *f);
/* check.c: invariants at this instant (run.check); the first that fails stops the run and is kept in c->err.
 */
void mc_cluster_check(struct mc_cluster *c);
/* What a request's new tokens send from stage to stage. */
int64_t mc_cluster_stage_bytes(const struct mc_cluster *c, const struct mc_row *row);
/* At the end of a run: nothing lost, nothing counted twice. */
void mc_cluster_check_end(struct mc_cluster *c);

#endif
