/*
 * Who comes when. A request is sent to the cluster; the Conductor has decided on it a fixed time later; and
 * it ends: it completes, fails, or is refused and its client gives up.
 */
#include "cluster/arrivals.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/clients.h"
#include "cluster/state.h"
#include "engine/kinds.h"

#define PROGRESS_EVERY 256  /* requests */
#define DUE_KEPT       4096 /* decisions that are over, in memory at most beside as many that are not */

bool mc_cluster_over(const struct mc_cluster *c)
{
	return c->arrivals.ended == c->trace->n;
}

/* Room for one more decision without those that are over. */
static void due_tidy(struct mc_arrivals *a)
{
	size_t left = a->due.n - a->head;

	if (left && (a->head < DUE_KEPT || left > a->head))
		return;
	if (left)
		memmove(a->due.at, a->due.at + a->head, left * sizeof *a->due.at);
	a->due.n = left;
	a->head = 0;
}

/* Put a request before the Conductor. */
static void send(struct mc_cluster *c, int64_t request)
{
	struct mc_arrivals *a = &c->arrivals;
	struct mc_row *row = &c->result->row[request];

	row->attempts++;
	row->sent = c->loop.now;
	due_tidy(a);
	mc_vec_push(&a->due, ((struct mc_due){c->loop.now + c->schedule, request}));
	if (!mc_event_pending(&a->decide))
		mc_loop_at(&c->loop, &a->decide, a->due.at[a->head].at);
}

/* Send those that have come, as many as may be under way. */
static void send_more(struct mc_cluster *c)
{
	struct mc_arrivals *a = &c->arrivals;

	while (a->sent < a->came && a->sent - a->ended < a->limit)
		send(c, a->sent++);
}

/* Open loop: when the trace says. */
static void on_come(struct mc_loop *loop, struct mc_event *ev)
{
	struct mc_cluster *c = mc_container_of(ev, struct mc_cluster, arrivals.come);
	struct mc_arrivals *a = &c->arrivals;

	a->came++;
	send_more(c);
	if (a->came < c->trace->n)
		mc_loop_at(loop, ev, c->trace->arrival[a->came]);
}

/* Closed loop: a client takes the next request, if one is left. */
static void take(struct mc_cluster *c)
{
	struct mc_row *row = &c->result->row[c->arrivals.came];

	if (c->arrivals.came == c->trace->n)
		return;
	row->arrival = c->loop.now;
	row->counted = row->arrival >= c->scenario->run.warmup;
	c->arrivals.came++;
	send_more(c);
}

static void on_wake(struct mc_loop *loop, struct mc_event *ev)
{
	struct mc_waiter *w = mc_container_of(ev, struct mc_waiter, wake);
	struct mc_cluster *c = w->cluster;

	(void)loop;
	w->next = c->arrivals.idle;
	c->arrivals.idle = w;
	if (w->request < 0) {
		take(c);
		return;
	}
	c->arrivals.backing_off--;
	send(c, w->request);
}

/* Send the request again after a while; -1: let a client take the next one. */
static void wait(struct mc_cluster *c, mc_time after, int64_t request)
{
	struct mc_arrivals *a = &c->arrivals;
	struct mc_waiter *w = a->idle;

	if (w) {
		a->idle = w->next;
	} else {
		w = mc_xcalloc(1, sizeof *w);
		w->cluster = c;
		mc_event_init(&w->wake, MC_EV_ARRIVAL, on_wake);
		mc_vec_push(&a->waiters, w);
	}
	w->request = request;
	mc_loop_at(&c->loop, &w->wake, c->loop.now + after);
}

static void note_progress(struct mc_cluster *c)
{
	const struct mc_cluster_hooks *h = c->hooks;

	if (++c->arrivals.decided % PROGRESS_EVERY)
		return;
	if (h->progress)
		h->progress(h->arg, c->arrivals.decided, c->trace->n, c->loop.now);
	mc_cluster_heed_interrupt(c);
}

