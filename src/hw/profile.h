/*
 * A hardware profile: what a node is (peaks, bandwidths, limits: never derived from fits) and, kept apart,
 * measured times keyed by (model shape, tensor-parallel degree) with the fitted and the trusted range.
 * JSON, schema 1; installed in MC_PROFILE_DIR, searched first in $MOONCAKE_PROFILE_DIR.
 */
#ifndef MC_HW_PROFILE_H
#define MC_HW_PROFILE_H

#include <jansson.h>
#include <stdint.h>

#include "base/err.h"

/* Measured times of one model shape at one tensor-parallel degree. */
struct mc_measured {
	char model[64];
	int64_t tensor_parallel;
	double prefill_a_s, prefill_b_s, prefill_c_s, prefill_load_s; /* see model/cost.h */
	double decode_base_s, decode_context_s;
	int64_t fit_prefill_max, trust_prefill_max, fit_context_max, trust_context_max, fit_batch_max, trust_batch_max;
	char source[256];
};

struct mc_profile {
	char name[64];
	char source[256];
	char date[32];
	/* hardware, per GPU unless said */
	int64_t gpus;
	double peak_flops, memory_bytes_per_s;
	int64_t vram_bytes;
	double vram_reserve_ratio; /* not usable for weights or KV */
	double h2d_bytes_per_s;    /* whole node */
	int64_t nics;
	double nic_bytes_per_s; /* one NIC, one direction */
	double net_efficiency;  /* measured share of the line rate */
	double net_startup_s;
	double schedule_s;
	int64_t dram_bytes;
	/* analytic efficiencies, for shapes nobody measured */
	double flops_efficiency, attention_efficiency, memory_efficiency, launch_s_per_layer;
	struct mc_measured *measured; /* n_measured, may be none */
	int64_t n_measured;
};

/* By name (in the profile directories) or path (holds a '/' or ends in .json). */
int mc_profile_load(struct mc_profile *p, const char *name_or_path, struct mc_err *err);
void mc_profile_fini(struct mc_profile *p);
/* Names of the installed profiles, sorted, NULL-terminated; free each and the list. */
char **mc_profile_list(void);

#endif
