/* The API of streams, events, copies. */
#include "tests/shim/shim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct CUevent_st *events;

static cudaError_t stream_new(cudaStream_t *out)
{
	cudaError_t rc = shim_ready();
	int fault = shim_fault(SHIM_STREAM);

	*out = NULL;
	if (rc || fault)
		return rc ? rc : (cudaError_t)fault;
	*out = calloc(1, sizeof **out);
	**out = (struct CUstream_st){.next = shim_streams, .device = shim_device(), .last = &(*out)->first};
	shim_streams = *out;
	return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t *out)
{
	return SHIM_LOCKED(stream_new(out));
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags)
{
	return flags & ~1u ? shim_return(cudaErrorInvalidValue) : SHIM_LOCKED(stream_new(out));
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority)
{
	(void)priority;
	return cudaStreamCreateWithFlags(out, flags);
}

static cudaError_t stream_free(cudaStream_t s)
{
	cudaError_t rc;

	if (!shim_stream_valid(s))
		return cudaErrorInvalidResourceHandle;
	rc = shim_drain_stream(s);
	for (struct CUevent_st *e = events; e; e = e->next)
		if (e->stream == s)
			e->stream = NULL;
	for (struct CUstream_st **p = &shim_streams; *p; p = &(*p)->next)
		if (*p == s) {
			*p = s->next;
			break;
		}
	free(s);
	return rc;
}

cudaError_t cudaStreamDestroy(cudaStream_t s)
{
	return SHIM_LOCKED(stream_free(s));
}

static cudaError_t stream_wait(cudaStream_t s)
{
	return shim_stream_valid(s) ? shim_drain_stream(s) : cudaErrorInvalidResourceHandle;
}

cudaError_t cudaStreamSynchronize(cudaStream_t s)
{
	return SHIM_LOCKED(stream_wait(s));
}

static cudaError_t stream_query(cudaStream_t s)
{
	if (!shim_stream_valid(s))
		return cudaErrorInvalidResourceHandle;
	if (s->first)
		shim_step();
	return shim_device_error(s->device) ? cudaErrorLaunchFailure
	       : s->first                   ? cudaErrorNotReady
					    : cudaSuccess;
}

cudaError_t cudaStreamQuery(cudaStream_t s)
{
	return SHIM_LOCKED(stream_query(s));
}

static bool event_valid(cudaEvent_t e)
{
	for (struct CUevent_st *f = events; f; f = f->next)
		if (f == e)
			return !f->closed;
	return false;
}

static cudaError_t event_new(cudaEvent_t *out, unsigned flags)
{
	cudaError_t rc = shim_ready();
	int fault = shim_fault(SHIM_EVENT);

	*out = NULL;
	if (rc || fault)
		return rc ? rc : (cudaError_t)fault;
	*out = calloc(1, sizeof **out);
	(*out)->device = shim_device();
	(*out)->timed = !(flags & cudaEventDisableTiming);
	(*out)->next = events;
	events = *out;
	return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t *out)
{
	return SHIM_LOCKED(event_new(out, 0));
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags)
{
	return flags & ~3u ? shim_return(cudaErrorInvalidValue) : SHIM_LOCKED(event_new(out, flags));
}

void shim_event_drop(cudaEvent_t e)
{
	if (!e->closed || e->uses)
		return;
	for (struct CUevent_st **p = &events; *p; p = &(*p)->next)
		if (*p == e) {
			*p = e->next;
			break;
		}
	free(e);
}

static cudaError_t event_free(cudaEvent_t e)
{
	if (!event_valid(e))
		return cudaErrorInvalidResourceHandle;
	e->closed = true;
	shim_event_drop(e);
	return cudaSuccess;
}

cudaError_t cudaEventDestroy(cudaEvent_t e)
{
	return SHIM_LOCKED(event_free(e));
}

static cudaError_t event_record(cudaEvent_t e, cudaStream_t s)
{
	struct shim_op op = {.kind = SHIM_OP_RECORD, .event = e};

	if (!event_valid(e) || !shim_stream_valid(s) || e->device != s->device)
		return cudaErrorInvalidResourceHandle;
	if (shim_device_error(s->device))
		return cudaErrorLaunchFailure;
	op.seq = ++e->recorded;
	e->stream = s;
	shim_queue(s, &op, NULL, 0);
	return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t e, cudaStream_t s)
{
	return SHIM_LOCKED(event_record(e, s));
}

static cudaError_t event_order(cudaStream_t s, cudaEvent_t e)
{
	struct shim_op op = {.kind = SHIM_OP_WAIT, .event = e};

	if (!event_valid(e) || !shim_stream_valid(s))
		return cudaErrorInvalidResourceHandle;
	if (shim_device_error(s->device))
		return cudaErrorLaunchFailure;
	op.seq = e->recorded;
	if (op.seq)
		shim_queue(s, &op, NULL, 0);
	return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t s, cudaEvent_t e, unsigned flags)
{
	return flags ? shim_return(cudaErrorInvalidValue) : SHIM_LOCKED(event_order(s, e));
}

