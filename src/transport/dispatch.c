/*
 * Slices onto paths, and back: which path a slice takes, what its completion means. Of the paths that are not
 * left for a while, those of the cheapest transport count, of these the nearest, of these partners before
 * others; and of the endpoints that are ready and not full the one with the fewest bytes on it.
 */
#include <limits.h>

#include "transport/sock.h"
#include "transport/state.h"

enum {
	POLLED = 64, /* completions taken at once */
	STUCK = 64,  /* slices of a queue that could not be sent, after which the rest waits as well */
	POSTED = 64, /* slices handed over at once */
};

void mc_dispatch_queue(struct mc_engine *e, struct mc_peer *p, struct mc_task *t)
{
	t->state = MC_TASK_WAITING;
	t->link = NULL;
	TAILQ_INSERT_TAIL(&p->queue, t, next);
	if (!p->is_active) {
		p->is_active = true;
		TAILQ_INSERT_TAIL(&e->active, p, active);
	}
}

/* What is known of a slice's paths. */
struct choice {
	unsigned tier;        /* the best of those that can be tried now: lower is better */
	struct mc_link *link; /* ready, in that tier, with the fewest bytes */
	bool ready;           /* some link of that tier is, though it may be full */
	bool missing;         /* a path of that tier has none */
	size_t paths, spent;  /* all; those that have failed too often */
};

static unsigned tier_of(const struct mc_side *side, unsigned rank, const struct mc_path *path)
{
	return (unsigned)side->t->cost * 16 + rank * 2 + !path->partner;
}

/* Walk over the paths of a slice and judge. */
static void look(struct mc_engine *e, struct mc_task *t, const struct mc_segment_range *range, int64_t now,
		 struct choice *c)
{
	const struct mc_ends *ends = &t->batch->ends[t->request];
	struct mc_peer *p = ends->peer;

	*c = (struct choice){.tier = UINT_MAX};
	for (size_t l = 0; l < e->ports; l++) {
		if (!ends->local->key[l] || ends->local->rank[l] == MC_RANK_NONE)
			continue;
		for (size_t r = 0; r < p->seg->ports; r++) {
			struct mc_path *path = mc_peer_path(p, l, r);
			struct mc_link *k = path->link;
			unsigned tier;

			if (!path->joined || !range->at[r].key || range->at[r].rank == MC_RANK_NONE)
				continue;
			c->paths++;
			c->spent += path->fails >= e->want.retries;
			if (!e->side[l].up || now < path->retry_at ||
			    (k && k->state == MC_LINK_CLOSING && k->lost))
				continue;
			tier = tier_of(&e->side[l], (unsigned)ends->local->rank[l] + range->at[r].rank, path);
			if (tier > c->tier)
				continue;
			if (tier < c->tier) {
				c->tier = tier;
				c->link = NULL;
				c->ready = c->missing = false;
			}
			c->missing |= !k;
			if (!k || k->state != MC_LINK_READY || k->draining)
				continue;
			c->ready = true;
			if (k->n < e->want.depth && (!c->link || k->bytes < c->link->bytes))
				c->link = k;
		}
	}
}

/* Ask for links on the paths of the tier that have none. */
static void connect_tier(struct mc_engine *e, struct mc_task *t, const struct mc_segment_range *range,
			 int64_t now, const struct choice *c)
{
	const struct mc_ends *ends = &t->batch->ends[t->request];
	struct mc_peer *p = ends->peer;

	for (size_t l = 0; l < e->ports; l++) {
		if (!ends->local->key[l] || ends->local->rank[l] == MC_RANK_NONE || !e->side[l].up)
			continue;
		for (size_t r = 0; r < p->seg->ports; r++) {
			struct mc_path *path = mc_peer_path(p, l, r);

			if (path->link || !path->joined || !range->at[r].key ||
			    range->at[r].rank == MC_RANK_NONE || now < path->retry_at)
				continue;
			if (tier_of(&e->side[l], (unsigned)ends->local->rank[l] + range->at[r].rank, path) ==
			    c->tier)
				mc_pool_connect(e, p, l, r, !c->ready);
		}
	}
}

