/* CUDA streams and events, and the copies between memories. */
#include <math.h>
#include <stdlib.h>

#include <cuda_runtime_api.h>

#include "kernels/cuda/host.h"

int mc_cuda_stream_open(struct mc_stream **out, struct mc_device *d, enum mc_stream_kind kind,
			struct mc_err *err)
{
	struct mc_stream *s = calloc(1, sizeof *s);
	int rc;

	*out = NULL;
	if (!s)
		return mc_err_set(err, MC_FAIL, "out of memory");
	s->dev = d;
	mc_cuda_use(d);
	/* Not ordered with the legacy default stream, which nothing here uses. */
	rc = mc_cuda_error(cudaStreamCreateWithFlags(&s->cu, cudaStreamNonBlocking), err, "a stream");
	if (rc) {
		free(s);
		return rc;
	}
	/* Here, and not within the first product: it takes long and waits for the device. */
	if (kind == MC_COMPUTE)
		rc = mc_cuda_blas_open(s, err);
	if (rc) {
		mc_cuda_stream_close(s);
		return rc;
	}
	*out = s;
	return 0;
}

void mc_cuda_stream_close(struct mc_stream *s)
{
	if (!s)
		return;
	mc_cuda_use(s->dev);
	cudaStreamSynchronize(s->cu);
	mc_cuda_blas_close(s);
	cudaStreamDestroy(s->cu);
	cudaGetLastError();
	free(s);
}

int mc_cuda_stream_sync(struct mc_stream *s, struct mc_err *err)
{
	int code, rc;

	mc_cuda_use(s->dev);
	code = cudaStreamSynchronize(s->cu);
	if (code && !s->err.rc) {
		char what[96];

		snprintf(what, sizeof what, "work up to the %s queued last", s->last ? s->last : "wait");
		mc_cuda_error(code, &s->err, what);
	}
	rc = s->err.rc;
	if (rc)
		mc_err_set(err, rc, "%s", s->err.text);
	s->err = (struct mc_err){0};
	s->last = NULL;
	return rc;
}

int mc_cuda_event_open(struct mc_event **out, struct mc_device *d, struct mc_err *err)
{
	struct mc_event *e = calloc(1, sizeof *e);
	int rc;

	*out = NULL;
	if (!e)
		return mc_err_set(err, MC_FAIL, "out of memory");
	e->dev = d;
	mc_cuda_use(d);
	rc = mc_cuda_error(cudaEventCreate(&e->cu), err, "an event");
	if (rc) {
		free(e);
		return rc;
	}
	*out = e;
	return 0;
}

void mc_cuda_event_close(struct mc_event *e)
{
	if (!e)
		return;
	mc_cuda_use(e->dev);
	cudaEventDestroy(e->cu);
	cudaGetLastError();
	free(e);
}

void mc_cuda_event_record(struct mc_event *e, struct mc_stream *s)
{
	mc_cuda_use(s->dev);
	mc_cuda_queued(s, "event record", cudaEventRecord(e->cu, s->cu));
}

void mc_cuda_event_wait(struct mc_event *e, struct mc_stream *s)
{
	mc_cuda_use(s->dev);
	mc_cuda_queued(s, "event wait", cudaStreamWaitEvent(s->cu, e->cu, 0));
}

int mc_cuda_event_done(struct mc_event *e)
{
	int code;

	mc_cuda_use(e->dev);
	code = cudaEventQuery(e->cu);
	if (code)
		cudaGetLastError();
	/* An error of the work before it is over, too, and the stream's sync tells it. */
	return code != cudaErrorNotReady;
}

double mc_cuda_event_seconds(struct mc_event *from, struct mc_event *to)
{
	float ms = 0;

	mc_cuda_use(from->dev);
	if (cudaEventElapsedTime(&ms, from->cu, to->cu) == cudaSuccess)
		return ms * 1e-3;
	cudaGetLastError();
	return NAN;
}

void mc_cuda_copy(struct mc_stream *s, const struct mc_copy *a)
{
	int code = 0;

	mc_copy_check(a);
	if (a->rows == 0 || a->bytes == 0)
		return;
	mc_cuda_use(s->dev);
	/* Which memory a pointer means is seen from its address (unified addressing), peers' included. */
	if (a->rows == 1 || (a->to_pitch == a->bytes && a->from_pitch == a->bytes))
		code = cudaMemcpyAsync(a->to, a->from, a->bytes * a->rows, cudaMemcpyDefault, s->cu);
	else
		code = cudaMemcpy2DAsync(a->to, a->to_pitch, a->from, a->from_pitch, a->bytes, a->rows,
					 cudaMemcpyDefault, s->cu);
	mc_cuda_queued(s, "copy", code);
}

void mc_cuda_fill(struct mc_stream *s, void *p, int byte, size_t bytes)
{
	if (bytes == 0)
		return;
	mc_cuda_use(s->dev);
	mc_cuda_queued(s, "fill", cudaMemsetAsync(p, byte, bytes, s->cu));
}
