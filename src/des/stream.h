/*
 * Seeded random streams, named by (seed, component, index): two policies see the same arrivals, and a new
 * component shifts nobody's draws. A GSL generator (ranlxs would be slow; mt19937 is used), seeded by a hash of the name.
 */
#ifndef MC_DES_STREAM_H
#define MC_DES_STREAM_H

#include <gsl/gsl_rng.h>
#include <stdint.h>

/* New generator, freed by gsl_rng_free. component is a short literal such as "policy" or "spread". */
gsl_rng *mc_stream_new(uint64_t seed, const char *component, uint64_t index);

#endif
