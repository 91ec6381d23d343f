#include "engine/decode.h"

#include <assert.h>

#include "engine/kinds.h"

static void list_push(struct mc_decode_list *l, struct mc_decode_job *job)
{
	job->prev = l->tail;
	job->next = NULL;
	*(l->tail ? &l->tail->next : &l->head) = job;
	l->tail = job;
	l->n++;
}

static struct mc_decode_job *list_take(struct mc_decode_list *l, struct mc_decode_job *job)
{
	*(job->prev ? &job->prev->next : &l->head) = job->next;
	*(job->next ? &job->next->prev : &l->tail) = job->prev;
	l->n--;
	return job;
}

static mc_time iteration(const struct mc_decode *d, uint32_t k)
{
	int64_t batch = (int64_t)d->batch.n;

	return mc_cost_decode_ns(d->cost, batch, d->context + k * batch);
}

/* Move the cursor to the first boundary at or after `t`. */
static void advance(struct mc_decode *d, mc_time t)
{
	while (d->cursor_time < t)
		d->cursor_time += iteration(d, d->cursor++);
}

static bool has_room(const struct mc_decode *d)
{
	return !d->params.max_batch || (int64_t)d->batch.n < d->params.max_batch;
}

/* Write the segment down as far as the cursor, and begin the next one there with the same batch. */
static void close_segment(struct mc_decode *d)
{
	size_t n = d->batch.n;
	struct mc_segment s = {
	    .start = d->segment_start, .context = d->context, .count = d->cursor, .batch = (uint32_t)n};

	if (!d->cursor)
		return;
	s.counted = d->batch_counted;
	for (size_t i = n - d->newcomers; i < n; i++) {
		struct mc_decode_job *job = d->batch.at[i];

		job->first = d->segment_start + iteration(d, 0);
		s.joined += job->counted;
		if (job->counted)
			mc_vec_push(&d->first_intervals, job->first - job->arrived);
	}
	mc_vec_push(&d->segments, s);
	d->newcomers = 0;
	d->busy += d->cursor_time - d->segment_start;
	d->iterations += d->cursor;
	d->context += (int64_t)d->cursor * (int64_t)n;
	d->segment_start = d->cursor_time;
	d->cursor = 0;
}

/*
 * Room is reserved and all KV is here: the load ends when the link has carried all of it since there was room
 * for it (loads one after the other, in order), but the last layer's share only after the last bytes arrived.
 */
static void load(struct mc_decode *d, struct mc_decode_job *job)
{
	double s = job->context * d->cost->kv_bytes / d->cost->h2d_bytes_per_s;
	mc_time last = job->arrived + mc_time_from_s(s / (double)d->cost->shape.layers);

	if (d->load_free < job->admitted)
		d->load_free = job->admitted;
	d->load_free += mc_time_from_s(s);
	last = d->load_free > last ? d->load_free : last;
	d->loading++;
	mc_loop_at(d->loop, &job->loaded, last > d->loop->now ? last : d->loop->now);
}

/* Reserve VRAM, in order, as far as there is room. */
static void admit(struct mc_decode *d)
{
	while (d->waiting.n && !d->halted) {
		struct mc_decode_job *job = d->waiting.head;
		int64_t need = (int64_t)job->context + job->remaining;

		if (d->reserved + need > d->params.kv_tokens)
			return;
		list_push(&d->coming, list_take(&d->waiting, job));
		d->reserved += need;
		job->admitted = d->loop->now;
		if (job->arrived < 0) {
			d->arriving++;
		} else {
			d->waiting_arrived--;
			load(d, job);
		}
	}
}

/* Members whose last token exists leave, in order of joining. */
static void leave(struct mc_decode *d)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->batch.n; i++) {
		struct mc_decode_job *job = d->batch.at[i];
		int64_t held = (int64_t)job->context + job->remaining;

		if (job->leave_at > d->iterations) {
			d->batch.at[kept++] = job;
			continue;
		}
		d->context -= held;
		d->reserved -= held;
		d->batch_counted -= job->counted;
		d->ops.finished(d->ops.arg, job);
	}
	d->batch.n = kept;
}

static void join(struct mc_decode *d)
{
	while (d->ready.n && has_room(d)) {
		struct mc_decode_job *job = list_take(&d->ready, d->ready.head);

		job->leave_at = d->iterations + job->remaining;
		job->first_segment = d->segments.n;
		d->context += job->context;
		d->batch_counted += job->counted;
		d->newcomers++;
		mc_vec_push(&d->batch, job);
	}
	d->next_leave = UINT64_MAX;
	for (size_t i = 0; i < d->batch.n; i++)
		if (d->batch.at[i]->leave_at < d->next_leave)
			d->next_leave = d->batch.at[i]->leave_at;
}

/* The next event: the boundary at which the first member leaves, or just the next one when stepping. */
static void schedule(struct mc_decode *d)
{
	uint64_t last = d->params.fast_forward ? d->next_leave - d->iterations : d->cursor + 1;
	mc_time t = d->cursor_time;

	for (uint32_t k = d->cursor; k < last; k++)
		t += iteration(d, k);
	mc_loop_at(d->loop, &d->step, t);
}

