/*
 * No profile may predict faster than its own hardware: the bounds that hold for any implementation, and the
 * check of a cost model against them over a grid of its trusted range.
 */
#ifndef MC_MODEL_ROOFLINE_H
#define MC_MODEL_ROOFLINE_H

#include "base/err.h"
#include "hw/profile.h"
#include "model/cost.h"

/* Peaks of a whole node. */
struct mc_roofline {
	double flops;              /* operations/s */
	double memory_bytes_per_s; /* VRAM */
};

void mc_roofline_init(struct mc_roofline *r, const struct mc_profile *p);
/* Seconds that a prefill of tokens p .. n-1 takes at least: operations at peak, or one read of the weights.
 */
double mc_roofline_prefill_s(const struct mc_roofline *r, const struct mc_shape *s, double n, double p);
/* Seconds that a decode iteration takes at least: weights and KV read once, or operations at peak. */
double mc_roofline_decode_s(const struct mc_roofline *r, const struct mc_shape *s, double batch,
			    double context);

/* The smallest ratio of predicted to least possible time, and where it was found. At least 1 in a sound
 * profile. */
struct mc_roofline_margin {
	double prefill, prefill_n, prefill_p;
	double decode, decode_batch, decode_context;
	double load, net;
};

void mc_roofline_margins(const struct mc_cost *c, const struct mc_profile *p, struct mc_roofline_margin *m);
/* MC_USAGE naming file and key when a margin is below 1 (loads: 0.99, for they are fitted to that very
 * speed). */
int mc_roofline_check(const struct mc_cost *c, const struct mc_profile *p, struct mc_err *err);

#endif
