/*
 * What waits for peers is done in threads of its own: connecting, and asking a peer; more of them, up to a
 * limit, as long as those that are there all wait. One thread only takes endpoints down, so that this never
 * waits for a peer that doesn't answer. The keeper looks at the clock.
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

static void *worker(void *engine);

void mc_jobs_add(struct mc_engine *e, enum mc_job_kind kind, struct mc_link *l, struct mc_peer *p)
{
	struct mc_job *j = mc_xcalloc(1, sizeof *j);

	*j = (struct mc_job){.kind = kind, .link = l, .peer = p};
	TAILQ_INSERT_TAIL(&e->jobs, j, next);
	pthread_cond_broadcast(&e->work);
	if (kind == MC_JOB_CLOSE || ++e->calls <= e->idle || e->workers == MC_JOB_THREADS || e->closing)
		return;
	/* The others wait for peers that may never answer: one more. If there is none to be had, they do it.
	 */
	e->workers += !pthread_create(&e->worker[e->workers], NULL, worker, e);
}

/* Whether its peer has just failed to answer. */
static bool is_doubtful(const struct mc_job *j)
{
	const struct mc_link *l = j->link;

	return l ? l->peer->fails || mc_peer_path(l->peer, l->local, l->remote)->fails : j->peer->fails;
}

/* The next job that a thread may do: peers that answer come first. */
static struct mc_job *next_job(struct mc_engine *e, bool closer)
{
	struct mc_job *j, *other = NULL;

	TAILQ_FOREACH (j, &e->jobs, next) {
		if (closer != (j->kind == MC_JOB_CLOSE))
			continue;
		if (closer || !is_doubtful(j))
			return j;
		if (!other)
			other = j;
	}
	return other;
}

static void work(struct mc_engine *e, bool closer)
{
	struct mc_job *j;

	pthread_mutex_lock(&e->lock);
	while (!e->closing) {
		j = next_job(e, closer);
		if (!j) {
			e->idle += !closer;
			pthread_cond_wait(&e->work, &e->lock);
			e->idle -= !closer;
			continue;
		}
		TAILQ_REMOVE(&e->jobs, j, next);
		e->calls -= !closer;
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
	const struct mc_peer *p = b->ends[mc_batch_first(b)].peer;
	struct mc_err why = {0};

	b->doomed = true;
	mc_err_set(&why, MC_FAIL, "not done in time: %zu of %zu slices are left%s%.200s", b->left, b->tasks,
		   p->why.rc ? "; what failed last: " : "", p->why.text);
	/* What is on its way is torn down with its endpoint: its memory is free when that is done. */
	for (size_t i = 0; i < b->tasks; i++)
		if (b->task[i].state == MC_TASK_POSTED)
			mc_pool_close(e, b->task[i].link, true);
	mc_batch_fail(e, b, mc_batch_first(b), &why);
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
	bool idle = true;

	pthread_mutex_lock(&e->lock);
	while (!e->closing) {
		/* After a tick without a batch; so those of a busy engine need not wake it one by one. */
		if (TAILQ_EMPTY(&e->pending) && idle) {
			e->asleep = true;
			pthread_cond_wait(&e->tick, &e->lock);
			e->asleep = idle = false;
		} else {
			int64_t at = mc_clock_ns() + TICK_NS;
			struct timespec t = {.tv_sec = at / MC_NS_PER_S, .tv_nsec = at % MC_NS_PER_S};

			pthread_cond_timedwait(&e->tick, &e->lock, &t);
			look_at_clock(e, mc_clock_ns());
			idle = TAILQ_EMPTY(&e->pending);
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
	while (!errno && e->workers < MC_JOB_FIRST) {
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
