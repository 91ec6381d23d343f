/* Streams as queues that run when something waits: who goes next, events, deadlocks. */
#include "tests/shim/shim.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { PATIENCE = 1000 }; /* rounds in which nothing moves before kernels are said to wait for ever */

struct CUstream_st *shim_streams;
static int running = -1;

int shim_running(void)
{
	return running;
}

bool shim_stream_valid(cudaStream_t s)
{
	for (struct CUstream_st *t = shim_streams; t; t = t->next)
		if (t == s)
			return true;
	return false;
}

void shim_queue(cudaStream_t s, const struct shim_op *op, const void *args, size_t arg_bytes)
{
	struct shim_op *o = malloc(sizeof *o + arg_bytes);

	*o = *op;
	o->next = NULL;
	if (arg_bytes)
		memcpy(o + 1, args, arg_bytes);
	if (o->event)
		o->event->uses++;
	*s->last = o;
	s->last = &o->next;
}

cudaError_t shim_queue_call(cudaStream_t s, void (*call)(void *args), const void *args, size_t bytes)
{
	struct shim_op op = {.kind = SHIM_OP_CALL, .call = call};

	if (!shim_stream_valid(s))
		return cudaErrorInvalidResourceHandle;
	shim_queue(s, &op, args, bytes);
	return cudaSuccess;
}

static void copy(const struct shim_op *o)
{
	for (size_t i = 0; i < o->rows; i++)
		if (o->from)
			memmove(o->to + i * o->to_pitch, o->from + i * o->from_pitch, o->bytes);
		else
			memset(o->to + i * o->to_pitch, o->byte, o->bytes);
}

static void record(const struct shim_op *o)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	o->event->seconds = (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
	if (o->event->done < o->seq)
		o->event->done = o->seq;
}

static void forget(struct CUstream_st *s)
{
	struct shim_op *o = s->first;

	s->first = o->next;
	if (!s->first)
		s->last = &s->first;
	if (o->grid)
		shim_grid_free(o->grid);
	if (o->event) {
		o->event->uses--;
		shim_event_drop(o->event);
	}
	free(o);
}

/* Nothing of a failed device runs any more; events happen, so that nobody waits for ever. */
static void flush(struct CUstream_st *s)
{
	while (s->first) {
		if (s->first->kind == SHIM_OP_RECORD)
			record(s->first);
		forget(s);
	}
}

enum step { STEP_NONE, STEP_WAITS, STEP_STALLS, STEP_DONE };

static enum step step(struct CUstream_st *s)
{
	struct shim_op *o = s->first;
	bool progressed = false;

	if (!o)
		return STEP_NONE;
	if (shim_device_error(s->device)) {
		flush(s);
		return STEP_DONE;
	}
	running = s->device;
	switch (o->kind) {
	case SHIM_OP_GRID:
		switch (shim_grid_run(o->grid, &progressed)) {
		case SHIM_STALLED:
			return progressed ? STEP_DONE : STEP_STALLS;
		case SHIM_FAILED:
			flush(s);
			return STEP_DONE;
		default:
			break;
		}
		break;
	case SHIM_OP_CALL:
		o->call(o + 1);
		break;
	case SHIM_OP_COPY:
		copy(o);
		break;
	case SHIM_OP_RECORD:
		record(o);
		break;
	case SHIM_OP_WAIT:
		if (o->event->done < o->seq)
			return STEP_WAITS;
	}
	forget(s);
	return STEP_DONE;
}

struct target {
	struct CUstream_st *stream; /* the one that goes first or last, or NULL */
	struct CUevent_st *event;
	uint64_t seq;
	int device;
	bool all;
};

static bool reached(const struct target *t)
{
	if (t->event)
		return t->event->done >= t->seq;
	if (t->stream)
		return !t->stream->first;
	for (struct CUstream_st *s = shim_streams; s; s = s->next)
		if (s->first && (t->all || s->device == t->device))
			return false;
	return true;
}

/* One operation: of the target (if it is first), else of any stream but it, else of it. */
static enum step step_any(struct CUstream_st *target, bool target_first)
{
	enum step best = STEP_NONE, r;
	int n = 0, from;

	if (target && target_first && (best = step(target)) == STEP_DONE)
		return best;
	for (struct CUstream_st *s = shim_streams; s; s = s->next)
		n++;
	from = n ? (int)shim_below((uint32_t)n) : 0;
	for (int pass = 0; pass < 2; pass++) {
		int i = 0;

		for (struct CUstream_st *s = shim_streams; s; s = s->next, i++) {
			if ((i < from) != pass || s == target)
				continue;
			r = step(s);
			if (r == STEP_DONE)
				return r;
			best = r > best ? r : best;
		}
	}
	if (target && !target_first) {
		r = step(target);
		best = r > best ? r : best;
	}
	return best;
}

static void deadlock(void)
{
	for (struct CUstream_st *s = shim_streams; s; s = s->next) {
		if (!s->first)
			continue;
		if (s->first->kind == SHIM_OP_GRID) {
			const struct shim_site *k = shim_grid_site(s->first->grid);

			shim_device_fail(s->device, "%s:%d: %s on device %d waits for what never comes",
					 k->file, k->line, k->what, s->device);
		} else
			shim_device_fail(s->device,
					 "a stream of device %d waits for an event that never happens",
					 s->device);
	}
}

static cudaError_t drain(const struct target *t)
{
	uint32_t mode = shim_below(3); /* the target first, last, or anything */
	int rounds = 0;

	while (!reached(t)) {
		enum step r = step_any(mode < 2 ? t->stream : NULL, mode == 0);

		if (r == STEP_DONE)
			rounds = 0;
		else if (r != STEP_STALLS || ++rounds > PATIENCE)
			deadlock();
	}
	running = -1;
	return t->all ? cudaSuccess : shim_device_error(t->device);
}

cudaError_t shim_drain_stream(cudaStream_t s)
{
	struct target t = {.stream = s, .device = s->device};

	return drain(&t);
}

cudaError_t shim_drain_event(cudaEvent_t e)
{
	struct target t = {.stream = e->stream, .event = e, .seq = e->recorded, .device = e->device};

	return drain(&t);
}

cudaError_t shim_drain_device(int device)
{
	struct target t = {.device = device, .all = device < 0};

	return drain(&t);
}

void shim_step(void)
{
	step_any(NULL, false);
	running = -1;
}