static cudaError_t event_query(cudaEvent_t e)
{
	if (!event_valid(e))
		return cudaErrorInvalidResourceHandle;
	if (e->done < e->recorded)
		shim_step();
	return shim_device_error(e->device) ? cudaErrorLaunchFailure
	       : e->done < e->recorded      ? cudaErrorNotReady
					    : cudaSuccess;
}

cudaError_t cudaEventQuery(cudaEvent_t e)
{
	return SHIM_LOCKED(event_query(e));
}

static cudaError_t event_wait(cudaEvent_t e)
{
	return event_valid(e) ? shim_drain_event(e) : cudaErrorInvalidResourceHandle;
}

cudaError_t cudaEventSynchronize(cudaEvent_t e)
{
	return SHIM_LOCKED(event_wait(e));
}

static cudaError_t elapsed(float *ms, cudaEvent_t from, cudaEvent_t to)
{
	if (!event_valid(from) || !event_valid(to) || !from->timed || !to->timed || !from->recorded ||
	    !to->recorded || from->device != to->device)
		return cudaErrorInvalidResourceHandle;
	if (from->done < from->recorded || to->done < to->recorded)
		return cudaErrorNotReady;
	*ms = (float)((to->seconds - from->seconds) * 1e3);
	return cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float *ms, cudaEvent_t from, cudaEvent_t to)
{
	return SHIM_LOCKED(elapsed(ms, from, to));
}

/* Memory of a device must be the device's where the kind says so, and the whole range must lie in it. */
static bool range_fine(const void *p, size_t extent, bool must_be_device)
{
	if (!shim_memory_touches(p))
		return !must_be_device;
	return shim_memory_has(p, extent);
}

static cudaError_t move(struct shim_op op, enum cudaMemcpyKind kind, cudaStream_t s)
{
	bool empty = !op.bytes || !op.rows;
	size_t to = empty ? 0 : (op.rows - 1) * op.to_pitch + op.bytes;
	size_t from = empty ? 0 : (op.rows - 1) * op.from_pitch + op.bytes;
	cudaError_t rc = shim_ready();
	int fault = shim_fault(SHIM_COPY);

	if (rc || fault)
		return rc ? rc : (cudaError_t)fault;
	if (!shim_stream_valid(s))
		return cudaErrorInvalidResourceHandle;
	if (shim_device_error(s->device))
		return cudaErrorLaunchFailure;
	if (empty)
		return cudaSuccess;
	if (op.rows > 1 && (op.to_pitch < op.bytes || (op.from && op.from_pitch < op.bytes)))
		return cudaErrorInvalidValue;
	if (!range_fine(op.to, to,
			!op.from || kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice) ||
	    (op.from &&
	     !range_fine(op.from, from, kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice)))
		return cudaErrorInvalidValue;
	shim_queue(s, &op, NULL, 0);
	return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind,
			    cudaStream_t s)
{
	struct shim_op op = {.kind = SHIM_OP_COPY, .to = to, .from = from, .bytes = bytes, .rows = 1};

	return SHIM_LOCKED(move(op, kind, s));
}

cudaError_t cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t bytes,
			      size_t rows, enum cudaMemcpyKind kind, cudaStream_t s)
{
	struct shim_op op = {.kind = SHIM_OP_COPY,
			     .to = to,
			     .from = from,
			     .bytes = bytes,
			     .rows = rows,
			     .to_pitch = to_pitch,
			     .from_pitch = from_pitch};

	return SHIM_LOCKED(move(op, kind, s));
}

cudaError_t cudaMemsetAsync(void *to, int byte, size_t bytes, cudaStream_t s)
{
	struct shim_op op = {.kind = SHIM_OP_COPY, .to = to, .byte = byte, .bytes = bytes, .rows = 1};

	return SHIM_LOCKED(move(op, cudaMemcpyDefault, s));
}

/* What blocks is done on a stream of its own, after all else of the device. */
static cudaError_t at_once(struct shim_op op, enum cudaMemcpyKind kind)
{
	cudaStream_t s;
	cudaError_t rc = stream_new(&s), rc2;

	if (rc)
		return rc;
	rc = shim_drain_device(shim_device());
	if (!rc)
		rc = move(op, kind, s);
	rc2 = stream_free(s);
	return rc ? rc : rc2;
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
	struct shim_op op = {.kind = SHIM_OP_COPY, .to = to, .from = from, .bytes = bytes, .rows = 1};

	return SHIM_LOCKED(at_once(op, kind));
}

cudaError_t cudaMemset(void *to, int byte, size_t bytes)
{
	struct shim_op op = {.kind = SHIM_OP_COPY, .to = to, .byte = byte, .bytes = bytes, .rows = 1};

	return SHIM_LOCKED(at_once(op, cudaMemcpyDefault));
}

int shim_streams_left(void)
{
	int left = 0;

	for (struct CUstream_st *s = shim_streams; s; s = s->next, left++)
		fprintf(stderr, "shim: a stream of device %d was never destroyed\n", s->device);
	for (struct CUevent_st *e = events; e; e = e->next)
		if (!e->closed) {
			fprintf(stderr, "shim: an event of device %d was never destroyed\n", e->device);
			left++;
		}
	return left;
}
