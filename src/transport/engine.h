/*
 * The transfer engine ("Messenger" in the paper, transfer engine in Mooncake's): batches of reads and writes
 * between registered memories of this process and of peers, cut into slices that are spread over all paths.
 *
 * An engine is found by its address HOST:PORT, where it tells peers with the token what memory it has
 * registered, at which ports (its segment). Of a batch, slices wait for a path: a pair of ports of one
 * transport, both near to their memory (topology matrix), the cheapest transport first, then the least
 * loaded. Endpoints are made when a slice needs them, up to a cap; beyond it SIEVE says which idle one goes.
 *
 * When a path fails, it is left for a while (twice as long each time), its endpoint is torn down, and slices
 * that were on it are sent again over another. Before that, the peer confirms that the lost connection writes
 * nothing any more (a fence): so a late byte never overwrites a newer one. A batch ends in bounded time, done
 * or failed with its reason:
 *   - done: every byte is where it belongs;
 *   - failed: at least one request is not done (paths gone, peer restarted, memory not registered any more,
 * time over). Where it wrote to holds any mix of old and new bytes; nothing else has changed, locally nothing
 *     changes after the end.
 * A peer that restarted is another one: batches to its earlier life fail. Requests of one batch have no
 * order; the bytes of two that overlap, one of them writing, are any mix.
 *
 * All functions may be called from several threads, close and free once nobody else uses what they end.
 */
#ifndef MC_TRANSPORT_ENGINE_H
#define MC_TRANSPORT_ENGINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "transport/auth.h"
#include "transport/memory.h"
#include "transport/topology.h"
#include "transport/transport.h"

#define MC_ENGINE_PORTS    64  /* ports of an engine, at most */
#define MC_ENGINE_ADDRESS  128 /* bytes of HOST:PORT with the NUL */
#define MC_SLICE_BYTES_MIN 4096
#define MC_SLICE_BYTES_MAX 1048576
#define MC_ENGINE_REQUESTS 1048576 /* of one batch, at most */

struct mc_engine;

/* A port to open: transport, and its name there. */
struct mc_engine_port {
	const struct mc_transport *transport;
	const char *name;
};

struct mc_engine_want {
	const char *address; /* where peers ask for the segment; port 0: any that is free */
	struct mc_token token;
	const struct mc_engine_port *port;
	size_t ports;                     /* 1 .. MC_ENGINE_PORTS */
	const struct mc_topology *matrix; /* borrowed until close; NULL: all ports are equally near */
	uint32_t slice_bytes;             /* MC_SLICE_BYTES_MIN .. MAX: 16 KiB in the paper */
	uint32_t depth;                   /* slices in flight on an endpoint */
	uint32_t endpoints;               /* connections to peers, at once */
	uint32_t retries;                 /* failures in a row after which a path counts as gone */
	int64_t retry_ns; /* wait before a path that failed is tried again; doubled each time, 100 times at
			     most */
	uint32_t lanes;   /* of an endpoint; 0: the transport's default */
	int64_t connect_timeout_ns;  /* of one attempt */
	int64_t slice_timeout_ns;    /* from post to completion: after it the path has failed */
	int64_t batch_timeout_ns;    /* from submit to end */
	struct mc_port_limits serve; /* what peers may ask for */
};

/* Sensible settings; token and ports are left empty. */
void mc_engine_defaults(struct mc_engine_want *want);

/* MC_USAGE: a setting is out of its range. */
int mc_engine_open(struct mc_engine **out, const struct mc_engine_want *want, struct mc_err *err);
/* Pending batches fail; all memory is unregistered. NULL is fine. */
void mc_engine_close(struct mc_engine *e);
const char *mc_engine_address(const struct mc_engine *e); /* with the port that was taken */

/* Make memory usable as the local end of requests, and by peers as access says (0: not at all). It is
 * registered at each port that can; MC_FAIL: at none. Ranges must not overlap. *m is copied. */
int mc_engine_register(struct mc_engine *e, const struct mc_memory *m, unsigned access, struct mc_err *err);
/* By its base, whole. MC_USAGE: no such memory, or a pending batch uses it. MC_FAIL: a peer still holds it;
 * then it must not be used for anything else. */
int mc_engine_unregister(struct mc_engine *e, const void *base, struct mc_err *err);

/* The peer at that address, and what memory it has: asked for now. Waits for the peer. *peer is valid until
 * the engine is closed; a peer that has restarted since it was last asked has another number. */
int mc_engine_connect(struct mc_engine *e, const char *address, uint32_t *peer, struct mc_err *err);
/* Ask again: for memory that was registered since. MC_FAIL: also if it has restarted. */
int mc_engine_refresh(struct mc_engine *e, uint32_t peer, struct mc_err *err);

/* A range of a peer's memory. */
struct mc_engine_range {
	uint64_t base; /* address in the peer */
	uint64_t bytes;
	unsigned access; /* MC_ACCESS_... */
	char place[MC_PLACE];
};

/* Up to n of its ranges by address; returns how many there are. */
size_t mc_engine_ranges(struct mc_engine *e, uint32_t peer, struct mc_engine_range *out, size_t n);

struct mc_request {
	enum mc_direction op;
	uint32_t peer;
	void *local;     /* within one registered memory */
	uint64_t remote; /* within one range of the peer, that lets op be done */
	uint64_t bytes;  /* >= 1 */
};

/* Start a batch of n requests to one or several peers; the array is copied. MC_USAGE: a request is wrong, or
 * its peer has no such range, and nothing was started. */
int mc_engine_submit(struct mc_engine *e, const struct mc_request *r, size_t n, uint64_t *batch,
		     struct mc_err *err);

enum mc_batch_state { MC_BATCH_PENDING, MC_BATCH_DONE, MC_BATCH_FAILED };

struct mc_batch_status {
	enum mc_batch_state state;
	uint64_t bytes, total; /* moved, and asked for */
	size_t request;        /* failed: the first one that is known to have */
	struct mc_err err;     /* failed: why */
};

/* How a batch stands. The second waits for its end, at most so long (negative: as long as it takes).
 * MC_USAGE: no such batch. */
int mc_engine_poll(struct mc_engine *e, uint64_t batch, struct mc_batch_status *out, struct mc_err *err);
int mc_engine_wait(struct mc_engine *e, uint64_t batch, int64_t timeout_ns, struct mc_batch_status *out,
		   struct mc_err *err);
/* Forget a batch that has ended. MC_USAGE: it hasn't, or there is none. */
int mc_engine_free(struct mc_engine *e, uint64_t batch, struct mc_err *err);

/* Counts since the start. */
struct mc_engine_stats {
	uint64_t slices, resent, connects, evicted, fences;
	uint32_t endpoints;                   /* now */
	uint64_t port_bytes[MC_ENGINE_PORTS]; /* moved over each port, in the order of want.port */
};

void mc_engine_stats(struct mc_engine *e, struct mc_engine_stats *out);

#endif
