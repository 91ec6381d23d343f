/*
 * What the files of the verbs transport share. Compiles without libibverbs.
 *
 * A port is one port of one device. Peers connect by TCP, prove themselves, and exchange what queue pairs
 * need; the socket stays open, as its end says that the peer is gone. Keys of memory are the port's own
 * numbers: who connected asks over that socket, once a connection, which rkey one stands for now. So they
 * outlive the device, which may go and come back.
 *
 * One lock a port holds all of it together. Nothing waits for a peer with it held; what the device's driver
 * takes for a call does count.
 */
#ifndef MC_TRANSPORT_VERBS_PORT_H
#define MC_TRANSPORT_VERBS_PORT_H

#include <pthread.h>
#include <sys/queue.h>

#include "base/vec.h"
#include "transport/listener.h"
#include "transport/transport.h"

struct ibv_context;
struct ibv_pd;
struct ibv_comp_channel;
struct ibv_cq;
struct ibv_mr;
struct ibv_qp;

enum {
	MC_VERBS_LANES = 8,
	MC_VERBS_DEPTH = 128, /* operations in flight on one queue pair */
	MC_VERBS_RECENT = 4096,
	MC_VERBS_KEYS = 4096, /* of a peer, that are known at once */
	MC_VERBS_ASK = 8,     /* bytes of a question: a key */
	MC_VERBS_ANSWER = 16, /* of its answer: the key; the rkey, or MC_VERBS_NO_KEY */
};
#define MC_VERBS_NO_KEY (UINT64_C(1) << 32)

/* An open device; all pointers are NULL when it is gone. */
struct mc_verbs_device {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *sink; /* of the queue pairs that peers use: nothing completes there */
	uint8_t gid[16];
	int gid_index, mtu; /* mtu: enum ibv_mtu */
	uint16_t lid;
	uint8_t reads_out, reads_in; /* reads in flight on a queue pair, as who asks and as who is asked */
	uint32_t depth;
	bool ethernet, link;
};

struct mc_verbs_memory {
	uint64_t key;
	struct mc_memory m;
	unsigned access;
	struct ibv_mr *mr; /* NULL while the device is gone */
};

/* One end of the queue pairs of a connection, as both sides have it. */
struct mc_verbs_lane {
	struct ibv_qp *qp;
	uint32_t psn;
	uint32_t flying;
};

/* By which a peer uses this process's memory. */
struct mc_verbs_guest {
	TAILQ_ENTRY(mc_verbs_guest) next;
	struct mc_port *p;
	uint64_t id, serial;
	int fd;
	uint32_t lanes;
	struct mc_verbs_lane lane[MC_VERBS_LANES];
	uint8_t in[MC_VERBS_ASK];
	size_t got;
	bool busy; /* a thread shakes hands: it takes the guest down, when it is dead */
	bool dead;
};

/* An operation in flight. wr_id is its number and turn, so that no completion is taken for another's. */
struct mc_verbs_slot {
	struct mc_slice *slice; /* NULL: free */
	uint32_t lane, turn, next_free;
};

struct mc_verbs_key {
	uint64_t key, rkey; /* rkey: MC_VERBS_NO_KEY: there is none */
};

struct mc_endpoint {
	TAILQ_ENTRY(mc_endpoint) next;
	struct mc_port *p;
	uint64_t serial;
	int fd;
	uint32_t lanes, depth;
	struct mc_verbs_lane lane[MC_VERBS_LANES];
	struct ibv_cq *cq;
	struct mc_verbs_slot *slot;
	uint32_t slots, free; /* free: number of the first free slot, slots: none */
	struct mc_slice *waiting, **waiting_end;
	struct {
		MC_VEC(struct mc_completion)
	} done;
	size_t taken; /* of done */
	struct {
		MC_VEC(struct mc_verbs_key)
	} keys;
	uint64_t asked; /* key that is being asked for, or 0 */
	uint8_t in[MC_VERBS_ANSWER];
	size_t got;
	bool joined; /* the path has been proved; before that only connect() looks at it */
	bool event;  /* the completion queue has something */
	bool broken;
	const char *why;
};

struct mc_port {
	struct mc_port_want want;
	char device[MC_PORT_NAME], host[MC_PORT_NAME];
	uint8_t number; /* of the device's ports */
	int gid_wanted; /* -1: the best */
	char address[MC_PORT_ADDRESS];
	struct mc_listener *listener;
	pthread_t thread;
	int poke; /* eventfd: look again */
	pthread_mutex_t lock;
	bool closing, news; /* news: the engine is to be told */
	struct mc_verbs_device dev;
	TAILQ_HEAD(, mc_endpoint) endpoints;
	TAILQ_HEAD(, mc_verbs_guest) guests;
	uint32_t guest_count;
	uint64_t serial; /* the last one given */
	struct {
		MC_VEC(struct mc_verbs_memory)
	} memory;                         /* by key */
	uint32_t recent[MC_VERBS_RECENT]; /* rkeys given lately: a late peer may still know them */
	size_t recent_n;
};

