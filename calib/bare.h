/*
 * What the same network does without the engine and its transport, measured by the plainest code that there
 * is: plain sockets, one stream or several; a plain copy within this host's memory; a queue pair that is
 * posted to and polled, busily. So the engine's overhead is seen.
 */
#ifndef MC_CALIB_BARE_H
#define MC_CALIB_BARE_H

#include "calib/net.h"

enum { MC_BARES = 2 };

struct mc_bare_task {
	bool write;
	size_t bytes;
	unsigned depth;  /* under way */
	size_t requests; /* in all */
};

struct mc_bare {
	char flag[16]; /* of its samples: "bare", or "bare-4" with so many streams */
	/* All of them; *seconds: how long it took. */
	int (*go)(struct mc_bare *b, const struct mc_bare_task *t, double *seconds, struct mc_err *err);
	void (*close)(struct mc_bare *b);
};

/* To the first peer, whose info is known, from the memory of n. Transports that have no plain way, or none to
 * this memory: *count is 0, and so it is after an error. */
int mc_bare_open(struct mc_bare *out[MC_BARES], int *count, struct mc_net *n, struct mc_err *err);
void mc_bare_close(struct mc_bare *b[MC_BARES], int count);

/* One way each. */
int mc_bare_tcp_open(struct mc_bare **out, struct mc_net *n, int streams, struct mc_err *err);
int mc_bare_copy_open(struct mc_bare **out, struct mc_net *n, struct mc_err *err);
int mc_bare_verbs_open(struct mc_bare **out, struct mc_net *n, struct mc_err *err);

#endif
