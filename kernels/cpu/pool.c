#include "kernels/cpu/pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* How often to look before sleeping: about 20 us, the time between two operators of a layer. */
enum { SPINS = 2000 };

struct worker {
	struct mc_cpu_pool *pool;
	int number;
	pthread_t id;
};

struct mc_cpu_pool {
	int threads, spins;
	pthread_mutex_t user; /* one job at a time: whoever computes has each thread's scratch for itself */
	mc_cpu_job *job;
	void *arg;
	int parts;           /* threads of the current job; those beyond only report */
	atomic_uint round;   /* grows with each job; changed under `lock` */
	atomic_int busy;     /* workers that haven't reported */
	atomic_bool closing; /* set before the last round */
	pthread_mutex_t lock;
	pthread_cond_t start, done;
	struct worker worker[];
};

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#endif
}

static unsigned wait_round(struct mc_cpu_pool *p, unsigned seen)
{
	unsigned now;

	for (int i = 0; i < p->spins; i++) {
		now = atomic_load_explicit(&p->round, memory_order_acquire);
		if (now != seen)
			return now;
		relax();
	}
	pthread_mutex_lock(&p->lock);
	while ((now = atomic_load(&p->round)) == seen)
		pthread_cond_wait(&p->start, &p->lock);
	pthread_mutex_unlock(&p->lock);
	return now;
}

static void report(struct mc_cpu_pool *p)
{
	if (atomic_fetch_sub(&p->busy, 1) != 1)
		return;
	pthread_mutex_lock(&p->lock);
	pthread_cond_signal(&p->done);
	pthread_mutex_unlock(&p->lock);
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct mc_cpu_pool *p = w->pool;

	for (unsigned seen = 0;;) {
		seen = wait_round(p, seen);
		if (atomic_load(&p->closing))
			return NULL;
		if (w->number < p->parts)
			p->job(p->arg, w->number, p->parts);
		report(p);
	}
}

static void begin(struct mc_cpu_pool *p)
{
	pthread_mutex_lock(&p->lock);
	atomic_fetch_add_explicit(&p->round, 1, memory_order_release);
	pthread_cond_broadcast(&p->start);
	pthread_mutex_unlock(&p->lock);
}

static void wait_done(struct mc_cpu_pool *p)
{
	for (int i = 0; i < p->spins; i++) {
		if (atomic_load_explicit(&p->busy, memory_order_acquire) == 0)
			return;
		relax();
	}
	pthread_mutex_lock(&p->lock);
	while (atomic_load(&p->busy))
		pthread_cond_wait(&p->done, &p->lock);
	pthread_mutex_unlock(&p->lock);
}

void mc_cpu_pool_run(struct mc_cpu_pool *p, int threads, mc_cpu_job *job, void *arg)
{
	if (threads > p->threads)
		threads = p->threads;
	pthread_mutex_lock(&p->user);
	if (threads <= 1) {
		job(arg, 0, 1);
		pthread_mutex_unlock(&p->user);
		return;
	}
	p->job = job;
	p->arg = arg;
	p->parts = threads;
	atomic_store(&p->busy, p->threads - 1);
	begin(p);
	job(arg, 0, threads);
	wait_done(p);
	pthread_mutex_unlock(&p->user);
}

int mc_cpu_pool_threads(const struct mc_cpu_pool *p)
{
	return p->threads;
}

int mc_cpu_pool_new(struct mc_cpu_pool **out, int threads, struct mc_err *err)
{
	struct mc_cpu_pool *p = calloc(1, sizeof *p + (size_t)threads * sizeof *p->worker);

	assert(threads >= 1);
	*out = NULL;
	if (!p)
		return mc_err_set(err, MC_FAIL, "no memory for %d threads", threads);
	/* Who waits in a loop must not keep the one that it waits for from a processor. */
	p->spins = threads <= sysconf(_SC_NPROCESSORS_ONLN) ? SPINS : 0;
	pthread_mutex_init(&p->user, NULL);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->start, NULL);
	pthread_cond_init(&p->done, NULL);
	for (p->threads = 1; p->threads < threads; p->threads++) {
		struct worker *w = &p->worker[p->threads];

		*w = (struct worker){p, p->threads, 0};
		if (pthread_create(&w->id, NULL, work, w)) {
			mc_cpu_pool_free(p);
			return mc_err_set(err, MC_FAIL, "thread %d of %d could not be started", w->number,
					  threads);
		}
	}
	*out = p;
	return 0;
}

void mc_cpu_pool_free(struct mc_cpu_pool *p)
{
	if (!p)
		return;
	atomic_store(&p->closing, true);
	begin(p);
	for (int i = 1; i < p->threads; i++)
		pthread_join(p->worker[i].id, NULL);
	pthread_cond_destroy(&p->done);
	pthread_cond_destroy(&p->start);
	pthread_mutex_destroy(&p->lock);
	pthread_mutex_destroy(&p->user);
	free(p);
}
