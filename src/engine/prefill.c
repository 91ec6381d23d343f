#include "engine/prefill.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "engine/kinds.h"
#include "model/pipeline.h"

static void start_next(struct mc_prefill *p);

static mc_time gpu_time(const struct mc_prefill_job *job)
{
	return mc_time_from_s(job->compute_s + job->load_s);
}

static void on_done(struct mc_loop *loop, struct mc_event *ev)
{
	struct mc_prefill_job *job = mc_container_of(ev, struct mc_prefill_job, done);
	struct mc_prefill *p = job->at;

	(void)loop;
	assert(job == p->first); /* stages serve prompts in order */
	p->first = job->next;
	p->running--;
	p->busy += gpu_time(job);
	p->stage_bytes += job->stage_bytes;
	p->ops.finished(p->ops.arg, job);
}

static void on_free(struct mc_loop *loop, struct mc_event *ev)
{
	struct mc_prefill *p = mc_container_of(ev, struct mc_prefill, free);

	(void)loop;
	p->current = NULL;
	start_next(p);
}

void mc_prefill_init(struct mc_prefill *p, struct mc_loop *loop, const struct mc_cost *cost,
		     const struct mc_prefill_ops *ops)
{
	*p = (struct mc_prefill){.loop = loop, .cost = cost, .ops = *ops, .group = 1, .chunk = INT64_MAX};
	p->current_free = -1;
	mc_event_init(&p->free, MC_EV_PREFILL_FREE, on_free);
}

void mc_prefill_set_group(struct mc_prefill *p, uint32_t group, int64_t chunk)
{
	p->group = group;
	p->chunk = chunk;
	free(p->stage_free);
	p->stage_free = mc_xcalloc(group, sizeof *p->stage_free);
}

void mc_prefill_set_order(struct mc_prefill *p, enum mc_prefill_order order, double late_share)
{
	p->queue.order = order;
	p->queue.late_share = late_share;
}

void mc_prefill_fini(struct mc_prefill *p)
{
	free(p->stage_free);
}

/* Seconds of the first chunk on all stages together: it carries the fixed cost and the load of the cached
 * prefix. */
static double first_chunk_s(const struct mc_prefill *p, const struct mc_prefill_job *job)
{
	int64_t end = (int64_t)job->cached + p->chunk;

	if (p->chunk > INT64_MAX / 2 || end > job->tokens)
		end = job->tokens;
	return mc_cost_prefill_gpu_s(p->cost, (double)end, job->cached);
}

/* One node: its end, when the last block arrived at `arrived` (or before the start). */
static void plan_single(struct mc_prefill *p, struct mc_prefill_job *job, mc_time arrived, double gpu)
{
	mc_time plain = job->start + mc_time_from_s(gpu);

	job->end = plain;
	if (job->unfetched) {
		job->end = arrived + mc_time_from_s(gpu);
	} else if (arrived > job->start) {
		double first = first_chunk_s(p, job);
		mc_time held =
		    arrived + mc_time_from_s(first / (double)p->cost->shape.layers + (gpu - first));

		job->end = held > plain ? held : plain;
	}
	job->fetch_wait = job->end - plain;
	p->current_free = job->end;
}

/* A group: the classic recurrence over stages and chunks; its first chunk starts when its blocks are there.
 */
static void plan_group(struct mc_prefill *p, struct mc_prefill_job *job, mc_time arrived)
{
	struct mc_pipeline_job work = {job->tokens, job->cached, p->chunk, p->group,
				       mc_time_to_s(job->start)};
	double plain = 0;

	if (arrived > job->start) { /* what it would have been without waiting: on a copy of the stages */
		double *copy = mc_xmalloc(p->group * sizeof *copy);

		memcpy(copy, p->stage_free, p->group * sizeof *copy);
		plain = mc_cost_prefill_group(p->cost, &work, copy);
		free(copy);
		work.start_s = mc_time_to_s(arrived);
	}
	job->end = mc_time_from_s(mc_cost_prefill_group(p->cost, &work, p->stage_free));
	job->fetch_wait = arrived > job->start ? job->end - mc_time_from_s(plain) : 0;
	p->current_free = mc_time_from_s(p->stage_free[0]);
}