/* verbs_device.c. Open p->device and register all memory. MC_NOHW: it isn't there. */
int mc_verbs_device_open(struct mc_port *p, struct mc_err *err);
/* It is gone, or to be let go: all endpoints break for that reason, guests are sent away. */
void mc_verbs_device_close(struct mc_port *p, const char *why);
/* What the device says by itself: ports, queue pairs, its own end. */
void mc_verbs_device_events(struct mc_port *p);
/* An IP address that peers reach the device by, from its GID; "" if it tells none. */
void mc_verbs_device_host(const struct mc_verbs_device *d, char out[MC_PORT_NAME]);

/* verbs_memory.c */
int mc_verbs_memory_place(struct mc_port *p, struct mc_verbs_memory *v, struct mc_err *err);
struct mc_verbs_memory *mc_verbs_memory_find(struct mc_port *p, uint64_t key);
int mc_verbs_memory_register(struct mc_port *p, const struct mc_memory *m, unsigned access, uint64_t *key,
			     struct mc_err *err);
int mc_verbs_memory_unregister(struct mc_port *p, uint64_t key, struct mc_err *err);
void mc_verbs_memory_drop(struct mc_port *p);

/* verbs_qp.c. What a side tells the other of its queue pairs. */
struct mc_verbs_hello {
	uint64_t id;
	uint8_t gid[16];
	uint16_t lid;
	uint8_t mtu, reads_in, ethernet, lanes;
	struct {
		uint32_t qpn, psn;
	} lane[MC_VERBS_LANES];
};

enum { MC_VERBS_HELLO = 32 + 8 * MC_VERBS_LANES };

void mc_verbs_hello_encode(const struct mc_verbs_hello *h, uint8_t out[MC_VERBS_HELLO]);
/* MC_FAIL: that is none. */
int mc_verbs_hello_decode(struct mc_verbs_hello *h, const uint8_t *at, size_t n, struct mc_err *err);
/* Fill h from the device and lanes. */
void mc_verbs_hello_fill(struct mc_verbs_hello *h, const struct mc_port *p, const struct mc_verbs_lane *lane,
			 uint32_t lanes);

struct mc_verbs_qp_want {
	struct ibv_cq *cq;
	uint32_t lanes, depth; /* depth 0: of a guest, which asks for nothing */
};

/* Create lanes of queue pairs; on failure none is left. */
int mc_verbs_qp_create(struct mc_port *p, struct mc_verbs_lane *lane, const struct mc_verbs_qp_want *want,
		       struct mc_err *err);
/* Join them to the peer's: ready to receive, and (with sends) to send. */
int mc_verbs_qp_join(struct mc_port *p, struct mc_verbs_lane *lane, const struct mc_verbs_hello *peer,
		     bool sends, struct mc_err *err);
/* From its return on none moves a byte. False: the driver doesn't let go of one. */
bool mc_verbs_qp_end(struct mc_verbs_lane *lane, uint32_t lanes);

/* verbs_endpoint.c */
int mc_verbs_connect(struct mc_endpoint **out, struct mc_port *p, const struct mc_connect_want *want,
		     struct mc_err *err);
void mc_verbs_disconnect(struct mc_endpoint *ep);
/* End it: what is done is kept, then nothing moves any more. False: as mc_verbs_qp_end. */
bool mc_verbs_endpoint_stop(struct mc_endpoint *ep);
/* All that is left completes as lost. After it has stopped, or its device is closed. */
void mc_verbs_endpoint_finish(struct mc_endpoint *ep, const char *why);
void mc_verbs_endpoint_break(struct mc_endpoint *ep, const char *why);
/* Something came from the peer over the socket. */
void mc_verbs_endpoint_hear(struct mc_endpoint *ep);

/* verbs_post.c */
void mc_verbs_post(struct mc_endpoint *ep, struct mc_slice *const *slice, size_t n);
size_t mc_verbs_poll(struct mc_port *p, struct mc_completion *out, size_t n);
/* Send what waits and can be sent. */
void mc_verbs_pump(struct mc_endpoint *ep);
/* Take completions; false: the endpoint has to break, for *why. */
bool mc_verbs_drain(struct mc_endpoint *ep, const char **why);
void mc_verbs_done(struct mc_endpoint *ep, struct mc_slice *s, enum mc_wire status, const char *why);

/* verbs_guest.c */
bool mc_verbs_guest_accept(void *port, int fd, int64_t deadline);
void mc_verbs_guest_hear(struct mc_verbs_guest *g);
/* It can do nothing any more. False: as mc_verbs_qp_end. The guest may be freed. */
bool mc_verbs_guest_end(struct mc_verbs_guest *g);

/* verbs.c */
void mc_verbs_poke(struct mc_port *p);

#endif
