/*
 * A scenario: everything that determines a run, as one JSON file. The field table drives loading, --set, the
 * dump of the resolved values, `help config` and the man page.
 */
#ifndef MC_CLUSTER_SCENARIO_H
#define MC_CLUSTER_SCENARIO_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/time.h"
#include "conf/field.h"
#include "trace/reader.h"

struct mc_scenario {
	int64_t seed;
	json_t *model;        /* name or object: see model/shape.h */
	char *hardware;       /* profile name or path */
	char *hardware_times; /* model/cost.h */
	struct {
		char *path, *format;
		int64_t block_tokens, limit, max_output, max_bad;
		double rate;
		mc_time start;
		bool spread_ticks;
	} trace;
	struct {
		int64_t prefill, decode; /* nodes */
		int64_t prefill_group;   /* nodes of a prefill instance; divides prefill */
		int64_t prefill_chunk;   /* tokens */
		char *prefill_order;     /* engine/queue.h */
		double prefill_late_share;
		int64_t max_batch; /* requests of a decode iteration; 0: VRAM is the only limit */
		char *stream;      /* layerwise, after */
		int64_t coupled;   /* nodes that do both, in place of all others; 0: none */
		char *batching;    /* of those: prefill-first, chunked */
		int64_t max_batched_tokens;
	} cluster;
	struct {
		double bandwidth;      /* usable bytes/s of a node, one direction; 0: the profile's */
		double host_bandwidth; /* of its NICs to or from host memory; 0: the profile's */
		char *nics;            /* all, preferred */
		char *memory;          /* striped, one-socket */
		char *detail;          /* auto, nic */
		int64_t slice;         /* bytes; 0: the profile's */
		mc_time slice_cost;    /* of a NIC; 0: the profile's */
		mc_time failover;      /* negative: the profile's */
		int64_t rack_nodes;    /* 0: no racks */
		char *rack_order;      /* filled, dealt */
		double oversubscription;
	} net;
	struct {
		int64_t block_tokens; /* 0: the trace's */
		char *pool;           /* global, prefill, local, off */
		int64_t dram_tokens,
		    dram_bytes;      /* pool of a prefill node; bytes take precedence where not 0 */
		double decode_share; /* pool of a decode node over that of a prefill node */
		char *evict;
		bool write_back;                 /* of answers */
		int64_t vram_tokens, vram_bytes; /* KV of a decode node; both 0: what the profile leaves */
		char *ssd_write;                 /* never, evict, through */
		int64_t ssd_tokens, ssd_bytes;   /* SSD tier of a node; both 0: the profile's */
		int64_t ssd_staging_bytes;       /* of a node: evicted and not written yet */
		double ssd_read_bandwidth, ssd_write_bandwidth; /* of a node, bytes/s; 0: the profile's */
		char *ssd_evict;
	} kv;
	struct {
		char *policy, *decode_policy;
		char *admission, *decode_check, *length_predictor;
		double admit_load, length_error, length_quantile;
		double balancing_threshold;
		int64_t replicas, replica_heat,
		    replica_transfers; /* the replication policy; replicas 0: off */
		mc_time replica_interval;
		mc_time staleness; /* of the view */
	} conductor;
	struct {
		mc_time ttft, tbt;
	} slo;
	json_t *classes; /* see cluster/classes.h; NULL: none */
	struct {
		char *mode;                   /* open, closed */
		int64_t number;               /* closed: clients */
		mc_time think;                /* closed: mean */
		char *think_shape;            /* constant, exponential */
		int64_t concurrency;          /* open: requests outstanding at most; 0: no limit */
		int64_t retries;              /* of a refused request */
		mc_time backoff, backoff_max; /* before the first; before any */
		char *jitter;                 /* off, half, full */
	} clients;
	struct {
		json_t *events;                                   /* see cluster/faults.h; NULL: none */
		mc_time node_mtbf, node_mttr, nic_mtbf, nic_mttr; /* means; MC_TIME_MAX: never */
		mc_time detect;  /* until the Conductor knows of a lost node */
		int64_t retries; /* of one request */
	} faults;
	struct {
		char *policy;       /* static, load */
		int64_t switchable; /* nodes that may change their role */
		mc_time cost, interval;
		double threshold, hysteresis;
	} roles;
	struct {
		mc_time until, warmup, sample;
		bool check, fast_forward;
	} run;
};

extern const struct mc_field mc_scenario_fields[];

/* The reader's parameters of a scenario; strings are borrowed. */
struct mc_trace_params mc_scenario_trace(const struct mc_scenario *s);

/* Is anything of it random? If not, all seeds give the same. */
bool mc_scenario_is_random(const struct mc_scenario *s);

/* coupled.c: what coupled nodes do not have. Names the key. */
int mc_cluster_coupled_scenario(const struct mc_scenario *s, struct mc_err *err);

/* MC_USAGE: a setting that does not go with the rest, and what was expected. */
int mc_scenario_bad(struct mc_err *err, const char *key, const char *text);
/* What no single field can tell: a cluster that can exist, units that fit together. Names the key. */
int mc_scenario_check(const struct mc_scenario *s, struct mc_err *err);

#endif