/* Decisions come a fixed time after requests are sent, so one event serves them all, in order. */
static void on_decide(struct mc_loop *loop, struct mc_event *ev)
{
	struct mc_cluster *c = mc_container_of(ev, struct mc_cluster, arrivals.decide);
	struct mc_arrivals *a = &c->arrivals;
	int64_t request = a->due.at[a->head++].request;
	bool first = c->result->row[request].attempts == 1;

	mc_cluster_dispatch(c, request);
	if (a->head < a->due.n)
		mc_loop_at(loop, ev, a->due.at[a->head].at);
	if (first)
		note_progress(c);
}

void mc_cluster_arrivals_init(struct mc_cluster *c)
{
	struct mc_arrivals *a = &c->arrivals;

	a->closed = mc_clients_closed(c->scenario);
	a->limit =
	    !a->closed && c->scenario->clients.concurrency ? c->scenario->clients.concurrency : INT64_MAX;
	mc_event_init(&a->come, MC_EV_ARRIVAL, on_come);
	mc_event_init(&a->decide, MC_EV_DECIDE, on_decide);
}

void mc_cluster_arrivals_fini(struct mc_cluster *c)
{
	struct mc_arrivals *a = &c->arrivals;

	for (size_t i = 0; i < a->waiters.n; i++)
		free(a->waiters.at[i]);
	mc_vec_fini(&a->waiters);
	mc_vec_fini(&a->due);
}

void mc_cluster_arrivals_begin(struct mc_cluster *c)
{
	const struct mc_scenario *s = c->scenario;

	if (!c->arrivals.closed) {
		mc_loop_at(&c->loop, &c->arrivals.come, c->trace->arrival[0]);
		return;
	}
	for (int64_t k = 0; k < s->clients.number; k++)
		wait(c, mc_clients_first(s, k), -1);
}

void mc_cluster_arrivals_sample(const struct mc_cluster *c, struct mc_sample *s)
{
	const struct mc_arrivals *a = &c->arrivals;

	s->held = a->came - a->sent;
	s->backing_off = a->backing_off;
}

void mc_cluster_ended(struct mc_cluster *c, int64_t request)
{
	struct mc_arrivals *a = &c->arrivals;

	assert(c->result->row[request].outcome != MC_UNFINISHED);
	a->ended++;
	if (!a->closed)
		send_more(c);
	else if (a->came < c->trace->n)
		wait(c, mc_clients_think(c->scenario, request), -1);
	if (c->background && mc_cluster_over(c))
		c->loop.stop = true; /* nobody waits for what is left */
}

/* A prefill is of no use: its request is refused all the same. */
static void waste(struct mc_cluster *c, struct mc_row *row, bool forget)
{
	double gpu = row->compute_s + row->load_s;
	int64_t crossed = mc_cluster_stage_bytes(c, row);

	row->wasted_s += gpu;
	c->result->wasted_prefills++;
	if (!forget)
		return; /* the row itself goes on telling of it */
	c->lost_begun_s += gpu;
	c->lost_ended_s += gpu;
	c->lost_crossed += crossed;
	c->lost_crossing += crossed;
}

void mc_cluster_refuse(struct mc_cluster *c, int64_t request, enum mc_refusal reason)
{
	struct mc_row *row = &c->result->row[request];
	/* What can never be served is known to be so. */
	bool again = reason != MC_REFUSED_DECODE_CAPACITY && row->attempts <= c->scenario->clients.retries;

	assert(reason != MC_TAKEN && row->outcome == MC_UNFINISHED);
	assert(row->prefill_start < 0 || row->prefill_end >= 0);
	row->refusals++;
	if (row->prefill_end >= 0)
		waste(c, row, again);
	if (again) {
		mc_cluster_row_clear(row);
		row->decided = -1;
		c->arrivals.backing_off++;
		wait(c, mc_clients_backoff(c->scenario, request, row->attempts), request);
		return;
	}
	row->outcome = MC_REJECTED;
	row->refusal = (uint8_t)reason;
	mc_cluster_ended(c, request);
}
