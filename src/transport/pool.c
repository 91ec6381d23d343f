/*
 * Endpoints: made on demand, up to a cap. Beyond it SIEVE (Zhang et al., NSDI 2024) finds the one to go: they
 * stand in the order in which they came; a hand goes from the oldest on, passes those that were used since it
 * last came by, and stops at the first that wasn't. One with slices on it drains first.
 */
#include "transport/sock.h"
#include "transport/state.h"

void mc_pool_forget(struct mc_engine *e, struct mc_link *l)
{
	if (e->hand == l)
		e->hand = TAILQ_NEXT(l, next);
	TAILQ_REMOVE(&e->links, l, next);
	e->link_count--;
	if (l->state == MC_LINK_CLOSING || l->draining)
		e->leaving--;
	mc_peer_path(l->peer, l->local, l->remote)->link = NULL;
	free(l);
}

static struct mc_link *victim(struct mc_engine *e)
{
	struct mc_link *l = e->hand ? e->hand : TAILQ_FIRST(&e->links);

	/* Twice around: the first one may only have cleared marks. */
	for (size_t i = 0; i < 2 * e->link_count; i++) {
		struct mc_link *after = TAILQ_NEXT(l, next);

		if (l->state == MC_LINK_READY && !l->draining && !l->visited) {
			e->hand = after;
			return l;
		}
		l->visited = false;
		l = after ? after : TAILQ_FIRST(&e->links);
	}
	return NULL;
}

/* Some link goes, at once or when it is idle. */
static void make_room(struct mc_engine *e)
{
	struct mc_link *l = e->leaving ? NULL : victim(e);

	if (!l)
		return;
	e->stats.evicted++;
	if (!l->n) {
		mc_pool_close(e, l, false);
	} else {
		l->draining = true;
		e->leaving++;
	}
}

void mc_pool_connect(struct mc_engine *e, struct mc_peer *p, size_t local, size_t remote, bool needed)
{
	struct mc_link *l;
	uint64_t id;

	if (e->link_count >= e->want.endpoints) {
		if (needed)
			make_room(e);
		return;
	}
	if (mc_auth_random(&id, sizeof id, NULL))
		return;
	l = mc_xcalloc(1, sizeof *l);
	*l = (struct mc_link){.peer = p, .local = local, .remote = remote, .id = id, .life = p->seg->life};
	l->state = MC_LINK_CONNECTING;
	l->visited = true;
	TAILQ_INIT(&l->tasks);
	TAILQ_INSERT_TAIL(&e->links, l, next);
	e->link_count++;
	mc_peer_path(p, local, remote)->link = l;
	mc_jobs_add(e, MC_JOB_CONNECT, l, NULL);
}

void mc_pool_close(struct mc_engine *e, struct mc_link *l, bool lost)
{
	if (l->state != MC_LINK_READY)
		return;
	if (!l->draining)
		e->leaving++;
	l->draining = false;
	l->state = MC_LINK_CLOSING;
	l->lost = lost;
	mc_jobs_add(e, MC_JOB_CLOSE, l, NULL);
}

void mc_pool_path_failed(struct mc_engine *e, struct mc_link *l, const struct mc_err *why)
{
	struct mc_path *path = mc_peer_path(l->peer, l->local, l->remote);

	path->fails++;
	path->retry_at = mc_clock_ns() + mc_backoff_ns(e, path->fails);
	l->peer->why = *why;
	l->peer->doubt = true;
}

void mc_pool_connected(struct mc_engine *e, struct mc_link *l)
{
	const struct mc_side *side = &e->side[l->local];
	char address[MC_PORT_ADDRESS];
	struct mc_connect_want want = {
	    .address = address, .id = l->id, .timeout_ns = e->want.connect_timeout_ns};
	struct mc_endpoint *ep;
	struct mc_err why = {0};
	int rc;

	snprintf(address, sizeof address, "%s", l->peer->seg->port[l->remote].address);
	pthread_mutex_unlock(&e->lock);
	rc = side->t->connect(&ep, side->port, &want, &why);
	pthread_mutex_lock(&e->lock);
	if (rc) {
		mc_pool_path_failed(e, l, &why);
		mc_pool_forget(e, l);
		return;
	}
	e->stats.connects++;
	l->ep = ep;
	l->state = MC_LINK_READY;
	if (!side->up || l->peer->gone)
		mc_pool_close(e, l, true);
}

void mc_pool_closed(struct mc_engine *e, struct mc_link *l)
{
	struct mc_peer *p = l->peer;
	struct mc_task *t;
	bool wrote = false;

	pthread_mutex_unlock(&e->lock);
	e->side[l->local].t->disconnect(l->ep);
	pthread_mutex_lock(&e->lock);
	/* From here on nothing touches the local memory of what was on it. */
	while ((t = TAILQ_FIRST(&l->tasks))) {
		TAILQ_REMOVE(&l->tasks, t, next);
		wrote |= t->s.op == MC_OP_WRITE;
		if (t->batch->failing) {
			mc_batch_task_over(e, t);
			continue;
		}
		t->tries++;
		e->stats.resent++;
		mc_dispatch_queue(e, p, t);
	}
	if (wrote && l->life == p->seg->life) {
		struct mc_fence f = {.remote = l->remote, .id = l->id, .life = l->life};

		mc_vec_push(&p->fence, f);
	}
	mc_pool_forget(e, l);
}
