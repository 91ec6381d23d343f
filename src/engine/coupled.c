#include "engine/coupled.h"

#include <assert.h>

#include "engine/coupled_state.h"
#include "engine/kinds.h"
#include "model/mixed.h"

/* Move the cursor to the first boundary at or after `t`. */
static void advance(struct mc_coupled *n, mc_time t)
{
	while (n->cursor_time < t)
		n->cursor_time += mc_coupled_iteration(n, n->cursor++);
}

void mc_coupled_close(struct mc_coupled *n)
{
	size_t all = n->batch.n;
	struct mc_segment s = {.start = n->segment_start,
			       .lead = n->lead,
			       .context = n->context,
			       .count = n->cursor,
			       .batch = (uint32_t)all,
			       .counted = n->batch_counted};

	if (!n->cursor)
		return;
	for (size_t i = all - n->newcomers; i < all; i++) {
		struct mc_coupled_job *job = n->batch.at[i];

		job->stay.from = n->segments.n;
		job->stay.first = n->segment_start + mc_coupled_iteration(n, 0) - job->last;
		s.joined += job->counted;
		if (job->counted)
			mc_vec_push(&n->intervals, job->stay.first);
	}
	mc_vec_push(&n->segments, s);
	n->newcomers = 0;
	n->decode_busy += n->cursor_time - n->segment_start;
	n->iterations += n->cursor;
	n->context += (int64_t)n->cursor * (int64_t)all;
	n->segment_start = n->cursor_time;
	n->cursor = 0;
	n->lead = 0;
}

static void finish(struct mc_coupled *n, struct mc_coupled_job *job)
{
	mc_vram_release(&n->vram, &job->hold);
	n->ops.finished(n->ops.arg, job);
	mc_vec_fini(&job->stays);
}

/* Members whose last token exists leave, in order of joining. */
static void leave(struct mc_coupled *n)
{
	size_t kept = 0;

	for (size_t i = 0; i < n->batch.n; i++) {
		struct mc_coupled_job *job = n->batch.at[i];

		if (job->leave_at > n->iterations) {
			n->batch.at[kept++] = job;
			continue;
		}
		n->context -= (int64_t)job->tokens + job->output - 1;
		n->batch_counted -= job->counted;
		job->stay.to = n->segments.n;
		finish(n, job);
	}
	n->batch.n = kept;
}

/* Its prefill is done, and has made a token. */
static void join(struct mc_coupled *n, struct mc_coupled_job *job)
{
	mc_time now = n->loop->now;

	mc_coupled_list_take(&n->partial, job);
	if (job->made) {
		struct mc_stay gap = {now - job->last, 0, 0};

		mc_vec_push(&job->stays, gap);
		if (job->counted)
			mc_vec_push(&n->intervals, gap.first);
		n->resumed++;
	} else {
		n->ops.first(n->ops.arg, job);
	}
	job->made++;
	job->last = now;
	job->stay = (struct mc_stay){0, 0, 0};
	if (job->made == job->output) {
		finish(n, job);
		return;
	}
	job->leave_at = n->iterations + job->output - job->made;
	job->grow_at = n->iterations + (uint64_t)(mc_vram_holds(&n->vram, &job->hold) - job->goal);
	n->context += job->goal;
	n->batch_counted += job->counted;
	n->newcomers++;
	mc_vec_push(&n->batch, job);
}

static void add_slice(const struct mc_coupled *n, const struct mc_coupled_job *job, struct mc_slices *all)
{
	mc_slices_add(all, n->cost, (double)job->done + job->slice, job->done,
		      (int64_t)job->done + job->slice == job->goal);
}

/* The slices are given out. */
static void begin_pass(struct mc_coupled *n)
{
	size_t batch = n->params.chunked ? n->batch.n : 0;
	mc_time takes;

	mc_coupled_close(n);
	n->pass = true;
	n->pass_start = n->loop->now;
	n->pass_slices = (struct mc_slices){0};
	for (struct mc_coupled_job *job = n->partial.head; job; job = job->next)
		add_slice(n, job, &n->pass_slices);
	n->pass_decode = batch ? mc_coupled_iteration(n, 0) : 0;
	takes = mc_time_from_s(
	    mc_cost_mixed_s(n->cost, &n->pass_slices, (double)batch, batch ? (double)n->context : 0));
	takes = takes > n->pass_decode ? takes : n->pass_decode;
	n->pass_end = n->pass_start + (takes > 0 ? takes : 1); /* time goes on, however small the model */
	mc_loop_at(n->loop, &n->step, n->pass_end);
}

