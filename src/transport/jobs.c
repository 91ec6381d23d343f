/*
 * What waits for peers is done in threads of its own: connecting, and asking a peer. One thread only takes
 * endpoints down, so that this never waits for a peer that doesn't answer. The keeper looks at the clock.
 */
#include <errno.h>

#include "base/time.h"
#include "transport/sock.h"
#include "transport/state.h"

#define TICK_NS (5 * MC_NS_PER_MS) /* how often the clock is looked at while something is pending */

int64_t mc_backoff_ns(const struct mc_engine *e, uint32_t fails)
{
	return e->want.retry_ns * (fails > 7 ? 100 : INT64_C(1) << (fails - 1));
}

void mc_jobs_add(struct mc_engine *e, enum mc_job_kind kind, struct mc_link *l, struct mc_peer *p)
{
	struct mc_job *j = mc_xcalloc(1, sizeof *j);

	*j = (struct mc_job){.kind = kind, .link = l, .peer = p};
	TAILQ_INSERT_TAIL(&e->jobs, j, next);
	pthread_cond_broadcast(&e->work);
}

/* The next job that a thread may do. */
static struct mc_job *next_job(struct mc_engine *e, bool closer)
{
	struct mc_job *j;

	TAILQ_FOREACH (j, &e->jobs, next)
		if (closer == (j->kind == MC_JOB_CLOSE))
			return j;
	return NULL;
}

static void work(struct mc_engine *e, bool closer)
{
	struct mc_job *j;

	pthread_mutex_lock(&e->lock);
	while (!e->closing) {
		j = next_job(e, closer);
		if (!j) {
			pthread_cond_wait(&e->work, &e->lock);
			continue;
		}
		TAILQ_REMOVE(&e->jobs, j, next);
		if (j->kind == MC_JOB_CONNECT)
			mc_pool_connected(e, j->link);
		else if (j->kind == MC_JOB_CLOSE)
			mc_pool_closed(e, j->link);
		else
			mc_peer_ask(e, j->peer);
		free(j);
		if (!e->closing)
			mc_dispatch(e);
	}
	pthread_mutex_unlock(&e->lock);
}

static void *worker(void *arg)
{
	work(arg, false);
	return NULL;
}

static void *closer(void *arg)
{
	work(arg, true);
	return NULL;
}

static void expire(struct mc_engine *e, struct mc_batch *b)
{
	struct mc_err why = {0};

	b->doomed = true;
	mc_err_set(&why, MC_FAIL, "not done in time: %zu of %zu slices are left%s%.200s", b->left, b->tasks,
		   b->ends[0].peer->why.rc ? "; what failed last: " : "", b->ends[0].peer->why.text);
	/* What is on its way is torn down with its endpoint: its memory is free when that is done. */
	for (size_t i = 0; i < b->tasks; i++)
		if (b->task[i].state == MC_TASK_POSTED)
			mc_pool_close(e, b->task[i].link, true);
	mc_batch_fail(e, b, 0, &why);
}

static void look_at_clock(struct mc_engine *e, int64_t now)
{
	struct mc_batch *b, *after;
	struct mc_link *l;
	struct mc_err why = {0};

	for (b = TAILQ_FIRST(&e->pending); b; b = after) {
		after = TAILQ_NEXT(b, next);
		if (now >= b->deadline && !b->doomed)
			expire(e, b);
	}
	mc_err_set(&why, MC_FAIL, "a slice was not done in time");
	TAILQ_FOREACH (l, &e->links, next)
		if (l->state == MC_LINK_READY && l->n &&
		    now - TAILQ_FIRST(&l->tasks)->posted > e->want.slice_timeout_ns) {
			mc_pool_path_failed(e, l, &why);
			mc_pool_close(e, l, true);
		}
}

static void *keep(void *arg)
{
	struct mc_engine *e = arg;

	pthread_mutex_lock(&e->lock);
	while (!e->closing) {
		if (TAILQ_EMPTY(&e->pending)) {
			pthread_cond_wait(&e->tick, &e->lock);
		} else {
			int64_t at = mc_clock_ns() + TICK_NS;
			struct timespec t = {.tv_sec = at / MC_NS_PER_S, .tv_nsec = at % MC_NS_PER_S};

			pthread_cond_timedwait(&e->tick, &e->lock, &t);
			look_at_clock(e, mc_clock_ns());
			if (!e->closing)
				mc_dispatch(e);
		}
	}
	pthread_mutex_unlock(&e->lock);
	return NULL;
}

int mc_jobs_start(struct mc_engine *e, struct mc_err *err)
{
	errno = pthread_create(&e->keeper, NULL, keep, e);
	e->kept = !errno;
	while (!errno && e->workers < MC_JOB_THREADS) {
		errno = pthread_create(&e->worker[e->workers], NULL, e->workers ? worker : closer, e);
		e->workers += !errno;
	}
	return errno ? mc_err_errno(err, MC_FAIL, "cannot start a thread") : 0;
}

void mc_jobs_stop(struct mc_engine *e)
{
	pthread_mutex_lock(&e->lock);
	e->closing = true;
	pthread_cond_broadcast(&e->tick);
	pthread_cond_broadcast(&e->work);
	pthread_mutex_unlock(&e->lock);
	if (e->kept)
		pthread_join(e->keeper, NULL);
	for (size_t i = 0; i < e->workers; i++)
		pthread_join(e->worker[i], NULL);
}
