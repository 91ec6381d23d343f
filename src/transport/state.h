/* The inside of an engine. All of it is under e->lock, but what never changes after open. */
#ifndef MC_TRANSPORT_STATE_H
#define MC_TRANSPORT_STATE_H

#include <pthread.h>
#include <sys/queue.h>

#include "base/vec.h"
#include "transport/engine.h"
#include "transport/listener.h"
#include "transport/segment.h"

struct mc_link;
struct mc_peer;
struct mc_batch;

/* A port of this process. */
struct mc_side {
	const struct mc_transport *t;
	struct mc_port *port;
	char name[MC_PORT_NAME];
	bool up;
	uint64_t bytes; /* moved */
};

/* A registered memory. */
struct mc_local {
	TAILQ_ENTRY(mc_local) next;
	struct mc_memory m;
	unsigned access;
	uint32_t uses; /* requests of batches that have not ended */
	bool going;    /* being registered or unregistered: not to be used */
	uint64_t key[MC_ENGINE_PORTS];
	uint8_t rank[MC_ENGINE_PORTS];
};

enum mc_task_state { MC_TASK_WAITING, MC_TASK_POSTED, MC_TASK_OVER };

/* A slice: waits in its peer's queue, or is on an endpoint. */
struct mc_task {
	struct mc_slice s; /* first: completions name it */
	TAILQ_ENTRY(mc_task) next;
	struct mc_batch *batch;
	struct mc_link *link; /* posted: on this */
	int64_t posted;
	uint32_t request;
	uint16_t tries; /* times it came back */
	uint8_t refused;
	uint8_t state;
};
TAILQ_HEAD(mc_tasks, mc_task);

/* Where a request goes from and to. */
struct mc_ends {
	struct mc_peer *peer;
	struct mc_local *local;
	uint64_t life; /* of the peer, at submit */
};

struct mc_batch {
	TAILQ_ENTRY(mc_batch) next; /* of those that are pending */
	uint64_t id;
	enum mc_batch_state state;
	bool failing, doomed; /* failing: nothing more is posted; doomed: nor waited for */
	uint32_t waiters;
	int64_t deadline;
	size_t requests, tasks, left; /* left: tasks that are not over */
	uint64_t bytes, total;
	size_t request; /* the one that failed */
	struct mc_err err;
	struct mc_ends *ends;
	struct mc_task *task;
};

enum mc_link_state { MC_LINK_CONNECTING, MC_LINK_READY, MC_LINK_CLOSING };

/* An endpoint: a connection from one of our ports to one of a peer's. */
struct mc_link {
	TAILQ_ENTRY(mc_link) next; /* in the order in which they came: SIEVE's */
	struct mc_peer *peer;
	size_t local, remote; /* ports */
	uint64_t id, life;
	enum mc_link_state state;
	bool lost;     /* closing because it failed */
	bool visited;  /* used since SIEVE's hand passed */
	bool draining; /* goes when it is idle */
	struct mc_endpoint *ep;
	struct mc_tasks tasks; /* posted, the oldest first */
	size_t n;
	uint64_t bytes; /* of these */
};

/* From a port to a port of a peer. */
struct mc_path {
	struct mc_link *link;
	bool joined;  /* of one transport that can reach it */
	bool partner; /* its ports have the same place in their lists: used first, so that few connections use
		       * all
		       */
	uint32_t fails;   /* in a row */
	int64_t retry_at; /* not before */
};

/* A connection whose writes may still come in until the peer says that it is gone. */
struct mc_fence {
	size_t remote;
	uint64_t id, life;
};

struct mc_peer {
	TAILQ_ENTRY(mc_peer) active;
	bool is_active; /* in the list of peers with something to send */
	bool gone;      /* it restarted: another one has its address */
	uint32_t index;
	char address[MC_ENGINE_ADDRESS];
	struct mc_segment *seg;
	struct mc_path *path; /* [ports][seg->ports] */
	struct mc_tasks queue;
	struct {
		MC_VEC(struct mc_fence)
	} fence;
	bool stale;  /* it refused a key: its segment is asked for again before more is sent */
	bool again;  /* it did, since it was last asked */
	bool doubt;  /* it may have restarted: its segment is asked for again, meanwhile others are tried */
	bool asking; /* a job talks with it */
	uint32_t fails;    /* to talk, in a row */
	int64_t retry_at;  /* to talk */
	struct mc_err why; /* what failed last */
};