static void end_pass(struct mc_coupled *n)
{
	mc_time rest = n->pass_end - n->pass_start - n->pass_decode;
	struct mc_coupled_job *next;

	n->pass = false;
	n->last_prefill = n->pass_end;
	n->prefill_busy += rest;
	n->lead += n->batch.n ? rest : 0;
	n->segment_start = n->pass_end - n->pass_decode;
	n->cursor_time = n->pass_end;
	if (n->pass_decode) {
		n->cursor = 1;
		mc_coupled_close(n);
		leave(n);
	}
	for (struct mc_coupled_job *job = n->partial.head; job; job = next) {
		struct mc_slices own = {0};
		double share;

		add_slice(n, job, &own);
		share = mc_time_to_s(rest) * mc_slices_share(&n->pass_slices, n->cost, &own);
		next = job->next;
		*(job->made ? &n->redo_s : &job->compute_s) += share;
		job->done += job->slice;
		job->slice = 0;
		if (job->done == job->goal)
			join(n, job);
	}
}

/* The next event of a decode run: the boundary at which a member leaves or needs a block, or just the next
 * one. */
static void schedule(struct mc_coupled *n, bool just_next)
{
	uint64_t next = UINT64_MAX;
	mc_time t = n->cursor_time;

	n->next_leave = UINT64_MAX;
	for (size_t i = 0; i < n->batch.n; i++) {
		const struct mc_coupled_job *job = n->batch.at[i];

		n->next_leave = job->leave_at < n->next_leave ? job->leave_at : n->next_leave;
		next = job->grow_at < next ? job->grow_at : next;
	}
	next = n->next_leave < next ? n->next_leave : next;
	if (just_next || !n->params.fast_forward)
		next = n->iterations + n->cursor + 1;
	assert(next > n->iterations + n->cursor);
	for (uint32_t k = n->cursor; k < next - n->iterations; k++)
		t += mc_coupled_iteration(n, k);
	mc_loop_at(n->loop, &n->step, t);
}

static void on_step(struct mc_loop *loop, struct mc_event *ev)
{
	struct mc_coupled *n = mc_container_of(ev, struct mc_coupled, step);
	bool thrown = false, slices, changed = n->pass;

	if (n->pass) {
		end_pass(n);
	} else if (n->batch.n) {
		advance(n, loop->now);
		assert(n->cursor_time == loop->now);
		if (n->iterations + n->cursor >= n->next_leave) {
			changed = true;
			mc_coupled_close(n);
			leave(n);
		}
	} else {
		n->segment_start = n->cursor_time = loop->now;
	}
	if (n->params.chunked)
		thrown = mc_coupled_grow(n);
	slices = mc_coupled_give_slices(n, !thrown);
	if (slices) {
		begin_pass(n);
	} else if (n->batch.n) {
		thrown = thrown || mc_coupled_grow(n);
		assert(n->batch.n); /* one alone always has room */
		schedule(n, thrown);
	}
	if (changed || slices || thrown) /* not at a boundary that is there for stepping alone */
		n->ops.changed(n->ops.arg, n);
}

void mc_coupled_init(struct mc_coupled *n, struct mc_loop *loop, const struct mc_cost *cost,
		     const struct mc_coupled_params *params, const struct mc_coupled_ops *ops)
{
	*n = (struct mc_coupled){
	    .loop = loop, .cost = cost, .params = *params, .ops = *ops, .last_prefill = -1};
	mc_tbt_init(&n->tbt, cost);
	mc_event_init(&n->step, MC_EV_COUPLED_STEP, on_step);
}

void mc_coupled_set_vram(struct mc_coupled *n, const struct mc_vram *vram)
{
	n->vram = *vram;
}

static void list_fini(struct mc_coupled_list *l)
{
	for (struct mc_coupled_job *job = l->head; job; job = job->next)
		mc_vec_fini(&job->stays);
}

void mc_coupled_fini(struct mc_coupled *n)
{
	list_fini(&n->waiting);
	list_fini(&n->partial);
	for (size_t i = 0; i < n->batch.n; i++)
		mc_vec_fini(&n->batch.at[i]->stays);
	mc_vec_fini(&n->batch);
	mc_vec_fini(&n->segments);
	mc_vec_fini(&n->intervals);
	mc_tbt_fini(&n->tbt);
}

