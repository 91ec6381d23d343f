/* Batches: cut into slices, queued, counted until the last one is over. */
#include <errno.h>
#include <string.h>

#include "base/time.h"
#include "transport/sock.h"
#include "transport/state.h"

enum { TASKS_MAX = 1 << 26 };

static struct mc_batch *batch_of(struct mc_engine *e, uint64_t id)
{
	size_t slot = (size_t)(id & UINT32_MAX);
	struct mc_batch *b = slot < e->batch.n ? e->batch.at[slot] : NULL;

	return b && b->id == id ? b : NULL;
}

static void batch_end(struct mc_engine *e, struct mc_batch *b)
{
	b->state = b->failing ? MC_BATCH_FAILED : MC_BATCH_DONE;
	TAILQ_REMOVE(&e->pending, b, next);
	for (size_t i = 0; i < b->requests; i++)
		b->ends[i].local->uses--;
	free(b->task);
	free(b->ends);
	b->task = NULL;
	b->ends = NULL;
	pthread_cond_broadcast(&e->ended);
}

void mc_batch_task_over(struct mc_engine *e, struct mc_task *t)
{
	struct mc_batch *b = t->batch;

	t->state = MC_TASK_OVER;
	if (!--b->left)
		batch_end(e, b);
}

size_t mc_batch_first(const struct mc_batch *b)
{
	size_t i = 0;

	while (i + 1 < b->tasks && b->task[i].state == MC_TASK_OVER)
		i++;
	return b->task[i].request;
}

void mc_batch_fail(struct mc_engine *e, struct mc_batch *b, size_t request, const struct mc_err *why)
{
	size_t n = b->tasks;

	if (b->failing)
		return;
	b->failing = true;
	b->request = request;
	b->err = *why;
	if (!b->err.rc)
		mc_err_set(&b->err, MC_FAIL, "no path to the peer is left");
	/* What waits is over now; what is on its way is waited for: its memory is in use. */
	for (size_t i = 0; i < n; i++) {
		struct mc_task *t = &b->task[i];
		bool last = b->left == 1;

		if (t->state != MC_TASK_WAITING)
			continue;
		TAILQ_REMOVE(&b->ends[t->request].peer->queue, t, next);
		mc_batch_task_over(e, t);
		if (last)
			return; /* the tasks are gone */
	}
}

/* Both ends of a request, or MC_USAGE. */
static int check(struct mc_engine *e, const struct mc_request *r, struct mc_ends *ends, struct mc_err *err)
{
	const struct mc_segment_range *range;
	struct mc_local *m;

	if (!r->bytes || r->op > MC_OP_WRITE)
		return mc_err_set(err, MC_USAGE, "a read or write of 1 byte or more is expected");
	if (r->peer >= e->peer.n)
		return mc_err_set(err, MC_USAGE, "there is no peer %u", r->peer);
	ends->peer = e->peer.at[r->peer];
	if (ends->peer->gone)
		return mc_err_set(err, MC_USAGE, "peer %s has restarted; expected to connect to it again",
				  ends->peer->address);
	TAILQ_FOREACH (m, &e->locals, next) {
		size_t into = (size_t)((uintptr_t)r->local - (uintptr_t)m->m.base);

		if (!m->going && into <= m->m.bytes && r->bytes <= m->m.bytes - into)
			break;
	}
	if (!m)
		return mc_err_set(err, MC_USAGE, "the local memory is not registered");
	ends->local = m;
	ends->life = ends->peer->seg->life;
	range = mc_segment_find(ends->peer->seg, r->remote, r->bytes);
	if (!range)
		return mc_err_set(err, MC_USAGE, "peer %s has not registered that memory",
				  ends->peer->address);
	if (!(range->access & (r->op == MC_OP_READ ? MC_ACCESS_READ : MC_ACCESS_WRITE)))
		return mc_err_set(err, MC_USAGE, "peer %s does not let that memory be %s",
				  ends->peer->address, r->op == MC_OP_READ ? "read" : "written");
	return 0;
}

static void cut(struct mc_batch *b, const struct mc_request *r, uint32_t request, uint32_t slice,
		struct mc_task **next)
{
	for (uint64_t at = 0; at < r->bytes; at += slice) {
		struct mc_task *t = (*next)++;
		uint64_t left = r->bytes - at;

		*t = (struct mc_task){.batch = b, .request = request};
		t->s.op = r->op;
		t->s.bytes = left < slice ? (uint32_t)left : slice;
		t->s.local = (uint8_t *)r->local + at;
		t->s.remote = r->remote + at;
	}
}

static void enter(struct mc_engine *e, struct mc_batch *b)
{
	size_t slot = 0;

	while (slot < e->batch.n && e->batch.at[slot])
		slot++;
	if (slot == e->batch.n)
		mc_vec_push(&e->batch, NULL);
	e->batch.at[slot] = b;
	b->id = ++e->batches << 32 | slot;
	b->deadline = mc_clock_ns() + e->want.batch_timeout_ns;
	TAILQ_INSERT_TAIL(&e->pending, b, next);
	for (size_t i = 0; i < b->requests; i++)
		b->ends[i].local->uses++;
	for (size_t i = 0; i < b->tasks; i++)
		mc_dispatch_queue(e, b->ends[b->task[i].request].peer, &b->task[i]);
	if (e->asleep)
		pthread_cond_signal(&e->tick);
}

