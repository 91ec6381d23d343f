/* Ports that a measurement uses: given as TRANSPORT[:NAME], or those that this machine has. */
#ifndef MC_CALIB_NETPORTS_H
#define MC_CALIB_NETPORTS_H

#include "calib/args.h"
#include "transport/engine.h"

struct mc_netports {
	struct mc_engine_port at[MC_ENGINE_PORTS];
	char name[MC_ENGINE_PORTS][MC_PORT_NAME];
	size_t n;
	bool given; /* by the user */
};

/* Those of the list; of an empty one the RDMA devices that are up, else TCP at `host`, and shared memory
 * where this build has it. MC_USAGE: a port that is none. */
int mc_netports_find(struct mc_netports *p, const struct mc_calib_list *list, const char *host,
		     struct mc_err *err);
/* The first n of one transport's. */
size_t mc_netports_of(const struct mc_netports *p, const struct mc_transport *t, size_t n,
		      struct mc_engine_port *out);
/* "tcp 127.0.0.1, shm", to text of n bytes. */
void mc_netports_text(const struct mc_engine_port *p, size_t n, char *text, size_t bytes);

/* The host of HOST:PORT, without brackets. MC_USAGE: it is none, or stands for all interfaces. */
int mc_netports_host(const char *address, char host[MC_PORT_NAME], struct mc_err *err);
/* Of this machine's addresses the one that is nearest to `address`; *err names that. */
int mc_netports_near(const char *address, char host[MC_PORT_NAME], struct mc_err *err);

#endif
