#include "engine/queue.h"

#include <stddef.h>

#include "engine/prefill.h"

const char *const mc_prefill_orders[] = {"fifo", "deadline", NULL};

/* Behind all whose deadline is no later. */
static void insert(struct mc_prefill_list *l, struct mc_prefill_job *job)
{
	struct mc_prefill_job **at = &l->head;

	if (l->tail && l->tail->deadline <= job->deadline) /* as most are */
		at = &l->tail->next;
	while (*at && (*at)->deadline <= job->deadline)
		at = &(*at)->next;
	job->next = *at;
	*at = job;
	if (!job->next)
		l->tail = job;
	l->expected += job->expected;
}

static void append(struct mc_prefill_list *l, struct mc_prefill_job *job)
{
	job->next = NULL;
	*(l->tail ? &l->tail->next : &l->head) = job;
	l->tail = job;
	l->expected += job->expected;
}

/* `before` is the one before it, NULL at the head. */
static struct mc_prefill_job *take(struct mc_prefill_list *l, struct mc_prefill_job *before)
{
	struct mc_prefill_job **at = before ? &before->next : &l->head, *job = *at;

	*at = job->next;
	if (l->tail == job)
		l->tail = before;
	l->expected -= job->expected;
	return job;
}

/* Give up the longest before the first that would be late, once. False: all are in time. */
static bool give_up(struct mc_prefill_queue *q, mc_time from)
{
	struct mc_prefill_job *longest = NULL, *before_longest = NULL, *before = NULL;

	for (struct mc_prefill_job *j = q->ready.head; j; before = j, j = j->next) {
		if (!longest || j->expected >= longest->expected) {
			longest = j;
			before_longest = before;
		}
		if (from + j->takes > j->deadline) {
			insert(&q->late, take(&q->ready, before_longest));
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
		append(&q->ready, job);
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
		return take(&q->ready, NULL);
	sort_out(q, now);
	if (q->late.head && (!q->ready.head || q->credit >= (double)q->late.head->expected)) {
		job = take(&q->late, NULL);
		q->credit -= q->ready.head ? (double)job->expected : 0;
	} else {
		job = take(&q->ready, NULL);
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
