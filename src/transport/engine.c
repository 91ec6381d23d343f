#include "transport/engine.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "transport/sock.h"
#include "transport/state.h"

void mc_engine_defaults(struct mc_engine_want *want)
{
	*want = (struct mc_engine_want){
	    .address = "127.0.0.1:0",
	    .slice_bytes = 64 << 10,
	    .depth = 32,
	    .endpoints = 256,
	    .retries = 4,
	    .retry_ns = 20 * MC_NS_PER_MS,
	    .connect_timeout_ns = 2 * MC_NS_PER_S,
	    .slice_timeout_ns = 5 * MC_NS_PER_S,
	    .batch_timeout_ns = 30 * MC_NS_PER_S,
	    .serve = {.slice_bytes = MC_SLICE_BYTES_MAX, .depth = 256, .connections = 1024, .pending = 32},
	};
}

/* So that none overflows when it is added to a clock, or taken a hundred times. */
static bool is_time(int64_t ns)
{
	return ns > 0 && ns <= INT64_C(31) * 24 * 3600 * MC_NS_PER_S;
}

static int check(const struct mc_engine_want *w, struct mc_err *err)
{
	if (!w->ports || w->ports > MC_ENGINE_PORTS)
		return mc_err_key(err, MC_USAGE, "ports", "%zu; expected 1 to %d", w->ports, MC_ENGINE_PORTS);
	if (w->token.n < MC_TOKEN_MIN)
		return mc_err_key(err, MC_USAGE, "token", "expected %d bytes or more", MC_TOKEN_MIN);
	if (w->slice_bytes < MC_SLICE_BYTES_MIN || w->slice_bytes > MC_SLICE_BYTES_MAX)
		return mc_err_key(err, MC_USAGE, "slice_bytes", "%u; expected %d to %d", w->slice_bytes,
				  MC_SLICE_BYTES_MIN, MC_SLICE_BYTES_MAX);
	if (!w->depth || w->depth > w->serve.depth)
		return mc_err_key(err, MC_USAGE, "depth", "%u; expected 1 to %u, what is served", w->depth,
				  w->serve.depth);
	if (!w->endpoints || !w->retries || w->retries > 1000)
		return mc_err_key(err, MC_USAGE, w->endpoints ? "retries" : "endpoints",
				  "expected 1 or more");
	if (!is_time(w->retry_ns) || !is_time(w->connect_timeout_ns) || !is_time(w->slice_timeout_ns) ||
	    !is_time(w->batch_timeout_ns))
		return mc_err_key(err, MC_USAGE, "timeout", "expected more than 0, and at most a month");
	if (w->serve.slice_bytes < w->slice_bytes || w->serve.slice_bytes > MC_SLICE_BYTES_MAX ||
	    !w->serve.connections || !w->serve.pending)
		return mc_err_key(err, MC_USAGE, "serve",
				  "expected slices up to %d bytes, and room for peers", MC_SLICE_BYTES_MAX);
	return 0;
}

static int open_ports(struct mc_engine *e, struct mc_err *err)
{
	for (size_t i = 0; i < e->want.ports; i++) {
		const struct mc_engine_port *p = &e->want.port[i];
		struct mc_side *side = &e->side[i];
		struct mc_port_want want = {
		    .name = p->name,
		    .token = e->want.token,
		    .limits = e->want.serve,
		    .lanes = e->want.lanes,
		    .timeout_ns = e->want.connect_timeout_ns,
		    .wake = mc_dispatch_wake,
		    .wake_arg = e,
		};
		int rc;

		snprintf(side->name, sizeof side->name, "%s", p->name);
		side->t = p->transport;
		rc = side->t->port_open(&side->port, &want, err);
		if (rc)
			return mc_err_at(err, NULL, 0, 0, side->t->name), rc;
		pthread_mutex_lock(&e->lock);
		side->up = !side->t->up || side->t->up(side->port);
		e->ports++;
		pthread_mutex_unlock(&e->lock);
	}
	return 0;
}

