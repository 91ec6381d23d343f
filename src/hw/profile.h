/*
 * A hardware profile: what a node is (peaks, bandwidths, limits: never derived from fits) and, kept apart,
 * measured times keyed by (model shape, tensor-parallel degree) with the fitted and the trusted range.
 * JSON, schema 1; installed in MC_PROFILE_DIR, searched first in $MOONCAKE_PROFILE_DIR.
 *
 *     {"schema": "1.0", "name": ..., "date": ..., "source": ...,
 *      "hardware": {facts of the node},
 *      "analytic": {efficiencies assumed for shapes that nobody measured, and how far they are trusted},
 *      "measured": {"MODEL-tpN": {times of one shape at one degree}, ...},
 *      "operators": {times of operators, for any shape; hw/operators.h}}
 *
 * `mooncake fit` writes the measured parts. Field tables in profile.c describe every key.
 */
#ifndef MC_HW_PROFILE_H
#define MC_HW_PROFILE_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"
#include "conf/field.h"
#include "hw/operators.h"

/* How far times hold: tokens of one prompt, context tokens of one request in decode, requests in a batch. */
struct mc_range {
	int64_t prompt_max, context_max, batch_max;
};

/* Measured times of one model shape at one tensor-parallel degree. */
struct mc_measured {
	char *key;   /* in "measured" */
	char *model; /* for people; the shape below decides what it applies to */
	int64_t tensor_parallel;
	/* the shape, as in model/shape.h */
	int64_t layers, hidden, heads, kv_heads, head_dim, ffn, vocab, weight_bytes_per_param,
	    kv_bytes_per_value;
	int64_t tied_embeddings, qkv_bias, experts, experts_per_token, shared_experts, expert_ffn,
	    dense_layers, kv_lora_rank, q_lora_rank, rope_head_dim, v_head_dim;
	double prefill_a_s, prefill_b_s, prefill_c_s, prefill_load_s; /* see model/cost.h */
	double decode_base_s, decode_context_s;
	struct mc_range fit;                            /* what was measured */
	struct mc_range trust;                          /* extrapolated by operation counts */
	double prefill_error_ratio, decode_error_ratio; /* largest |fitted / measured - 1| of any point */
	char *source, *date;
	char *method;        /* how it was fitted */
	char *trust_reason;  /* why the trusted range is that wide */
	char *batch_growth;  /* where growth with the batch comes from */
	json_t *points;      /* object of lists: every sample, what the fit says, and the error; or NULL */
	struct mc_conf conf; /* owns the strings */
};

/* Must stay where it was loaded: conf points into it. */
struct mc_profile {
	struct mc_conf conf; /* owns the strings */
	char *path;          /* the file it came from */
	char *name;
	char *source;
	char *date;
	/* hardware, per GPU unless said */
	int64_t gpus;
	double peak_flops, memory_bytes_per_s;
	int64_t vram_bytes;
	double vram_reserve_ratio; /* not usable for weights or KV */
	double h2d_bytes_per_s;    /* whole node, at most what its host memory gives */
	double link_bytes_per_s;   /* to the other GPUs of the node, one direction; 0: not known */
	int64_t nics;
	double nic_bytes_per_s; /* one NIC, one direction */
	char *nic_list;         /* rates of the NICs one by one, separated by commas; "": all alike */
	double net_efficiency;  /* measured share of the line rate */
	/* between NICs and memories, see net/topology.h; 0: no limit */
	int64_t sockets, pcie_switches;
	double pcie_bytes_per_s, socket_bytes_per_s, host_nic_bytes_per_s;
	double nic_failover_s;
	double net_startup_s;
	double net_request_s, net_slice_s; /* see hw/nettime.h */
	int64_t net_slice_bytes;
	double net_peer_loss, net_duplex;
	double schedule_s;
	int64_t dram_bytes;
	double dram_bytes_per_s; /* host memory, read and written together; 0: not known */
	int64_t ssds; /* SSDs of a node that hold KV, 0: none; the rest is of one of them unless said */
	int64_t ssd_bytes;
	double ssd_read_bytes_per_s, ssd_write_bytes_per_s; /* at full depth */
	double ssd_latency_s; /* one read of ssd_io_bytes, nothing else going on */
	int64_t ssd_io_bytes;
	int64_t ssd_queue_depth; /* reads under way at a node */
	char *hardware_source;
	/* analytic efficiencies, for shapes nobody measured */
	double flops_efficiency, attention_efficiency, memory_efficiency, launch_s_per_layer;
	struct mc_range trust;
	char *analytic_source;
	json_t *measured_json;        /* as read; object or NULL */
	struct mc_measured *measured; /* n_measured, may be none */
	int64_t n_measured;
	json_t *operators_json;        /* as read; object or NULL */
	struct mc_operators operators; /* n 0: none */
};

#define MC_NICS_MAX 64

/* NICs of a node, and what is between them and the memories: bytes/s that transfers reach, one direction; a
 * limit of 0 is none. */
struct mc_nics {
	uint32_t n, gpus, sockets, switches;
	double bytes_per_s[MC_NICS_MAX];
	double switch_bytes_per_s, socket_bytes_per_s, host_bytes_per_s;
	double failover_s; /* from the failure of a NIC until its bytes are resent over others */
};

void mc_profile_nics(const struct mc_profile *p, struct mc_nics *n);
/* Of all NICs at their line rates, one direction. */
double mc_profile_line_bytes_per_s(const struct mc_profile *p);
double mc_nics_sum(const struct mc_nics *n); /* of the NICs alone */
double
mc_nics_bytes_per_s(const struct mc_nics *n); /* of the node: at most that, and what the limits let through */

/* What one GPU of the node can do at most. Copies from and to the host: what all GPUs do together, as one may
 * have the switch that it shares to itself. Disks and NICs: all of the node. */
void mc_profile_limits(const struct mc_profile *p, struct mc_op_limits *l);

/* Fields of struct mc_profile and of struct mc_measured, for loading and for help. */
extern const struct mc_field mc_profile_fields[];
extern const struct mc_field mc_measured_fields[];

/* By name (in the profile directories) or path (holds a '/' or ends in .json). *p needs _fini only on
 * success. */
int mc_profile_load(struct mc_profile *p, const char *name_or_path, struct mc_err *err);
/* The same from memory; path stands for the file in messages. */
int mc_profile_load_text(struct mc_profile *p, const char *text, const char *path, struct mc_err *err);
void mc_profile_fini(struct mc_profile *p);
/* Names of the installed profiles, sorted, NULL-terminated; free each and the list. */
char **mc_profile_list(void);

#endif
