/*
 * Who comes when. A request is sent to the cluster; the Conductor has decided on it a fixed time later; and
 * it ends: it completes, fails, or is refused.
 */
#include "cluster/arrivals.h"

#include <assert.h>

#include "cluster/state.h"
#include "engine/kinds.h"

#define PROGRESS_EVERY 256 /* requests */

bool mc_cluster_over(const struct mc_cluster *c)
{
	return c->arrivals.ended == c->trace->n;
}

/* Put a request before the Conductor. */
static void send(struct mc_cluster *c, int64_t request)
{
	struct mc_arrivals *a = &c->arrivals;
	struct mc_due due = {c->loop.now + c->schedule, request};

	if (a->head == a->due.n)
		a->head = a->due.n = 0;
	mc_vec_push(&a->due, due);
	if (!mc_event_pending(&a->decide))
		mc_loop_at(&c->loop, &a->decide, due.at);
}

static void on_come(struct mc_loop *loop, struct mc_event *ev)
{
	struct mc_cluster *c = mc_container_of(ev, struct mc_cluster, arrivals.come);
	struct mc_arrivals *a = &c->arrivals;

	send(c, a->came++);
	if (a->came < c->trace->n)
		mc_loop_at(loop, ev, c->trace->arrival[a->came]);
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

/* Decisions come a fixed time after arrivals, so one event serves them all, in order. */
static void on_decide(struct mc_loop *loop, struct mc_event *ev)
{
	struct mc_cluster *c = mc_container_of(ev, struct mc_cluster, arrivals.decide);
	struct mc_arrivals *a = &c->arrivals;

	mc_cluster_dispatch(c, a->due.at[a->head++].request);
	if (a->head < a->due.n)
		mc_loop_at(loop, ev, a->due.at[a->head].at);
	note_progress(c);
}

void mc_cluster_arrivals_init(struct mc_cluster *c)
{
	mc_event_init(&c->arrivals.come, MC_EV_ARRIVAL, on_come);
	mc_event_init(&c->arrivals.decide, MC_EV_DECIDE, on_decide);
}

void mc_cluster_arrivals_fini(struct mc_cluster *c)
{
	mc_vec_fini(&c->arrivals.due);
}

void mc_cluster_arrivals_begin(struct mc_cluster *c)
{
	mc_loop_at(&c->loop, &c->arrivals.come, c->trace->arrival[0]);
}

void mc_cluster_ended(struct mc_cluster *c, int64_t request)
{
	assert(c->result->row[request].outcome != MC_UNFINISHED);
	c->arrivals.ended++;
	if (c->background && mc_cluster_over(c))
		c->loop.stop = true; /* nobody waits for what is left */
}

void mc_cluster_refuse(struct mc_cluster *c, int64_t request, enum mc_refusal reason)
{
	struct mc_row *row = &c->result->row[request];

	assert(reason != MC_TAKEN && row->outcome == MC_UNFINISHED);
	row->outcome = MC_REJECTED;
	row->refusal = (uint8_t)reason;
	mc_cluster_ended(c, request);
}