static void on_step(struct mc_loop *loop, struct mc_event *ev)
{
	struct mc_decode *d = mc_container_of(ev, struct mc_decode, step);
	bool leaving, joining;

	if (d->batch.n) {
		advance(d, loop->now);
		assert(d->cursor_time == loop->now);
	} else {
		d->segment_start = d->cursor_time = loop->now;
	}
	leaving = d->batch.n && d->iterations + d->cursor >= d->next_leave;
	joining = d->ready.n && (leaving || has_room(d));
	if (leaving || joining) {
		close_segment(d);
		if (leaving) {
			leave(d);
			admit(d);
		}
		join(d);
	}
	if (d->batch.n)
		schedule(d);
}

static void on_loaded(struct mc_loop *loop, struct mc_event *ev)
{
	struct mc_decode_job *job = mc_container_of(ev, struct mc_decode_job, loaded);
	struct mc_decode *d = job->at;

	d->loading--;
	list_push(&d->ready, list_take(&d->coming, job));
	if (!d->batch.n) {
		mc_loop_at(loop, &d->step, loop->now);
	} else if (has_room(d)) {
		advance(d, loop->now); /* the boundary at which it joins: never past the planned one */
		mc_loop_at(loop, &d->step, d->cursor_time);
	}
}

void mc_decode_init(struct mc_decode *d, struct mc_loop *loop, const struct mc_cost *cost,
		    const struct mc_decode_params *params, const struct mc_decode_ops *ops)
{
	*d = (struct mc_decode){.loop = loop, .cost = cost, .params = *params, .ops = *ops};
	mc_tbt_init(&d->tbt, cost);
	mc_event_init(&d->step, MC_EV_DECODE_STEP, on_step);
}

void mc_decode_fini(struct mc_decode *d)
{
	mc_vec_fini(&d->batch);
	mc_vec_fini(&d->segments);
	mc_vec_fini(&d->first_intervals);
	mc_tbt_fini(&d->tbt);
}

void mc_decode_announce(struct mc_decode *d, struct mc_decode_job *job)
{
	assert((int64_t)job->context + job->remaining <= d->params.kv_tokens && job->remaining);
	job->at = d;
	job->admitted = job->arrived = job->first = -1;
	job->made = 0;
	mc_event_init(&job->loaded, MC_EV_DECODE_LOAD, on_loaded);
	list_push(&d->waiting, job);
	admit(d);
}

void mc_decode_arrive(struct mc_decode *d, struct mc_decode_job *job)
{
	assert(!d->halted);
	job->arrived = d->loop->now;
	if (job->admitted < 0) {
		d->waiting_arrived++;
	} else {
		d->arriving--;
		load(d, job);
	}
}

mc_time mc_decode_forecast(struct mc_decode *d, const struct mc_decode_job *job)
{
	int64_t batch = (int64_t)d->batch.n + d->ready.n + 1, context;

	if (d->batch.n && !d->halted) /* to the boundary at which it could join, at the earliest */
		advance(d, d->loop->now);
	context = d->context + (int64_t)d->batch.n * d->cursor + job->context;
	for (const struct mc_decode_job *r = d->ready.head; r; r = r->next)
		context += r->context;
	for (const struct mc_decode_job *r = d->coming.head; r; r = r->next) {
		if (r->arrived < 0)
			continue;
		batch++;
		context += r->context;
	}
	if (job->admitted < 0 || (d->params.max_batch && batch > d->params.max_batch))
		return MC_TIME_MAX;
	return mc_cost_decode_ns(d->cost, batch, context);
}

void mc_decode_withdraw(struct mc_decode *d, struct mc_decode_job *job)
{
	assert(job->arrived < 0);
	if (job->admitted < 0) {
		list_take(&d->waiting, job);
	} else {
		list_take(&d->coming, job);
		d->arriving--;
		d->reserved -= (int64_t)job->context + job->remaining;
	}
	admit(d);
}

void mc_decode_stop(struct mc_decode *d)
{
	mc_time now = d->loop->now;

	if (!d->batch.n || d->halted)
		return;
	advance(d, now);
	while (d->cursor_time > now)
		d->cursor_time -= iteration(d, --d->cursor);
	close_segment(d);
}

void mc_decode_halt(struct mc_decode *d)
{
	mc_decode_stop(d);
	mc_loop_cancel(d->loop, &d->step);
	for (struct mc_decode_job *job = d->coming.head; job; job = job->next)
		mc_loop_cancel(d->loop, &job->loaded);
	d->halted = true;
}

static void list_move(struct mc_decode_list *to, struct mc_decode_list *from)
{
	while (from->n)
		list_push(to, list_take(from, from->head));
}

struct mc_decode_job *mc_decode_clear(struct mc_decode *d)
{
	struct mc_decode_list all = {0};

	mc_decode_halt(d);
	for (size_t i = 0; i < d->batch.n; i++) {
		struct mc_decode_job *job = d->batch.at[i];

		job->made = job->remaining - (uint32_t)(job->leave_at - d->iterations);
		list_push(&all, job);
	}
	d->batch.n = 0;
	list_move(&all, &d->ready);
	list_move(&all, &d->coming);
	list_move(&all, &d->waiting);
	d->waiting_arrived = d->arriving = d->loading = d->batch_counted = d->newcomers = 0;
	d->reserved = d->context = 0;
	d->load_free = 0;
	d->halted = false;
	return all.head;
}

mc_time mc_decode_tbt(struct mc_decode *d, const struct mc_decode_job *job)
{
	mc_tbt_begin(&d->tbt);
	mc_tbt_add(&d->tbt, job->first - job->arrived);
	mc_tbt_add_segments(&d->tbt, d->segments.at + job->first_segment, d->segments.at + d->segments.n);
	assert(d->tbt.intervals == job->remaining);
	return mc_tbt_mean(&d->tbt);
}
