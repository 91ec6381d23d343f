/*
 * Metrics of a run, each defined once (mc_metric_defs: the text of `help metrics`). Percentiles are exact
 * (nearest rank).
 */
#ifndef MC_CLUSTER_METRICS_H
#define MC_CLUSTER_METRICS_H

#include "cluster/result.h"
#include "cluster/scenario.h"
#include "model/cost.h"
#include "stat/summary.h"

#define MC_LENGTH_CLASSES 6 /* prompts up to 2k, 8k, 16k, 32k, 64k and longer (k = 1,024) */

struct mc_length_class {
	int64_t max_tokens; /* inclusive; INT64_MAX for the last */
	int64_t requests, completed, effective;
	struct mc_summary ttft, tbt;
	double hit_ratio;
};

/* Of one class of requests. */
struct mc_class_metrics {
	struct mc_class class;
	int64_t requests, completed, rejected, effective;
	double effective_ratio;
	struct mc_summary ttft, tbt;
};

/* Of one operator and dimension, times from operators: passes that lie beyond what was measured. */
struct mc_range_count {
	struct mc_op_range range;
	int64_t passes, below, above; /* prefill chunks of counted requests and decode iterations */
	double most;                  /* the largest there was */
};

struct mc_metrics {
	int64_t total, completed, rejected, failed, unfinished, effective,
	    warmup;       /* requests; warmup is not in total */
	int64_t retried;  /* requests that a fault made start over, or be handed over again */
	int64_t resent;   /* attempts after a request's first */
	int64_t refusals; /* of all attempts */
	int64_t rejected_by[MC_REFUSALS];
	struct mc_summary ttft, handover, ttft_handover, tbt, itl, tpot, e2e; /* seconds */
	int64_t ttft_met, tbt_met;                                            /* completed requests */
	double effective_ratio;
	int64_t input_tokens, hit_tokens, local_hit_tokens, remote_hit_tokens,
	    ssd_hit_tokens;       /* dispatched, counted requests */
	int64_t output_tokens;    /* of completed requests */
	int64_t effective_tokens; /* of those, of effective ones */
	double hit_ratio;
	double compute_s_mean, gpu_time_s_mean, queue_s_mean, fetch_wait_s_mean; /* a completed prefill */
	double ttft_error_mean_s; /* mean of |predicted - actual| TTFT */
	double prefill_busy_ratio, decode_busy_ratio, batch_mean;
	int64_t iterations;
	double prefill_nodes_mean, decode_nodes_mean; /* that had the role */
	double network_bytes, busiest_link_ratio;
	uint32_t busiest_link;     /* MC_NONE: no links */
	double busiest_rack_ratio; /* 0: no racks */
	double resent_bytes;
	int64_t stage_bytes;
	double stage_nic_ratio;
	int64_t wasted_prefills;
	double wasted_s;
	double prefill_load_mean, decode_load_mean, load_correlation;
	double requests_per_s, input_tokens_per_s, output_tokens_per_s;
	double goodput_requests_per_s, goodput_tokens_per_s;
	double duration_s; /* from the end of the warm-up to the last event */
	double outside_fit_ratio,
	    outside_trust_ratio; /* share of counted requests beyond the profile's ranges */
	double batch_outside_fit_ratio,
	    batch_outside_trust_ratio; /* the same of decode iterations, by their batch */
	struct mc_range_count range[MC_OP_RANGES];
	int n_ranges;        /* 0: times are no sums of operators */
	bool steady;         /* queues did not grow over the last half of the arrivals */
	double queue_growth; /* mean prefill wait in the last quarter over that in the one before */
	struct mc_length_class by_length[MC_LENGTH_CLASSES];
	int64_t no_objective; /* requests without one of TTFT or of TBT */
	uint32_t n_classes;   /* 0: no classes are given */
	struct mc_class_metrics by_class[MC_CLASSES];
	char bottleneck[256]; /* one line: which pool, link or tier, how much, when */
};

void mc_metrics_compute(const struct mc_scenario *s, const struct mc_cost *cost, const struct mc_result *r,
			struct mc_metrics *m);

/* A request that ended the run before it arrived is no request of this run (run.until, interrupted); nor is
 * one that no client came to take. */
bool mc_row_arrived(const struct mc_result *r, const struct mc_row *row);
/* The class of a request. Did it, completed, meet its objectives? Without an objective it did not. */
struct mc_class mc_row_class(const struct mc_scenario *s, const struct mc_result *r,
			     const struct mc_row *row);
bool mc_row_ttft_met(const struct mc_row *row, const struct mc_class *class);
bool mc_row_tbt_met(const struct mc_row *row, const struct mc_class *class);
/* metrics_class.c: a part of mc_metrics_compute. */
void mc_metrics_classes(const struct mc_scenario *s, const struct mc_result *r, struct mc_metrics *m);
/* metrics_range.c. */
void mc_metrics_ranges(const struct mc_cost *cost, const struct mc_result *r, struct mc_metrics *m);

struct mc_metric_def {
	const char *key; /* as in the JSON result: "ttft_s", "cache.hit_ratio" */
	const char *unit;
	const char *text; /* the definition */
};

extern const struct mc_metric_def mc_metric_defs[]; /* ends with a NULL key */

/* The definition of "ttft_s.p99": the longest defined key that it is or that it lies below. NULL: none. */
const struct mc_metric_def *mc_metric_find(const char *key);
/* Its unit; "count" for "ttft_s.count", "" when it has none. */
const char *mc_metric_unit(const char *key);

#endif
