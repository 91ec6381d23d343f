/* What the files of the fake share. */
#ifndef MC_TESTS_FAKEVERBS_STATE_H
#define MC_TESTS_FAKEVERBS_STATE_H

#include <pthread.h>

#include "fakeverbs.h"

enum { OBJECTS = 4096, QUEUE = 1024, KEYS = 16 };

struct fake_cq {
	struct ibv_cq cq;
	struct ibv_wc wc[QUEUE];
	int n, size, events;
	bool armed, overrun;
};

struct fake_op {
	struct ibv_qp *qp;
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	int64_t due;   /* in chaos: not before */
	uint32_t peer; /* late: the queue pair it goes to, as its own is no more */
	uint8_t *data; /* late: what is written */
};

struct fake_mr {
	struct ibv_mr mr;
	unsigned access;
};

struct fake_qp {
	struct ibv_qp qp;
	uint32_t peer;
	unsigned access, depth, flying;
};

extern struct fake {
	pthread_mutex_t lock;
	struct ibv_device device[FAKE_DEVICES];
	struct ibv_context *ctx[FAKE_DEVICES * 32];
	struct fake_qp *qp[OBJECTS];
	struct fake_mr *mr[OBJECTS];
	struct {
		void *at;
		struct ibv_context *ctx;
	} object[OBJECTS];
	struct fake_op held[QUEUE];
	int held_n, live, calls, fail_at, fail_times, lose, status_times, same_key;
	enum ibv_wc_status status;
	bool hold, present[FAKE_DEVICES], link[FAKE_DEVICES];
	uint32_t next_qpn, next_key, last_key;
	struct fake_chaos chaos;
	bool in_chaos;
	uint64_t rng;
	unsigned came_late;
} f;

void fake_lock(void);
void fake_unlock(void);
/* Each call that can fail asks this first. */
bool fake_fails(void);
int fake_device_of(const struct ibv_context *ctx);
int64_t fake_now(void);
bool fake_chance(unsigned thousandths);
uint64_t fake_draw(uint64_t n);
/* One operation now, whatever comes of it. */
void fake_carry_out(const struct fake_op *op);
void fake_tell(int device, enum ibv_event_type type, const struct ibv_async_event *of);
struct fake_qp *fake_qp_of(uint32_t number);
struct fake_mr *fake_mr_of(const struct ibv_context *ctx, uint32_t key);
bool fake_holds(const struct fake_mr *m, uint64_t at, uint64_t n);
/* Operations of a queue pair that is destroyed: gone, or late. */
void fake_forget_ops(struct ibv_qp *qp);
/* In chaos, of an operation that fails: how, when some of its bytes have moved. False: it doesn't. */
bool fake_chaos_status(struct fake_qp *qp, const struct fake_op *op, enum ibv_wc_status *status);
/* Pipes of records: the end to read from. */
int fake_pipe(void);
void fake_pipe_close(int fd);
void fake_pipe_write(int fd, const void *at, size_t n);
int fake_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int fake_req_notify(struct ibv_cq *cq, int solicited);
int fake_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);

#endif
