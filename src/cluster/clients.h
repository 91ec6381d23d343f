/*
 * Clients as the scenario has them (clients.*): how long one thinks before it sends the next request, and how
 * long one that was refused waits before it tries again. Both are functions of the scenario and the request
 * alone: whatever else differs between two runs, the same request draws the same.
 */
#ifndef MC_CLUSTER_CLIENTS_H
#define MC_CLUSTER_CLIENTS_H

#include "cluster/scenario.h"

/* Is the loop closed: each client waits for its answer before it goes on? */
bool mc_clients_closed(const struct mc_scenario *s);
/* Does anything of theirs depend on the seed? */
bool mc_clients_random(const struct mc_scenario *s);

/* Closed loop: from the end of a request until its client takes the next one; from the start of the run until
 * a client, from 0, takes its first. */
mc_time mc_clients_think(const struct mc_scenario *s, int64_t request);
mc_time mc_clients_first(const struct mc_scenario *s, int64_t client);

/* From the refusal of a request's n-th attempt, n >= 1, until the next: clients.backoff, doubled n - 1 times
 * but no more than clients.backoff_max, and then the jitter. */
mc_time mc_clients_backoff(const struct mc_scenario *s, int64_t request, uint32_t n);
/* No sum of those of a request is longer, s; no think time is. */
double mc_clients_backoffs_max_s(const struct mc_scenario *s);
double mc_clients_think_max_s(const struct mc_scenario *s);

/* clients.* makes sense. MC_USAGE names the key. */
int mc_clients_check(const struct mc_scenario *s, struct mc_err *err);

#endif
