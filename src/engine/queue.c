#include "engine/queue.h"

#include <stdbool.h>
#include <stddef.h>

#include "engine/prefill.h"

const char *const mc_prefill_orders[] = {"fifo", "deadline", NULL};

/* Behind another one, NULL: at the head. */
static void put(struct mc_prefill_list *l, struct mc_prefill_job *job, struct mc_prefill_job *after)
{
	job->prev = after;
	job->next = after ? after->next : l->head;
	*(after ? &after->next : &l->head) = job;
	*(job->next ? &job->next->prev : &l->tail) = job;
	l->expected += job->expected;
}

/* Behind all whose deadline is no later, looked for from the end: most are the last, and those that have none
 * are not passed. */
static void insert(struct mc_prefill_list *l, struct mc_prefill_job *job)
{
	bool dated = job->deadline < MC_TIME_MAX;
	struct mc_prefill_job *after = dated ? l->dated : l->tail;

	while (after && after->deadline > job->deadline)
		after = after->prev;
	if (dated && after == l->dated)
		l->dated = job;
	put(l, job, after);
}

static struct mc_prefill_job *take(struct mc_prefill_list *l, struct mc_prefill_job *job)
{
	*(job->prev ? &job->prev->next : &l->head) = job->next;
	*(job->next ? &job->next->prev : &l->tail) = job->prev;
	if (l->dated == job)
		l->dated = job->prev;
	l->expected -= job->expected;
	return job;
}

/* Give up the longest before the first that would be late, once. False: all are in time. */
static bool give_up(struct mc_prefill_queue *q, mc_time from)
{
	struct mc_prefill_job *longest = q->ready.head;

	for (struct mc_prefill_job *j = q->ready.head; j; j = j->next) {
		longest = j->expected >= longest->expected ? j : longest;
		if (from + j->takes > j->deadline) {
			insert(&q->late, take(&q->ready, longest));
			return true;
		}
		from += j->expected;
	}
	return false;
}

static void sort_out(struct mc_prefill_queue *q, mc_time from)
{
	while (give_up(q, from))
		;
}

void mc_prefill_queue_push(struct mc_prefill_queue *q, struct mc_prefill_job *job, mc_time from)
{
	q->n++;
	if (q->order == MC_PREFILL_FIFO) {
		put(&q->ready, job, q->ready.tail);
	} else if (job->deadline == MC_TIME_MAX) {
		insert(&q->late, job);
	} else {
		insert(&q->ready, job);
		sort_out(q, from);
	}
}

struct mc_prefill_job *mc_prefill_queue_pop(struct mc_prefill_queue *q, mc_time now)
{
	struct mc_prefill_job *job;

	if (!q->n)
		return NULL;
	q->n--;
	if (q->order == MC_PREFILL_FIFO)
		return take(&q->ready, q->ready.head);
	sort_out(q, now);
	if (q->late.head && (!q->ready.head || q->credit >= (double)q->late.head->expected)) {
		job = take(&q->late, q->late.head);
		q->credit -= q->ready.head ? (double)job->expected : 0;
	} else {
		job = take(&q->ready, q->ready.head);
		q->credit += q->late_share * (double)job->expected;
	}
	if (!q->late.head)
		q->credit = 0;
	return job;
}

struct mc_prefill_job *mc_prefill_queue_clear(struct mc_prefill_queue *q)
{
	struct mc_prefill_job *all = q->ready.head ? q->ready.head : q->late.head;

	if (q->ready.head)
		q->ready.tail->next = q->late.head;
	*q = (struct mc_prefill_queue){.order = q->order, .late_share = q->late_share};
	return all;
}
