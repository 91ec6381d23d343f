/*
 * The inside of the shared-memory transport. Between two ports there is a Unix socket, over which the asker
 * is given a memory's file the first time that a slice needs it; from then on it copies by itself. Messages
 * of both directions have 32 bytes, little-endian: what, status, access, 5 x 0, key (8), base (8), bytes (8).
 *
 *     asker                                   owner
 *     8 bytes: the connection's id     ->
 *                                      <-     WELCOME
 *     MAP key                          ->
 *                                      <-     MAP key: refused, or access, base, bytes, and the file
 *                                      <-     RETURN key: it is being unregistered
 *     RETURN key: it isn't mapped      ->
 *
 * A side that wants an end shuts its half of the socket down. The asker hangs up after it has unmapped all; a
 * process that is killed loses its memory before its sockets. So a connection that the asker has hung up can
 * touch nothing any more: that is what fence() waits for.
 *
 * All is under the port's lock, but the copying itself, for which a mapping is held by its `users`.
 */
#ifndef MC_TRANSPORT_SHM_STATE_H
#define MC_TRANSPORT_SHM_STATE_H

#include <pthread.h>
#include <sys/queue.h>

#include "base/vec.h"
#include "transport/listener.h"
#include "transport/transport.h"

enum {
	MC_SHM_FRAME = 32,
	MC_SHM_COPIERS = 16,
	MC_SHM_INLINE = 256 << 10, /* bytes that post() copies itself: handing them over takes as long */
	MC_SHM_TURN = 16,          /* messages of one peer, before others have their turn */
	MC_SHM_RUN = 64,           /* slices that are copied in one go, at most */
};

enum mc_shm_kind { MC_SHM_WELCOME = 1, MC_SHM_MAP, MC_SHM_RETURN };

struct mc_shm_frame {
	uint8_t kind, status, access;
	uint64_t key, base, bytes;
};

/* One end of a connection. */
struct mc_shm_sock {
	int fd;
	uint8_t in[MC_SHM_FRAME];
	size_t in_n;
	int file; /* that came with it, or -1 */
};

/* A registered memory that peers may map. */
struct mc_shm_region {
	struct mc_memory m;
	unsigned access;
	uint64_t key;
};

/* A peer that has connected. */
struct mc_shm_guest {
	TAILQ_ENTRY(mc_shm_guest) next;
	uint64_t serial, id;
	struct mc_shm_sock s;
	bool late;  /* it gave nothing back in time: until it does, nothing more is waited for */
	bool ended; /* our half is shut down: it gets nothing more; what it has, it has until it hangs up */
	struct {
		MC_VEC(uint64_t)
	} given; /* keys of what it may have mapped */
};

/* A peer's memory in this process. */
struct mc_shm_map {
	TAILQ_ENTRY(mc_shm_map) next;
	uint64_t key, base, bytes;
	unsigned access;
	uint8_t *at;    /* NULL: asked for */
	bool going;     /* not to be used any more */
	uint32_t users; /* slices that are just being copied */
	struct mc_slice *wait, **wait_end;
};

struct mc_endpoint {
	TAILQ_ENTRY(mc_endpoint) next;
	TAILQ_ENTRY(mc_endpoint) ready_next;
	struct mc_port *port;
	uint64_t serial;
	struct mc_shm_sock s; /* fd -1: hung up */
	bool broken;
	bool held;     /* the keeper is at it: it stays */
	bool is_ready; /* in the list of those with slices for the copiers */
	const char *why;
	TAILQ_HEAD(, mc_shm_map) maps; /* the last used first */
	struct mc_slice *queue, **queue_end;
};