void mc_coupled_submit(struct mc_coupled *n, struct mc_coupled_job *job)
{
	assert(job->tokens && job->output &&
	       (int64_t)job->tokens + job->output - 1 <= mc_vram_most(&n->vram));
	job->at = n;
	job->start = job->last = -1;
	job->compute_s = 0;
	job->cached = job->made = job->goal = job->done = job->slice = job->lost = 0;
	job->hold = (struct mc_vram_hold){{MC_NONE, 0}, 0};
	job->stays.at = NULL;
	job->stays.n = job->stays.cap = 0;
	mc_coupled_list_push(&n->waiting, job);
	n->expected_wait += job->expected;
	if (!n->pass && !n->batch.n) {
		mc_loop_at(n->loop, &n->step, n->loop->now);
	} else if (!n->pass && n->waiting.n == 1) { /* else those before it are what it waits for */
		advance(n, n->loop->now); /* the boundary at which it may start: never past the planned one */
		mc_loop_at(n->loop, &n->step, n->cursor_time);
	}
	n->ops.changed(n->ops.arg, n);
}

void mc_coupled_stop(struct mc_coupled *n)
{
	mc_time now = n->loop->now, rest = n->pass_end - n->pass_start - n->pass_decode;

	if (n->pass) {
		n->prefill_busy += (mc_time)((double)rest * (double)(now - n->pass_start) /
					     (double)(n->pass_end - n->pass_start));
	} else if (n->batch.n) {
		advance(n, now);
		while (n->cursor_time > now)
			n->cursor_time -= mc_coupled_iteration(n, --n->cursor);
		mc_coupled_close(n);
	}
}

mc_time mc_coupled_free_at(const struct mc_coupled *n)
{
	mc_time from = n->pass ? n->pass_end : n->last_prefill;

	if (!n->waiting.n && !n->partial.n)
		return from;
	if (!n->pass)
		from = n->loop->now;
	for (const struct mc_coupled_job *job = n->partial.head; job; job = job->next) {
		double all = (double)job->goal - job->cached,
		       left = (double)job->goal - job->done - job->slice;

		from += (mc_time)((double)job->expected * (left / all));
	}
	return from + n->expected_wait;
}

mc_time mc_coupled_tbt(struct mc_coupled *n, const struct mc_coupled_job *job)
{
	struct mc_tbt *t = &n->tbt;

	mc_tbt_begin(t);
	for (size_t i = 0; i <= job->stays.n; i++) {
		const struct mc_stay *s = i < job->stays.n ? &job->stays.at[i] : &job->stay;

		if (i == job->stays.n && s->from == s->to) /* its last token came of a prefill */
			break;
		mc_tbt_add(t, s->first);
		if (s->from < s->to)
			mc_tbt_add_segments(t, n->segments.at + s->from, n->segments.at + s->to);
	}
	assert(t->intervals == job->output - 1);
	return mc_tbt_mean(t);
}

const char *mc_coupled_check(const struct mc_coupled *n)
{
	const struct mc_vram *v = &n->vram;
	int64_t context = 0, taken = 0, leased = 0;
	uint32_t counted = 0;

	for (size_t i = 0; i < n->batch.n; i++) {
		const struct mc_coupled_job *job = n->batch.at[i];
		int64_t kv =
		    (int64_t)job->tokens + job->output - 1 - (int64_t)(job->leave_at - n->iterations);

		context += kv;
		counted += job->counted;
		taken += job->hold.own;
		leased += job->hold.lease.held;
		if (mc_vram_holds(v, &job->hold) < kv + n->cursor)
			return "a request has more KV than blocks";
	}
	for (const struct mc_coupled_job *job = n->partial.head; job; job = job->next) {
		taken += job->hold.own;
		leased += job->hold.lease.held;
		if (mc_vram_holds(v, &job->hold) < job->goal || job->done >= job->goal)
			return "a prompt has not the blocks that it needs, or none to compute";
	}
	if (context != n->context || counted != n->batch_counted)
		return "context of the batch is not the sum of its members";
	if (taken != v->taken || (v->pool && (mc_pool_stats(v->pool).taken != v->taken ||
					      (int64_t)mc_pool_stats(v->pool).pinned > leased)))
		return "blocks in use are not those of the requests";
	if (taken + (v->pool ? mc_pool_stats(v->pool).present : 0) > v->blocks)
		return "more KV than VRAM";
	if (n->prefill_busy + n->decode_busy > n->loop->now)
		return "busier than time went by";
	return NULL;
}
