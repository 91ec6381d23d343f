/* The serving side of network measurements: an engine with memory that holds a known pattern. */
#ifndef MC_CALIB_NETSERVE_H
#define MC_CALIB_NETSERVE_H

#include "base/err.h"
#include "calib/netports.h"
#include "transport/engine.h"

struct mc_netserve;

struct mc_netserve_want {
	const char *address; /* HOST:PORT */
	struct mc_token token;
	const struct mc_netports *ports; /* outlives it */
	size_t bytes;                    /* of the memory */
	const char *kind;                /* of it: "host" or "cuda" */
};

int mc_netserve_open(struct mc_netserve **out, const struct mc_netserve_want *want, struct mc_err *err);
const char *mc_netserve_address(const struct mc_netserve *s);
/* NULL is fine. */
void mc_netserve_close(struct mc_netserve *s);

#endif
