/*
 * Seeded random streams, named by (seed, component, index): two policies see the same arrivals, and a new
 * component shifts nobody's draws. The generator is GSL's mt19937, whose draws are the same on every
 * platform.
 *
 * Its seed has 32 bits: the 64-bit hash of the name is folded into them. Two of k streams share a seed, and
 * so all their draws, with a probability of about k^2 / 2^33: one in 8,000 for the 1,000 streams of a large
 * cluster.
 */
#ifndef MC_DES_STREAM_H
#define MC_DES_STREAM_H

#include <gsl/gsl_rng.h>
#include <stdint.h>

/* New generator, freed by gsl_rng_free. component is a short literal such as "policy" or "spread". */
gsl_rng *mc_stream_new(uint64_t seed, const char *component, uint64_t index);

/* A stream of one number, in [0, 1): 53 bits of the hash of its name. For what is drawn once each of a great
 * many things, where a generator for each costs far more than what it is for. */
double mc_stream_draw(uint64_t seed, const char *component, uint64_t index);

#endif