struct mc_port {
	struct mc_port_want want;
	char address[MC_PORT_ADDRESS];
	struct mc_listener *listener;
	pthread_mutex_t lock;
	pthread_cond_t work;    /* for copiers */
	pthread_cond_t changed; /* a mapping is used no more, a guest has let go of something */
	pthread_t keeper, copier[MC_SHM_COPIERS];
	size_t copiers;
	bool kept, closing;
	int epoll, bell;
	uint64_t serials, keys;
	TAILQ_HEAD(, mc_shm_guest) guests;
	uint32_t guest_count;
	TAILQ_HEAD(, mc_endpoint) endpoints;
	TAILQ_HEAD(, mc_endpoint) ready;
	uint32_t copying; /* copiers that are at it */
	uint64_t burst;   /* bytes that post() has copied since nobody was busy */
	bool quiet;       /* the last poll found nothing, and nothing was posted since */
	bool waking, news;
	struct {
		MC_VEC(struct mc_shm_region)
	} region;
	struct {
		MC_VEC(struct mc_completion)
	} done;
	struct {
		MC_VEC(struct mc_endpoint *)
	} of; /* the endpoint of each completion */
};

/* shm_wire.c */
/* Not waiting; false: the peer doesn't listen. file: sent with it, or -1. */
bool mc_shm_send(int fd, const struct mc_shm_frame *f, int file);
enum mc_shm_heard { MC_SHM_NOTHING, MC_SHM_HEARD, MC_SHM_HUNG_UP };
enum mc_shm_heard mc_shm_hear(struct mc_shm_sock *s, struct mc_shm_frame *f);
void mc_shm_decode(const uint8_t at[MC_SHM_FRAME], struct mc_shm_frame *f);
bool mc_shm_hung_up(int fd);
int mc_shm_watch(struct mc_port *p, int fd, uint64_t serial, struct mc_err *err);
void mc_shm_hang_up(struct mc_port *p, struct mc_shm_sock *s);

/* shm_guest.c: the owner's side. hear: in the keeper, with the lock; g may be gone then. */
bool mc_shm_guest_accept(void *port, int fd, int64_t deadline);
void mc_shm_guest_hear(struct mc_port *p, struct mc_shm_guest *g);
void mc_shm_guest_free(struct mc_port *p, struct mc_shm_guest *g);
int mc_shm_register(struct mc_port *p, const struct mc_memory *m, unsigned access, uint64_t *key,
		    struct mc_err *err);
int mc_shm_unregister(struct mc_port *p, uint64_t key, struct mc_err *err);
int mc_shm_fence(struct mc_port *p, uint64_t id, struct mc_err *err);

/* shm_endpoint.c: the asker's side. hear: in the keeper, with the lock, which is given up meanwhile. */
int mc_shm_connect(struct mc_endpoint **out, struct mc_port *p, const struct mc_connect_want *want,
		   struct mc_err *err);
void mc_shm_disconnect(struct mc_endpoint *ep);
void mc_shm_endpoint_hear(struct mc_endpoint *ep);
/* Nothing is sent or copied any more, all of it completes as lost; the keeper does the rest. */
void mc_shm_break(struct mc_endpoint *ep, const char *why);
/* The mapping of a key, which may be one that was asked for only now; NULL: the endpoint has broken. */
struct mc_shm_map *mc_shm_map_get(struct mc_endpoint *ep, uint64_t key);
struct mc_shm_map *mc_shm_map_find(struct mc_endpoint *ep, uint64_t key);

/* shm_copy.c: with the lock */
void mc_shm_post(struct mc_endpoint *ep, struct mc_slice *const *slice, size_t n); /* without it */
size_t mc_shm_poll(struct mc_port *p, struct mc_completion *out, size_t n);        /* without it */
bool mc_shm_help(struct mc_port *p);                                               /* without it */
void mc_shm_complete(struct mc_endpoint *ep, struct mc_slice *s, enum mc_wire status, const char *why);
void mc_shm_queue(struct mc_endpoint *ep, struct mc_slice *s);
void mc_shm_tell(struct mc_port *p); /* wake the port's user, if there is something; gives up the lock */
void *mc_shm_copier(void *port);

#endif
