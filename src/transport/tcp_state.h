/*
 * The inside of the TCP transport. A port has a few threads (loops), each with an epoll set; a stream, one
 * end of one connection, belongs to one loop and is touched by no other thread. On the wire, little-endian:
 *
 *     question: op, 3 x 0, sequence (4 bytes), key (8), address (8), bytes (4), 4 x 0; then what is written
 *     answer:   status, 3 x 0, sequence (4), bytes (4), 4 x 0; then what was read
 *
 * Answers come in the order of the questions. The first answer on a connection, of no question, says that the
 * peer has taken it.
 */
#ifndef MC_TRANSPORT_TCP_STATE_H
#define MC_TRANSPORT_TCP_STATE_H

#include <pthread.h>
#include <stdatomic.h>
#include <sys/queue.h>

#include "base/vec.h"
#include "transport/listener.h"
#include "transport/transport.h"

enum {
	MC_TCP_QUESTION = 32,
	MC_TCP_ANSWER = 16,
	MC_TCP_LOOPS = 8,
	MC_TCP_LANES = 16,
	MC_TCP_TURN = 1 << 20, /* bytes received from a stream before others have their turn */
	MC_TCP_SINK = 1 << 16,
	MC_TCP_AHEAD = 8 * MC_TCP_QUESTION, /* bytes received beyond what was asked for */
};

struct mc_tcp_loop;

struct mc_tcp_region {
	struct mc_memory m;
	unsigned access;
	uint64_t key;
};

/* What is to be sent: a head, and bytes from a memory. */
struct mc_tcp_out {
	uint8_t head[MC_TCP_QUESTION];
	uint32_t head_n, body_n;
	const uint8_t *body;
	uint64_t key; /* of an answer: the region of body */
};

struct mc_tcp_stream {
	TAILQ_ENTRY(mc_tcp_stream) next;
	TAILQ_ENTRY(mc_tcp_stream) posted_next;
	struct mc_tcp_loop *loop;
	int fd;
	bool dead;
	uint32_t events;                         /* what epoll looks for */
	uint64_t id;                             /* of the connection */
	struct mc_endpoint *ep;                  /* NULL: a peer's, which is served */
	struct mc_tcp_out *out;                  /* ring of out_cap, a power of 2 */
	size_t out_cap, out_at, out_n, out_sent; /* out_sent: bytes of the first */
	uint64_t asked, sent;                    /* heads queued, and sent with their bodies */
	uint8_t head[MC_TCP_QUESTION];           /* what is received */
	size_t head_n;
	uint8_t ahead[MC_TCP_AHEAD]; /* what came with it, of what follows: spares a call for each head */
	size_t ahead_at, ahead_n;
	uint8_t *body; /* where bytes go, NULL: nowhere */
	uint32_t left;
	uint64_t key;    /* served: the region of body */
	uint8_t refused; /* served: what is received is thrown away */
	/* Of an endpoint: slices on their way, the oldest first; and those that were posted (loop->lock). */
	struct mc_slice *wait, **wait_end, *post, **post_end;
	bool is_posted;
	uint64_t answered;
	_Atomic uint64_t load; /* bytes that were posted and have not completed */
};

struct mc_tcp_call {
	TAILQ_ENTRY(mc_tcp_call) next;
	void (*f)(struct mc_tcp_loop *l, void *arg);
	void *arg;
	bool done;
};

struct mc_tcp_loop {
	struct mc_port *port;
	pthread_t thread;
	int epoll, bell; /* bell: eventfd that wakes it */
	pthread_mutex_t lock;
	pthread_cond_t done;
	bool stop, rung;
	TAILQ_HEAD(, mc_tcp_call) calls;
	TAILQ_HEAD(, mc_tcp_stream) posted;
	TAILQ_HEAD(mc_tcp_streams, mc_tcp_stream) streams, buried; /* buried: dead, freed after the turn */
	bool completed;                                            /* something is there to poll */
	uint8_t sink[MC_TCP_SINK];
};

struct mc_endpoint {
	struct mc_port *port;
	size_t lanes;
	struct mc_tcp_stream *lane[MC_TCP_LANES];
};

struct mc_port {
	struct mc_port_want want;
	char host[MC_PORT_NAME];
	struct mc_listener *listener;
	pthread_mutex_t lock;
	struct mc_tcp_loop *loop[MC_TCP_LOOPS];
	size_t loops, turn; /* turn: the loop that the next stream goes to */
	uint32_t served;    /* peers' connections */
	uint64_t keys;
	struct {
		MC_VEC(struct mc_tcp_region)
	} region;
	struct {
		MC_VEC(struct mc_completion)
	} done;
	struct {
		MC_VEC(struct mc_endpoint *)
	} of; /* the endpoint of each completion */
};

/* tcp_loop.c */
int mc_tcp_loop_open(struct mc_tcp_loop **out, struct mc_port *p, struct mc_err *err);
void mc_tcp_loop_close(struct mc_tcp_loop *l); /* with its streams */
/* Run f in the loop's thread, between its streams' turns, and wait for it. */
void mc_tcp_loop_call(struct mc_tcp_loop *l, void (*f)(struct mc_tcp_loop *, void *), void *arg);
/* With l->lock held. */
void mc_tcp_loop_ring(struct mc_tcp_loop *l);

/* tcp_stream.c: in the loop's thread */
struct mc_tcp_stream *mc_tcp_stream_new(struct mc_port *p, int fd, uint64_t id);
void mc_tcp_stream_add(struct mc_tcp_loop *l, void *stream);
void mc_tcp_stream_ready(struct mc_tcp_stream *s, uint32_t events);
void mc_tcp_stream_kill(struct mc_tcp_stream *s);
struct mc_tcp_out *mc_tcp_stream_queue(struct mc_tcp_stream *s);
void mc_tcp_stream_flush(struct mc_tcp_stream *s);

/* What came: a whole head; all of its body. Each sets what is received next (body, left), or kills. */
void mc_tcp_serve_head(struct mc_tcp_stream *s);
void mc_tcp_serve_body(struct mc_tcp_stream *s);
bool mc_tcp_serve(void *port, int fd, int64_t deadline);
void mc_tcp_client_head(struct mc_tcp_stream *s);
void mc_tcp_client_body(struct mc_tcp_stream *s);
void mc_tcp_client_start(struct mc_tcp_stream *s); /* what was posted goes out */
void mc_tcp_client_lost(struct mc_tcp_stream *s, const char *why);

#endif
