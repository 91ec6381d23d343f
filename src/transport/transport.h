/*
 * A transport moves bytes between registered memories of two processes, one-sided: who owns the memory does
 * nothing (a thread of the transport may, where no device does it). One table of functions a transport; the
 * engine (transport/engine.h) knows nothing else of it. Adding one is one file that defines
 * `const struct mc_transport mc_transport_NAME` and one line in local.mk.
 *
 * A port is what a path begins and ends at: a NIC, an address, this host's shared memory. An endpoint is a
 * connection from a port of this process to one of a peer; bytes of both directions go over it, asked for by
 * the side that connected. What a table promises:
 *   - A slice that completes MC_WIRE_OK has all of its bytes where they belong; one that completes otherwise,
 *     or never, has any of them. Nothing outside of registered ranges is ever touched, whatever a peer sends.
 *   - After disconnect() has returned, the endpoint touches no local memory and reports nothing.
 *   - After fence() of the connection's id has returned 0 at the peer, it writes nothing there any more.
 *   - Each call ends in bounded time, whatever peers do: connect and fence within their timeout, the others
 *     without waiting for a peer.
 *   - A peer that can't prove that it has the token gets nothing: no bytes, no handle, no place in a list.
 * The engine calls connect(), disconnect(), fence(), register and unregister from any thread, several at
 * once; post() of one endpoint and poll() of one port from one thread at a time.
 */
#ifndef MC_TRANSPORT_TRANSPORT_H
#define MC_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "transport/auth.h"
#include "transport/memory.h"

#define MC_PORT_NAME    64  /* bytes of a port's name with its NUL */
#define MC_PORT_ADDRESS 160 /* bytes of its address with its NUL */

#define MC_KEY_LOCAL (UINT64_C(1) << 63) /* of a key: this memory can't be shared with peers over the port   \
					  */

/* Defined by each transport. */
struct mc_port;
struct mc_endpoint;

enum mc_direction {
	MC_OP_READ,  /* peer's memory to local */
	MC_OP_WRITE, /* local memory to the peer's */
};

/* Bounds on what a peer may ask of a port: beyond, it is refused or its connection ends. */
struct mc_port_limits {
	uint32_t slice_bytes; /* of one operation */
	uint32_t depth;       /* operations in flight on one connection */
	uint32_t connections; /* from peers, at once */
	uint32_t pending;     /* connections that have not proved who they are */
};

struct mc_port_want {
	const char *name; /* in the transport's terms (address of an interface, a device); "": its default */
	struct mc_token token;
	struct mc_port_limits limits;
	uint32_t lanes;       /* streams, queue pairs or copiers of an endpoint; 0: the transport's default */
	int64_t timeout_ns;   /* of a peer's part in a handshake */
	void (*wake)(void *); /* there is something to poll, or up() has changed; from any thread, which holds
				 no lock of the transport. May post and poll, not more. */
	void *wake_arg;
};

/* One operation. It stays as it is, and the caller's, until its completion was polled or its endpoint was
 * disconnected. */
struct mc_slice {
	enum mc_direction op;
	uint32_t bytes; /* 1 .. limits.slice_bytes */
	uint8_t *local;
	uint64_t local_key; /* of the memory that holds local, at this port */
	uint64_t remote;    /* address in the peer */
	uint64_t remote_key;
	struct mc_slice *next; /* the transport's while it is posted */
};

enum mc_wire {
	MC_WIRE_OK,
	MC_WIRE_REFUSED, /* the peer has no such memory (any more), or doesn't let it be used so */
	MC_WIRE_LOST,    /* the endpoint is broken: all else of it is lost, too */
};

struct mc_completion {
	struct mc_slice *slice;
	enum mc_wire status;
	const char *why; /* for people, constant; NULL with MC_WIRE_OK */
};

struct mc_connect_want {
	const char *address; /* of the peer's port */
	uint64_t id;         /* of the connection, to be fenced by; chosen at random */
	int64_t timeout_ns;
};

/* Functions that return int give 0 or one of enum mc_rc with *err filled. */
struct mc_transport {
	const char *name;
	const char *summary; /* one line for --help */
	int cost;            /* of several that reach the same memory, the lowest is taken */

	int (*port_open)(struct mc_port **out, const struct mc_port_want *want, struct mc_err *err);
	/* After all endpoints were disconnected; peers' connections end. NULL is fine. */
	void (*port_close)(struct mc_port *p);
	/* What peers connect to: at most MC_PORT_ADDRESS bytes with the NUL, valid as long as the port. */
	const char *(*port_address)(const struct mc_port *p);
	/* Has a link. A port that went down takes its endpoints with it. NULL: always. */
	bool (*up)(struct mc_port *p);
	/* Whether connecting to that address of the same transport makes sense at all. NULL: always. */
	bool (*reaches)(const struct mc_port *p, const char *address);

	/* Let peers with the token use the memory as access (MC_ACCESS_...) says, and slices of this port
	 * have it at their local end. MC_NOHW: not this kind of memory. *key is never 0, and never used
	 * again, by this port or by a later one that has its address; with MC_KEY_LOCAL it is good for local
	 * ends only, and peers aren't told. */
	int (*memory_register)(struct mc_port *p, const struct mc_memory *m, unsigned access, uint64_t *key,
			       struct mc_err *err);
	/* From its return on no peer touches the memory. Connections that are just using it are ended.
	 * MC_FAIL: a peer holds it and didn't answer in time. */
	int (*memory_unregister)(struct mc_port *p, uint64_t key, struct mc_err *err);

	int (*connect)(struct mc_endpoint **out, struct mc_port *p, const struct mc_connect_want *want,
		       struct mc_err *err);
	void (*disconnect)(struct mc_endpoint *ep);
	/* Start n slices, in this order, which may end in another. Never fails: what can't be sent completes
	 * as lost. What has completed by its return is there to poll, without a wake. */
	void (*post)(struct mc_endpoint *ep, struct mc_slice *const *slice, size_t n);
	/* Up to n completions of all endpoints of the port. */
	size_t (*poll)(struct mc_port *p, struct mc_completion *out, size_t n);
	/* Do a little of the port's work in the thread of a caller who would only wait; what has completed by
	 * its return is there to poll, without a wake. False: there is nothing to do. NULL: there never is.
	 */
	bool (*help)(struct mc_port *p);
	/* At the owner of the memory: end the connection of that id, if there is one, and wait until it can
	 * write no more. */
	int (*fence)(struct mc_port *p, uint64_t id, struct mc_err *err);
};

/* Those that are built in, NULL at the end (generated from local.mk). */
extern const struct mc_transport *const mc_transports[];
extern const char *const mc_transports_names[];

/* The one of that name, or NULL with *err filled (MC_USAGE). */
const struct mc_transport *mc_transport_find(const char *name, struct mc_err *err);

#endif