/* The range of a slice, or the batch has failed. */
static const struct mc_segment_range *range_of(struct mc_engine *e, struct mc_task *t)
{
	struct mc_batch *b = t->batch;
	const struct mc_ends *ends = &b->ends[t->request];
	const struct mc_peer *p = ends->peer;
	unsigned access = t->s.op == MC_OP_READ ? MC_ACCESS_READ : MC_ACCESS_WRITE;
	if (ends->life == p->seg->life) {
		const struct mc_segment_range *range = mc_segment_find(p->seg, t->s.remote, t->s.bytes);

		if (range && range->access & access)
			return range;
	}
	struct mc_err why = {0}; /* of nearly 1 KB: not before it is needed */

	mc_err_set(&why, MC_FAIL,
		   ends->life != p->seg->life ? "peer %s has restarted"
					      : "peer %s does not have that memory registered any more",
		   p->address);
	mc_batch_fail(e, b, t->request, &why);
	return NULL;
}

/* Nothing can be sent now, nor soon: the batch has failed. */
static bool give_up(struct mc_engine *e, struct mc_task *t, int64_t now, const struct choice *c)
{
	const struct mc_ends *ends = &t->batch->ends[t->request];
	const struct mc_peer *p = ends->peer;
	bool silent = t->s.op == MC_OP_WRITE && p->fence.n && mc_peer_silent(e, p, now);
	bool spent = c->tier == UINT_MAX && c->spent == c->paths;

	if (c->paths && !silent && !spent && t->tries <= e->want.retries + c->paths)
		return false;
	struct mc_err why = {0};

	if (!c->paths)
		mc_err_set(&why, MC_FAIL, "no port reaches that memory of peer %s", p->address);
	else if (silent)
		mc_err_set(&why, MC_FAIL,
			   "peer %s does not confirm that a lost connection writes nothing more: %.200s",
			   p->address, p->why.text);
	else if (spent)
		mc_err_set(&why, MC_FAIL,
			   "all paths to peer %s failed %u times in a row; the last one: %.200s", p->address,
			   e->want.retries, p->why.rc ? p->why.text : "no link");
	else
		mc_err_set(&why, MC_FAIL, "a slice to peer %s was lost %u times; at last: %.200s", p->address,
			   (unsigned)t->tries, p->why.text);
	mc_batch_fail(e, t->batch, t->request, &why);
	return true;
}

static void hand_over(struct mc_engine *e, struct mc_task *t, const struct mc_segment_range *range,
		      struct mc_link *k, int64_t now)
{
	const struct mc_ends *ends = &t->batch->ends[t->request];
	struct mc_slice *s = &t->s;

	TAILQ_REMOVE(&ends->peer->queue, t, next);
	s->local_key = ends->local->key[k->local];
	s->remote_key = range->at[k->remote].key;
	t->state = MC_TASK_POSTED;
	t->posted = now;
	t->link = k;
	TAILQ_INSERT_TAIL(&k->tasks, t, next);
	k->n++;
	k->bytes += s->bytes;
	k->visited = true;
	e->stats.slices++;
}

/* Slices that go to the same link, one after the other, are handed over in one call. */
struct run {
	struct mc_link *link;
	size_t n;
	struct mc_slice *slice[POSTED];
};

static void flush(struct mc_engine *e, struct run *run)
{
	if (run->n)
		e->side[run->link->local].t->post(run->link->ep, run->slice, run->n);
	run->n = 0;
}

/* Fail all that waits for a peer. */
static void fail_queue(struct mc_engine *e, struct mc_peer *p)
{
	struct mc_task *t;
	struct mc_err why = {0};

	mc_err_set(&why, MC_FAIL, "peer %s does not say what memory it has: %.200s", p->address, p->why.text);
	while ((t = TAILQ_FIRST(&p->queue)))
		mc_batch_fail(e, t->batch, t->request, &why);
}

/* Send what can be sent of a peer's queue; true: something was. */
static bool send_queue(struct mc_engine *e, struct mc_peer *p, int64_t now)
{
	struct run run = {0};
	unsigned stuck = 0;
	bool sent = false;
	struct mc_task *t = TAILQ_FIRST(&p->queue), *after;
	const struct mc_batch *full = NULL; /* the links of this batch's request are full: */
	uint32_t full_request = 0;

	if (p->stale) {
		if (mc_peer_silent(e, p, now))
			fail_queue(e, p);
		return false;
	}
	for (; t && stuck < STUCK; t = after) {
		const struct mc_segment_range *range;
		struct choice c;

		if (t->batch == full && t->request == full_request) {
			after = TAILQ_NEXT(t, next);
			stuck++;
			continue;
		}
		range = range_of(e, t);
		if (!range) {
			after = TAILQ_FIRST(&p->queue); /* the batch took its slices with it */
			continue;
		}
		look(e, t, range, now, &c);
		if (give_up(e, t, now, &c)) {
			after = TAILQ_FIRST(&p->queue);
			continue;
		}
		after = TAILQ_NEXT(t, next);
		if (c.missing)
			connect_tier(e, t, range, now, &c);
		/* No path of it can be tried now: it goes behind those that may have one. */
		if (c.tier == UINT_MAX) {
			TAILQ_REMOVE(&p->queue, t, next);
			TAILQ_INSERT_TAIL(&p->queue, t, next);
		}
		/* What was lost must not come in after what is sent now. */
		if (!c.link || (t->s.op == MC_OP_WRITE && p->fence.n)) {
			stuck++;
			if (c.ready && !c.missing) {
				full = t->batch;
				full_request = t->request;
			}
			continue;
		}
		if (run.n == POSTED || (run.n && run.link != c.link))
			flush(e, &run);
		hand_over(e, t, range, c.link, now);
		run.link = c.link;
		run.slice[run.n++] = &t->s;
		sent = true;
	}
	flush(e, &run);
	return sent;
}