static void launch(struct mc_prefill *p, struct mc_prefill_job *job, mc_time arrived)
{
	double gpu;

	if (p->ops.starting)
		p->ops.starting(p->ops.arg, job);
	gpu = mc_cost_prefill_gpu_s(p->cost, job->tokens, job->cached);
	job->compute_s = mc_cost_prefill_compute_s(p->cost, job->tokens, job->cached);
	job->load_s = gpu - job->compute_s;
	/* Every new token crosses every boundary once, whatever the chunks. */
	job->stage_bytes =
	    (int64_t)(job->tokens - job->cached) * p->cost->hop_bytes * ((int64_t)p->group - 1);
	if (p->group == 1)
		plan_single(p, job, arrived, gpu);
	else
		plan_group(p, job, arrived);
	job->next = NULL;
	*(p->first ? &p->last->next : &p->first) = job;
	p->last = job;
	mc_loop_at(p->loop, &job->done, job->end);
	mc_loop_at(p->loop, &p->free, p->current_free);
	p->ops.launched(p->ops.arg, job);
}

static void start_next(struct mc_prefill *p)
{
	struct mc_prefill_job *job;

	if (p->current || p->halted)
		return;
	job = mc_prefill_queue_pop(&p->queue, p->loop->now);
	if (!job)
		return;
	p->current = job;
	p->running++;
	job->start = p->loop->now;
	p->current_free = job->start + job->expected;
	if (!job->fetching)
		launch(p, job, job->start);
}

void mc_prefill_submit(struct mc_prefill *p, struct mc_prefill_job *job)
{
	mc_time from = p->current && p->current_free > p->loop->now ? p->current_free : p->loop->now;

	job->at = p;
	job->start = job->end = -1;
	job->fetch_wait = 0;
	job->unfetched = false;
	mc_event_init(&job->done, MC_EV_PREFILL_END, on_done);
	mc_prefill_queue_push(&p->queue, job, from);
	start_next(p);
}

void mc_prefill_fetched(struct mc_prefill *p, struct mc_prefill_job *job)
{
	assert(job->fetching);
	job->fetching = false;
	if (job == p->current)
		launch(p, job, p->loop->now);
}

void mc_prefill_unfetched(struct mc_prefill *p, struct mc_prefill_job *job)
{
	job->unfetched = true;
	mc_prefill_fetched(p, job);
}

/* What of it lies before now, of a job that runs. */
static int64_t part(const struct mc_prefill_job *job, int64_t whole)
{
	return (int64_t)((double)whole * (double)(job->at->loop->now - job->start) /
			 (double)(job->end - job->start));
}

void mc_prefill_stop(struct mc_prefill *p)
{
	if (p->halted)
		return;
	for (const struct mc_prefill_job *job = p->first; job; job = job->next) {
		if (job->end <= p->loop->now)
			continue;
		p->busy += part(job, gpu_time(job));
		p->stage_bytes += part(job, job->stage_bytes);
	}
}

void mc_prefill_halt(struct mc_prefill *p)
{
	if (p->halted)
		return;
	mc_prefill_stop(p);
	for (struct mc_prefill_job *job = p->first; job; job = job->next) {
		assert(job->end > p->loop->now); /* what ends comes before what fails */
		mc_loop_cancel(p->loop, &job->done);
	}
	mc_loop_cancel(p->loop, &p->free);
	p->halted = true;
}

struct mc_prefill_job *mc_prefill_clear(struct mc_prefill *p)
{
	struct mc_prefill_job *all = p->first, **end = p->first ? &p->last->next : &all;

	mc_prefill_halt(p);
	if (p->current && p->current->end < 0) { /* it stood still for its blocks */
		*end = p->current;
		end = &p->current->next;
	}
	*end = mc_prefill_queue_clear(&p->queue);
	p->first = p->last = p->current = NULL;
	p->running = 0;
	p->current_free = p->loop->now;
	if (p->stage_free)
		memset(p->stage_free, 0, p->group * sizeof *p->stage_free);
	p->halted = false;
	return all;
}

mc_time mc_prefill_free_at(const struct mc_prefill *p)
{
	mc_time from = p->current_free;

	/* Behind its prediction: a job that stands still for blocks, or all do. What remains is its
	 * computing, at most. */
	if ((p->current || p->queue.n) && from < p->loop->now)
		from = p->loop->now;
	return from + p->queue.ready.expected;
}

mc_time mc_prefill_late(const struct mc_prefill *p)
{
	return p->queue.late.expected;
}