static int start(struct mc_engine *e, struct mc_err *err)
{
	struct mc_listener_want l = {
	    .address = e->want.address,
	    .token = e->want.token,
	    .purpose = MC_PURPOSE_CONTROL,
	    .pending = e->want.serve.pending,
	    .timeout_ns = e->want.connect_timeout_ns,
	    .accepted = mc_control_serve,
	    .arg = e,
	};
	int rc = mc_auth_random(&e->life, sizeof e->life, err);

	if (!rc)
		rc = open_ports(e, err);
	if (!rc)
		rc = mc_jobs_start(e, err);
	if (!rc)
		rc = mc_listener_open(&e->listener, &l, err);
	if (!rc)
		snprintf(e->address, sizeof e->address, "%.*s", MC_ENGINE_ADDRESS - 1,
			 mc_listener_address(e->listener));
	return rc;
}

int mc_engine_open(struct mc_engine **out, const struct mc_engine_want *want, struct mc_err *err)
{
	struct mc_engine *e;
	pthread_condattr_t attr;
	int rc = check(want, err);

	*out = NULL;
	if (rc)
		return rc;
	e = mc_xcalloc(1, sizeof *e);
	e->want = *want;
	TAILQ_INIT(&e->locals);
	TAILQ_INIT(&e->active);
	TAILQ_INIT(&e->links);
	TAILQ_INIT(&e->jobs);
	TAILQ_INIT(&e->pending);
	pthread_mutex_init(&e->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&e->ended, &attr);
	pthread_cond_init(&e->work, &attr);
	pthread_cond_init(&e->tick, &attr);
	pthread_condattr_destroy(&attr);
	rc = start(e, err);
	if (rc) {
		mc_engine_close(e);
		return rc;
	}
	*out = e;
	return 0;
}

const char *mc_engine_address(const struct mc_engine *e)
{
	return e->address;
}

/* Everything that is under way ends; no thread of the engine is left. */
static void end_links(struct mc_engine *e)
{
	struct mc_link *l;
	struct mc_batch *b;
	struct mc_err why = {0};

	mc_err_set(&why, MC_FAIL, "the engine was closed");
	pthread_mutex_lock(&e->lock);
	while ((l = TAILQ_FIRST(&e->links))) {
		if (l->ep)
			mc_pool_closed(e, l); /* what was on it waits again */
		else
			mc_pool_forget(e, l);
	}
	while ((b = TAILQ_FIRST(&e->pending)))
		mc_batch_fail(e, b, mc_batch_first(b), &why);
	pthread_mutex_unlock(&e->lock);
}

static void free_all(struct mc_engine *e)
{
	struct mc_local *m;
	struct mc_job *j;

	while ((m = TAILQ_FIRST(&e->locals))) {
		TAILQ_REMOVE(&e->locals, m, next);
		free(m);
	}
	while ((j = TAILQ_FIRST(&e->jobs))) {
		TAILQ_REMOVE(&e->jobs, j, next);
		free(j);
	}
	for (size_t i = 0; i < e->peer.n; i++)
		mc_peer_free(e->peer.at[i]);
	for (size_t i = 0; i < e->batch.n; i++)
		free(e->batch.at[i]);
	mc_vec_fini(&e->peer);
	mc_vec_fini(&e->batch);
	pthread_cond_destroy(&e->ended);
	pthread_cond_destroy(&e->work);
	pthread_cond_destroy(&e->tick);
	pthread_mutex_destroy(&e->lock);
	free(e);
}

void mc_engine_close(struct mc_engine *e)
{
	struct mc_local *m;

	if (!e)
		return;
	mc_listener_close(e->listener);
	mc_jobs_stop(e);
	end_links(e);
	TAILQ_FOREACH (m, &e->locals, next)
		for (size_t i = 0; i < e->ports; i++)
			if (m->key[i])
				e->side[i].t->memory_unregister(e->side[i].port, m->key[i], NULL);
	/* A port that is still open may wake us, who would look at one that isn't. */
	pthread_mutex_lock(&e->lock);
	e->shut = true;
	pthread_mutex_unlock(&e->lock);
	for (size_t i = 0; i < e->ports; i++)
		e->side[i].t->port_close(e->side[i].port);
	free_all(e);
}

