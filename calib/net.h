/*
 * The side that measures: its memory, the peers, and an engine with so many ports and such slices, opened
 * anew when others are wanted.
 */
#ifndef MC_CALIB_NET_H
#define MC_CALIB_NET_H

#include "calib/netinfo.h"
#include "calib/netmemory.h"
#include "calib/netports.h"

enum { MC_NET_ENGINES = 8 };

struct mc_netpeer {
	const char *address; /* of its engine */
	uint32_t number;     /* in the engine that is in use */
	struct mc_netinfo info;
	bool known; /* info is */
};

struct mc_net_want {
	const struct mc_calib_list *peers; /* their addresses, 1 or more */
	const struct mc_calib_list *ports;
	struct mc_token token;
	size_t bytes; /* of the memory */
	const char *kind;
};

struct mc_net_setting {
	const struct mc_transport *transport;
	int64_t slice, nics;
};

struct mc_net_engine {
	struct mc_engine *engine;
	struct mc_net_setting setting;
	uint32_t number[MC_CALIB_LIST_MOST]; /* of each peer */
};

struct mc_net {
	struct mc_token token;
	char host[MC_PORT_NAME]; /* this machine's address, seen from the first peer */
	struct mc_netports ports;
	struct mc_netmemory memory;
	struct mc_memory page;
	struct mc_netpeer peer[MC_CALIB_LIST_MOST];
	size_t peers;
	bool met; /* a peer has answered: what fails then is the way to its memory */
	struct mc_net_engine open[MC_NET_ENGINES];
	size_t opened, turn; /* turn: the one that makes room for the next */
	/* What is in use; engine NULL: nothing. */
	struct mc_engine *engine;
	const struct mc_transport *transport;
	struct mc_engine_port port[MC_ENGINE_PORTS];
};

/* Memory and ports; no peer is spoken to. *n is _fini's whether this succeeds or not. */
int mc_net_init(struct mc_net *n, const struct mc_net_want *want, struct mc_err *err);
void mc_net_fini(struct mc_net *n);

/* The engine is of that setting then, of as many ports as there are of those that are wanted, and knows all
 * peers. Errors name the peer. */
int mc_net_use(struct mc_net *n, const struct mc_net_setting *setting, struct mc_err *err);
/* All engines go: what is under way ends. */
void mc_net_leave(struct mc_net *n);
/* Bytes that the smallest half of a peer's memory has. */
int64_t mc_net_half(const struct mc_net *n);

#endif
