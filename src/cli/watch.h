/* Watching a run: a progress line on a terminal, Ctrl-C, and how long it took. */
#ifndef MC_CLI_WATCH_H
#define MC_CLI_WATCH_H

#include "cluster/cluster.h"

struct mc_watch {
	struct mc_cluster_hooks hooks;
	double started, shown;         /* seconds of a monotonic clock */
	double first;                  /* when the running simulation was first seen, */
	int64_t first_done, last_done; /* requests that it had done then, and lately */
	bool terminal, quiet;
	char label[80];   /* what the running simulation is one of; empty: it is the only one */
	double ahead_s;   /* wall time of what comes after it, about */
	int64_t requests; /* simulated since it started */
};

/* Takes over SIGINT and SIGTERM; a second one ends the program. */
void mc_watch_start(struct mc_watch *w, bool quiet);
/* Erases the progress line, and says on stderr what was simulated and how long it took, unless quiet. */
void mc_watch_stop(struct mc_watch *w);

/* Seconds of a monotonic clock. */
double mc_watch_clock_s(void);

#endif