static int count(struct mc_engine *e, const struct mc_request *r, size_t n, struct mc_batch *b,
		 struct mc_err *err)
{
	if (!n || n > MC_ENGINE_REQUESTS)
		return mc_err_set(err, MC_USAGE, "a batch of %zu requests; expected 1 to %d", n,
				  MC_ENGINE_REQUESTS);
	for (size_t i = 0; i < n; i++) {
		uint64_t k = r[i].bytes / e->want.slice_bytes + (r[i].bytes % e->want.slice_bytes > 0);

		if (k > TASKS_MAX - b->tasks)
			return mc_err_set(err, MC_USAGE, "a batch of more than %d slices", TASKS_MAX);
		b->tasks += (size_t)k;
		b->total += r[i].bytes;
	}
	b->requests = n;
	b->left = b->tasks;
	return 0;
}

int mc_engine_submit(struct mc_engine *e, const struct mc_request *r, size_t n, uint64_t *batch,
		     struct mc_err *err)
{
	struct mc_batch *b = mc_xcalloc(1, sizeof *b);
	struct mc_task *next;
	int rc = count(e, r, n, b, err);

	*batch = 0;
	if (rc) {
		free(b);
		return rc;
	}
	b->ends = mc_xcalloc(n, sizeof *b->ends);
	b->task = next = mc_xcalloc(b->tasks + 1, sizeof *b->task);
	for (size_t i = 0; i < n; i++)
		cut(b, &r[i], (uint32_t)i, e->want.slice_bytes, &next);
	pthread_mutex_lock(&e->lock);
	if (e->closing)
		rc = mc_err_set(err, MC_USAGE, "the engine is closing");
	for (size_t i = 0; i < n && !rc; i++) {
		rc = check(e, &r[i], &b->ends[i], err);
		if (rc && n > 1)
			mc_err_at(err, NULL, (long)i + 1, 0, "request");
	}
	if (rc) {
		free(b->ends);
		free(b->task);
		free(b);
	} else {
		enter(e, b);
		*batch = b->id;
		mc_dispatch(e);
	}
	pthread_mutex_unlock(&e->lock);
	return rc;
}

static void tell(const struct mc_batch *b, struct mc_batch_status *out)
{
	*out = (struct mc_batch_status){.state = b->state, .bytes = b->bytes, .total = b->total};
	if (b->state == MC_BATCH_FAILED) {
		out->request = b->request;
		out->err = b->err;
	}
}

int mc_engine_poll(struct mc_engine *e, uint64_t batch, struct mc_batch_status *out, struct mc_err *err)
{
	return mc_engine_wait(e, batch, 0, out, err);
}

static void sleep_until(struct mc_engine *e, int64_t until)
{
	struct timespec at = {.tv_sec = until / MC_NS_PER_S, .tv_nsec = until % MC_NS_PER_S};

	if (until == INT64_MAX)
		pthread_cond_wait(&e->ended, &e->lock);
	else
		pthread_cond_timedwait(&e->ended, &e->lock, &at);
}

/* Who waits may as well do some of the work. */
static bool help(struct mc_engine *e)
{
	bool any = false;

	for (size_t i = 0; i < e->ports; i++) {
		const struct mc_side *side = &e->side[i];

		if (!side->t->help)
			continue;
		pthread_mutex_unlock(&e->lock);
		any |= side->t->help(side->port);
		pthread_mutex_lock(&e->lock);
	}
	if (any)
		mc_dispatch(e);
	return any;
}

int mc_engine_wait(struct mc_engine *e, uint64_t batch, int64_t timeout_ns, struct mc_batch_status *out,
		   struct mc_err *err)
{
	int64_t now = mc_clock_ns();
	int64_t until = timeout_ns < 0 || timeout_ns > INT64_MAX - now ? INT64_MAX : now + timeout_ns;
	struct mc_batch *b;
	int rc = 0;

	pthread_mutex_lock(&e->lock);
	b = batch_of(e, batch);
	if (!b) {
		rc = mc_err_set(err, MC_USAGE, "there is no such batch");
	} else {
		b->waiters++;
		while (b->state == MC_BATCH_PENDING && timeout_ns && mc_clock_ns() < until)
			if (!help(e) && b->state == MC_BATCH_PENDING)
				sleep_until(e, until);
		b->waiters--;
		tell(b, out);
	}
	pthread_mutex_unlock(&e->lock);
	return rc;
}

int mc_engine_free(struct mc_engine *e, uint64_t batch, struct mc_err *err)
{
	struct mc_batch *b;
	int rc = 0;

	pthread_mutex_lock(&e->lock);
	b = batch_of(e, batch);
	if (!b) {
		rc = mc_err_set(err, MC_USAGE, "there is no such batch");
	} else if (b->state == MC_BATCH_PENDING || b->waiters) {
		rc = mc_err_set(err, MC_USAGE, "the batch has not ended, or is waited for");
	} else {
		e->batch.at[batch & UINT32_MAX] = NULL;
		free(b);
	}
	pthread_mutex_unlock(&e->lock);
	return rc;
}