/* In the order of their addresses. */
static int insert(struct mc_local **out, struct mc_engine *e, const struct mc_memory *m, unsigned access,
		  struct mc_err *err)
{
	uintptr_t base = (uintptr_t)m->base;
	struct mc_local *l, *after = NULL;
	size_t told = access != 0;

	TAILQ_FOREACH (l, &e->locals, next) {
		uintptr_t other = (uintptr_t)l->m.base;

		if (base < other + l->m.bytes && other < base + m->bytes)
			return mc_err_set(err, MC_USAGE, "the memory overlaps with one that is registered");
		if (other < base)
			after = l;
		told += l->access != 0;
	}
	if (told > MC_SEGMENT_RANGES)
		return mc_err_set(err, MC_USAGE, "peers can be told of at most %d memories",
				  MC_SEGMENT_RANGES);
	l = mc_xcalloc(1, sizeof *l);
	l->m = *m;
	l->access = access;
	l->going = true;
	if (after)
		TAILQ_INSERT_AFTER(&e->locals, after, l, next);
	else
		TAILQ_INSERT_HEAD(&e->locals, l, next);
	*out = l;
	return 0;
}

int mc_engine_register(struct mc_engine *e, const struct mc_memory *m, unsigned access, struct mc_err *err)
{
	struct mc_local *l;
	struct mc_err why = {0};
	size_t n = 0;
	int rc;

	if (!m->base || !m->bytes || (uintptr_t)m->base + m->bytes < (uintptr_t)m->base ||
	    access & ~(unsigned)(MC_ACCESS_READ | MC_ACCESS_WRITE))
		return mc_err_set(err, MC_USAGE, "that is no memory that could be registered");
	pthread_mutex_lock(&e->lock);
	rc = insert(&l, e, m, access, err);
	pthread_mutex_unlock(&e->lock);
	if (rc)
		return rc;
	for (size_t i = 0; i < e->ports; i++) {
		const struct mc_side *side = &e->side[i];

		l->rank[i] = (uint8_t)mc_topology_rank(e->want.matrix, m->place, side->name);
		if (l->rank[i] != MC_RANK_NONE &&
		    !side->t->memory_register(side->port, m, access, &l->key[i], &why))
			n++;
		else
			l->key[i] = 0;
	}
	pthread_mutex_lock(&e->lock);
	if (n) {
		l->going = false;
		e->version++;
	} else {
		TAILQ_REMOVE(&e->locals, l, next);
		free(l);
	}
	pthread_mutex_unlock(&e->lock);
	if (n)
		return 0;
	return mc_err_set(err, MC_FAIL, "no port can use that memory: %.300s",
			  why.rc ? why.text : "the topology names none for its place");
}

int mc_engine_unregister(struct mc_engine *e, const void *base, struct mc_err *err)
{
	struct mc_local *l;
	int rc = 0;

	pthread_mutex_lock(&e->lock);
	TAILQ_FOREACH (l, &e->locals, next)
		if (l->m.base == base && !l->going)
			break;
	if (!l)
		rc = mc_err_set(err, MC_USAGE, "no memory is registered there");
	else if (l->uses)
		rc = mc_err_set(err, MC_USAGE, "a batch that has not ended uses the memory");
	else
		l->going = true;
	if (!rc)
		e->version++;
	pthread_mutex_unlock(&e->lock);
	if (rc)
		return rc;
	for (size_t i = 0; i < e->ports; i++)
		if (l->key[i] && e->side[i].t->memory_unregister(e->side[i].port, l->key[i], err))
			rc = MC_FAIL;
	pthread_mutex_lock(&e->lock);
	TAILQ_REMOVE(&e->locals, l, next);
	pthread_mutex_unlock(&e->lock);
	free(l);
	return rc;
}

void mc_engine_stats(struct mc_engine *e, struct mc_engine_stats *out)
{
	pthread_mutex_lock(&e->lock);
	*out = e->stats;
	out->endpoints = (uint32_t)e->link_count;
	for (size_t i = 0; i < e->ports; i++)
		out->port_bytes[i] = e->side[i].bytes;
	pthread_mutex_unlock(&e->lock);
}
