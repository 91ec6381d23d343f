/*
 * What a run leaves behind: a row a request, a time series, and the segments of the decode nodes, from which
 * every metric is computed (cluster/metrics.h). Both composition roots write the same records.
 */
#ifndef MC_CLUSTER_RESULT_H
#define MC_CLUSTER_RESULT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "base/vec.h"
#include "cluster/classes.h"
#include "engine/segment.h"
#include "sched/conductor.h"

enum mc_outcome {
	MC_UNFINISHED = 0, /* still there at run.until */
	MC_COMPLETED,
	MC_REJECTED, /* refused by the Conductor: see refusal */
	MC_FAILED,   /* lost to a fault */
};

const char *mc_outcome_name(enum mc_outcome o);

/* One request. Times are absolute simulated ns; -1: did not happen. */
struct mc_row {
	/* When it was first wanted; last sent; decided on; prefill_end: the first token exists. */
	mc_time arrival, sent, decided, prefill_start, prefill_end;
	mc_time handover_end;   /* last KV block at the decode node's DRAM */
	mc_time end;            /* last token */
	mc_time fetch_wait;     /* time that prefill stood still for blocks from other nodes */
	mc_time predicted_ttft; /* decided - arrival + T_queue + T_transfer + T_prefill */
	mc_time tbt;            /* mean of the longest ceil(10 %) token intervals; 0 when there is none */
	double compute_s,
	    load_s; /* engine time of the forward passes; loading the cached prefix (what it adds to them) */
	uint32_t input, output; /* tokens */
	/* Cached tokens used, by where they were when the request was placed: DRAM of its node, DRAM of
	 * another, SSD of any. */
	uint32_t local_hit, remote_hit, ssd_hit;
	uint32_t prefill, decode;    /* instances; MC_NONE */
	uint32_t source, ssd_source; /* nodes that cached blocks came from: prefill instances, then decode
					nodes; MC_NONE */
	uint8_t outcome, refusal;    /* enum mc_outcome, enum mc_refusal */
	uint8_t class;               /* in mc_result's classes */
	bool counted;                /* arrived after run.warmup */
	uint32_t attempts;           /* how often its client sent it */
	uint32_t refusals; /* how often it was refused; but for these three all is of the last attempt */
	double wasted_s;   /* engine time of its prefills that were refused all the same */
	uint32_t retries;  /* how often a fault made it start over, or send all its KV again, to another
			      decode node; all the rest is of the last time */
};

/* What faults did, whole run. */
struct mc_outages {
	uint64_t nodes, nics;        /* failures of instances, of NICs */
	mc_time node_down, nic_down; /* sums over them */
	uint64_t lost_blocks;        /* of DRAM pools */
	uint64_t restarts;           /* requests that started over */
	uint64_t moves;              /* hand-overs that began again, to another decode node */
	uint64_t failed_fetches;     /* requests that computed what they could not fetch */
	mc_time lost_prefill;        /* engine time of prefills whose KV was lost, node-ns */
	int64_t lost_tokens;         /* of answers */
};

/* With nodes that change between prefill and decode: node-seconds of all nodes up to the end of the run. */
struct mc_role_times {
	uint64_t switches;
	double prefill_s, decode_s; /* in the role, draining included */
	double drain_s, away_s;
};

/* Such a node: its two instances. */
struct mc_switchable {
	uint32_t prefill, decode;
};

/* Prompt tokens that need no computing. */
static inline uint32_t mc_row_hit(const struct mc_row *r)
{
	return r->local_hit + r->remote_hit + r->ssd_hit;
}