enum mc_job_kind { MC_JOB_CONNECT, MC_JOB_CLOSE, MC_JOB_ASK };

struct mc_job {
	TAILQ_ENTRY(mc_job) next;
	enum mc_job_kind kind;
	struct mc_link *link;
	struct mc_peer *peer;
};

enum { MC_JOB_FIRST = 4, MC_JOB_THREADS = 32 }; /* at the start, at most */

struct mc_engine {
	struct mc_engine_want want;
	pthread_mutex_t lock;
	pthread_cond_t ended, work, tick; /* batches; jobs; the keeper */
	uint64_t life, version;
	struct mc_listener *listener;
	char address[MC_ENGINE_ADDRESS];
	struct mc_side side[MC_ENGINE_PORTS];
	size_t ports;
	TAILQ_HEAD(, mc_local) locals;
	struct {
		MC_VEC(struct mc_peer *)
	} peer;
	TAILQ_HEAD(, mc_peer) active;
	TAILQ_HEAD(, mc_link) links;
	struct mc_link *hand;       /* SIEVE's */
	size_t link_count, leaving; /* leaving: closing or draining, of those */
	TAILQ_HEAD(, mc_job) jobs;
	TAILQ_HEAD(, mc_batch) pending;
	struct {
		MC_VEC(struct mc_batch *)
	} batch; /* by the low 32 bits of the id */
	uint64_t batches;
	bool closing;
	bool shut; /* ports are being closed, one after the other: nobody looks at them any more */
	pthread_t keeper, worker[MC_JOB_THREADS];
	size_t workers, idle, calls; /* calls: jobs that wait, but for closing */
	bool kept;
	bool asleep; /* the keeper is */
	struct mc_engine_stats stats;
};

/* pool.c: links. needed: its slices have no other. */
void mc_pool_connect(struct mc_engine *e, struct mc_peer *p, size_t local, size_t remote, bool needed);
void mc_pool_close(struct mc_engine *e, struct mc_link *l, bool lost);
void mc_pool_connected(struct mc_engine *e, struct mc_link *l); /* the lock is given up meanwhile */
void mc_pool_closed(struct mc_engine *e, struct mc_link *l);    /* the same */
void mc_pool_forget(struct mc_engine *e, struct mc_link *l);
void mc_pool_path_failed(struct mc_engine *e, struct mc_link *l, const struct mc_err *why);

/* dispatch.c: completions are taken and slices sent until there is nothing to do */
void mc_dispatch(struct mc_engine *e);
void mc_dispatch_wake(void *engine);
void mc_dispatch_queue(struct mc_engine *e, struct mc_peer *p, struct mc_task *t);

/* batch.c */
void mc_batch_fail(struct mc_engine *e, struct mc_batch *b, size_t request, const struct mc_err *why);
size_t mc_batch_first(const struct mc_batch *b); /* pending: the first request that is not done */
void mc_batch_task_over(struct mc_engine *e, struct mc_task *t);

/* jobs.c */
void mc_jobs_add(struct mc_engine *e, enum mc_job_kind kind, struct mc_link *l, struct mc_peer *p);
int mc_jobs_start(struct mc_engine *e, struct mc_err *err);
void mc_jobs_stop(struct mc_engine *e);

/* peer.c */
void mc_peer_ask(struct mc_engine *e, struct mc_peer *p); /* the lock is given up meanwhile */
bool mc_peer_wants(const struct mc_peer *p);              /* there is something to ask */
bool mc_peer_silent(const struct mc_engine *e, const struct mc_peer *p, int64_t now); /* asked, too often */
struct mc_path *mc_peer_path(const struct mc_peer *p, size_t local, size_t remote);
void mc_peer_free(struct mc_peer *p);

/* control.c: what peers ask, in a thread of the listener */
bool mc_control_serve(void *engine, int fd, int64_t deadline);

/* A wait before the next try after so many failures in a row. */
int64_t mc_backoff_ns(const struct mc_engine *e, uint32_t fails);

#endif