static void refused(struct mc_engine *e, struct mc_task *t, const struct mc_completion *c)
{
	struct mc_batch *b = t->batch;
	struct mc_peer *p = b->ends[t->request].peer;
	struct mc_err why = {0};

	if (b->failing) {
		mc_batch_task_over(e, t);
		return;
	}
	mc_err_set(&why, MC_FAIL, "refused by peer %s: %s", p->address, c->why);
	/* Its keys may have changed since it was asked for them: once more with what it says now. */
	p->stale = p->again = true;
	mc_dispatch_queue(e, p, t);
	if (t->refused++)
		mc_batch_fail(e, b, t->request, &why);
}

static void completed(struct mc_engine *e, const struct mc_completion *c)
{
	struct mc_task *t = (struct mc_task *)c->slice;
	struct mc_link *k = t->link;

	if (c->status == MC_WIRE_LOST) { /* it comes back when the link is closed */
		if (k->state != MC_LINK_READY)
			return;
		struct mc_err why = {0};

		mc_err_set(&why, MC_FAIL, "%s", c->why);
		mc_pool_path_failed(e, k, &why);
		mc_pool_close(e, k, true);
		return;
	}
	TAILQ_REMOVE(&k->tasks, t, next);
	k->n--;
	k->bytes -= t->s.bytes;
	if (c->status == MC_WIRE_OK) {
		mc_peer_path(k->peer, k->local, k->remote)->fails = 0;
		e->side[k->local].bytes += t->s.bytes;
		t->batch->bytes += t->s.bytes;
		mc_batch_task_over(e, t);
	} else {
		refused(e, t, c);
	}
	if (k->draining && !k->n && k->state == MC_LINK_READY)
		mc_pool_close(e, k, false);
}

static bool take(struct mc_engine *e)
{
	struct mc_completion c[POLLED];
	bool any = false;

	for (size_t i = 0; i < e->ports; i++) {
		struct mc_side *side = &e->side[i];
		bool up = !side->t->up || side->t->up(side->port);
		size_t n;

		while ((n = side->t->poll(side->port, c, POLLED)) > 0) {
			any = true;
			for (size_t k = 0; k < n; k++)
				completed(e, &c[k]);
		}
		if (side->up && !up) {
			struct mc_err why = {0};
			struct mc_link *k;

			mc_err_set(&why, MC_FAIL, "port %s is down", side->name);
			TAILQ_FOREACH (k, &e->links, next)
				if (k->local == i && k->state == MC_LINK_READY) {
					k->peer->why = why;
					mc_pool_close(e, k, true);
				}
		}
		side->up = up;
	}
	return any;
}

void mc_dispatch(struct mc_engine *e)
{
	bool busy = true;

	while (busy) {
		int64_t now = mc_clock_ns();
		struct mc_peer *p, *after;

		busy = take(e);
		for (p = TAILQ_FIRST(&e->active); p; p = after) {
			after = TAILQ_NEXT(p, active);
			if (e->closing || send_queue(e, p, now))
				busy = !e->closing;
			if (mc_peer_wants(p) && !p->asking && now >= p->retry_at && !e->closing) {
				p->asking = true;
				mc_jobs_add(e, MC_JOB_ASK, NULL, p);
			}
			if (TAILQ_EMPTY(&p->queue) && !p->fence.n) {
				p->is_active = false;
				TAILQ_REMOVE(&e->active, p, active);
			}
		}
	}
}

void mc_dispatch_wake(void *engine)
{
	struct mc_engine *e = engine;

	pthread_mutex_lock(&e->lock);
	if (!e->shut)
		mc_dispatch(e);
	pthread_mutex_unlock(&e->lock);
}