/* One sample of the cluster. */
struct mc_sample {
	mc_time at;
	uint32_t prefill_queued, prefill_running;    /* requests */
	mc_time prefill_wait_mean, prefill_wait_max; /* predicted T_queue over instances */
	uint32_t decode_running,
	    decode_waiting; /* requests in batches; with their KV at the node but not in a batch */
	uint32_t decode_batch_max;
	mc_time decode_iteration_max; /* predicted iteration time of the largest batch */
	double decode_kv_ratio_max;   /* VRAM in use, fullest node */
	/* KV in VRAM of the decode nodes, tokens: set aside for requests (from the start of their prefill to
	 * their last token, prompt and output), and of those contexts that are in batches now. */
	int64_t vram_reserved, vram_active;
	double prefill_load, decode_load;  /* of the pools: sched/load.h */
	double link_ratio_max;             /* busiest link since the last sample, share of its capacity */
	uint32_t link_max;                 /* which */
	uint64_t input_tokens, hit_tokens; /* of requests dispatched so far */
	uint64_t pool_used_blocks, pool_blocks; /* all DRAM pools */
	uint32_t prefill_down, decode_down;     /* instances, whether the Conductor knows or not */
	uint32_t prefill_nodes, decode_nodes;   /* nodes that have the role, draining ones included */
	uint64_t ssd_used_blocks, ssd_blocks;   /* all SSD tiers */
	/* Requests at their clients: not sent, since too many are under way; refused, to be sent again. */
	int64_t held, backing_off;
};

struct mc_rows {
	MC_VEC(struct mc_row)
};
struct mc_samples {
	MC_VEC(struct mc_sample)
};

struct mc_result {
	struct mc_row *row; /* n_rows, in arrival order */
	int64_t n_rows;
	struct mc_classes classes; /* of the requests */
	struct mc_samples samples;
	mc_time sample;               /* their interval: run.sample, doubled when they became too many */
	struct mc_segments *segment;  /* one list a decode node */
	struct mc_intervals first;    /* first token interval of counted requests */
	uint32_t n_prefill, n_decode; /* instances */
	uint32_t prefill_group;
	bool coupled; /* nodes that do both: decode instance i is prefill instance i */
	uint64_t preemptions, recomputed_tokens; /* of coupled nodes */
	mc_time *prefill_busy; /* a prefill instance: engine time, node-ns (a group's nodes each count) */
	mc_time *decode_busy;  /* a decode node: time in iterations */
	uint64_t evicted_blocks, unstored_blocks; /* DRAM pools */
	uint64_t ssd_evicted_blocks, ssd_unstored_blocks;
	double ssd_read_bytes, ssd_written_bytes; /* those of transfers that have begun */
	double
	    fetched_bytes; /* KV moved between prefill nodes; of a transfer that was cut off, what was sent */
	uint64_t wasted_prefills;     /* of requests that were refused after it */
	uint64_t stale_blocks;        /* that the Conductor counted on, and that were gone */
	uint64_t write_backs;         /* answers whose KV a later prompt can find */
	uint64_t write_back_homeless; /* of those that prefill instances need: none had the prompt any more */
	uint64_t replica_copies, replica_dropped_blocks; /* by the replication policy: begun; given up */
	double replica_bytes;    /* KV that it moved between prefill instances, likewise */
	double write_back_bytes; /* KV of answers moved to prefill instances, likewise */
	double handover_bytes;   /* KV moved to decode nodes, likewise */
	int64_t *stage_bytes;    /* a prefill instance: activations between its nodes, all boundaries */
	double *link_bytes, *link_capacity; /* n_links, as in net/fabric.h; the capacity at the end */
	char **link_name; /* "prefill3.out", "decode0.in", "rack0.up", "prefill3.ssd", "prefill3.ssd.write" */
	uint32_t n_links;
	uint32_t n_net_links;             /* the first ones: of the network; the rest are of SSDs */
	uint32_t rack_link, n_rack_links; /* those of racks among them; the first, how many */
	double resent_bytes;              /* sent, and lost with a NIC */
	struct mc_outages outages;
	struct mc_role_times roles;
	struct mc_switchable *switchable; /* n_switchable: nodes that may change their role */
	uint32_t n_switchable;
	mc_time end; /* simulated time of the last event that belongs to a request */
	uint64_t events;
	bool interrupted; /* by a signal: figures are of the requests so far */
};

void mc_result_fini(struct mc_result *r);

#endif
