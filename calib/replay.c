/*
 * Steps of a model, their operators replayed behind a gate (calib/model.h).
 *
 * The gate is a fill that keeps the stream busy while what is measured is queued behind it: between the two
 * events nothing waits for the host. If the first event has happened by the time that all is queued, the gate
 * was too short, and is made longer.
 */
#include <assert.h>
#include <string.h>

#include "calib/model.h"

enum { CALLS = 4096, KINDS = 24, LONGEST = 64, AGAIN_EVERY = 16 };
static const double sample_s = 1e-3;
static const size_t gate_bytes = 64 << 20;

/* An operator with its arguments. */
struct kept {
	enum mc_llama_op op;
	int kind; /* -1: not composed */
	union {
		struct mc_gemm gemm;
		struct mc_norm norm;
		struct mc_rope rope;
		struct mc_swiglu swiglu;
		struct mc_embed embed;
		struct mc_sample sample;
		struct mc_kv_rows kv;
		struct mc_attention attention;
	} a;
};

struct replay {
	struct mc_calib_model *m;
	const struct mc_backend *be;
	struct mc_stream *s;
	struct mc_event *from, *to;
	void *gate;
	int fills; /* of a gate */
	const struct mc_calib_point *at;
	struct mc_llama_step step;
	struct mc_llama_result result;
	struct {
		MC_VEC(struct kept)
	} call;
	struct mc_op_point kind[KINDS];
	int kinds;
	/* Measured now: */
	int which, runs, next, samples;
	bool after_copy; /* `from` is recorded once the step's metadata are there */
};

static bool same(const struct mc_op_point *a, const struct mc_op_point *b)
{
	return a->op == b->op && !memcmp(a->dim, b->dim, sizeof a->dim);
}

static size_t arguments_of(enum mc_llama_op op)
{
	switch (op) {
	case MC_LLAMA_OP_GEMM:
		return sizeof(struct mc_gemm);
	case MC_LLAMA_OP_NORM:
		return sizeof(struct mc_norm);
	case MC_LLAMA_OP_ROPE:
		return sizeof(struct mc_rope);
	case MC_LLAMA_OP_SWIGLU:
		return sizeof(struct mc_swiglu);
	case MC_LLAMA_OP_EMBED:
		return sizeof(struct mc_embed);
	case MC_LLAMA_OP_SAMPLE:
		return sizeof(struct mc_sample);
	case MC_LLAMA_OP_KV_SCATTER:
		return sizeof(struct mc_kv_rows);
	case MC_LLAMA_OP_ATTENTION_PREFILL:
	case MC_LLAMA_OP_ATTENTION_DECODE:
		return sizeof(struct mc_attention);
	default:
		return 0;
	}
}

static void keep(void *arg, const struct mc_llama_call *call)
{
	struct replay *r = arg;
	struct kept k = {.op = call->op};
	struct mc_op_point p;

	if (!mc_calib_model_point(r->m, call, &p) || r->call.n == CALLS)
		return;
	memcpy(&k.a, call->arguments, arguments_of(call->op));
	while (k.kind < r->kinds && !same(&r->kind[k.kind], &p))
		k.kind++;
	if (k.kind == r->kinds) {
		assert(r->kinds < KINDS);
		r->kind[r->kinds++] = p;
	}
	mc_vec_push(&r->call, k);
}

static void queue(struct replay *r, const struct kept *k)
{
	switch (k->op) {
	case MC_LLAMA_OP_GEMM:
		r->be->gemm(r->s, &k->a.gemm);
		break;
	case MC_LLAMA_OP_NORM:
		r->be->norm(r->s, &k->a.norm);
		break;
	case MC_LLAMA_OP_ROPE:
		r->be->rope(r->s, &k->a.rope);
		break;
	case MC_LLAMA_OP_SWIGLU:
		r->be->swiglu(r->s, &k->a.swiglu);
		break;
	case MC_LLAMA_OP_EMBED:
		r->be->embed(r->s, &k->a.embed);
		break;
	case MC_LLAMA_OP_SAMPLE:
		r->be->sample(r->s, &k->a.sample);
		break;
	case MC_LLAMA_OP_KV_SCATTER:
		r->be->kv_scatter(r->s, &k->a.kv);
		break;
	case MC_LLAMA_OP_ATTENTION_PREFILL:
		r->be->attention_prefill(r->s, &k->a.attention);
		break;
	default:
		assert(k->op == MC_LLAMA_OP_ATTENTION_DECODE);
		r->be->attention_decode(r->s, &k->a.attention);
		break;
	}
}

static void shut_gate(struct replay *r)
{
	for (int i = 0; i < r->fills; i++)
		r->be->fill(r->s, r->gate, i, gate_bytes);
}

/* All is queued: was the gate still shut? Then what is between the events ran without the host. */
static bool waited(struct replay *r)
{
	return !r->be->event_done(r->from) || r->fills >= LONGEST;
}

/* The step as it is, without a clock: so that what the operators find is a step's again. */
static int whole(struct replay *r, const struct mc_llama_hooks *hooks, struct mc_err *err)
{
	int rc;

	mc_calib_model_prepare(r->m, r->at, &r->step);
	r->step.hooks = hooks ? *hooks : (struct mc_llama_hooks){0};
	rc = mc_llama_step(r->m->llama, &r->step, &r->result, err);
	return rc ? rc : mc_llama_sync(r->m->llama, err);
}

/* Operators of one kind in turn. */
static int kind_once(void *arg, double *seconds, struct mc_err *err)
{
	struct replay *r = arg;
	bool good = false;
	int rc = 0;

	/* Some of them change their input. */
	if (r->samples++ % AGAIN_EVERY == 0)
		rc = whole(r, NULL, err);
	while (!rc && !good) {
		int left = r->runs;

		shut_gate(r);
		r->be->event_record(r->from, r->s);
		for (; left > 0; r->next = (r->next + 1) % (int)r->call.n)
			if (r->call.at[r->next].kind == r->which) {
				queue(r, &r->call.at[r->next]);
				left--;
			}
		r->be->event_record(r->to, r->s);
		good = waited(r);
		r->fills *= good ? 1 : 2;
		rc = r->be->stream_sync(r->s, err);
	}
	*seconds = rc ? 0 : r->be->event_seconds(r->from, r->to) / r->runs;
	return rc;
}

/* As many runs as take a millisecond, but each layer once. */
static int choose_runs(struct replay *r, struct mc_err *err)
{
	double seconds;
	int n = 0, rc;

	for (size_t i = 0; i < r->call.n; i++)
		n += r->call.at[i].kind == r->which;
	r->runs = n;
	rc = kind_once(r, &seconds, err);
	if (!rc && seconds > 0 && seconds * n < sample_s)
		r->runs = (int)(sample_s / seconds) + 1 < 1000 ? (int)(sample_s / seconds) + 1 : 1000;
	return rc;
}

static int measure_kind(struct replay *r, const struct mc_calib_goal *goal, struct mc_calib_samples *out,
			struct mc_err *err)
{
	struct mc_calib_task task = {kind_once, NULL, r};
	struct mc_calib_result result;
	int rc;

	if (r->m->known && r->m->known(r->m->known_arg, &r->kind[r->which]))
		return 0;
	r->samples = r->next = 0;
	rc = choose_runs(r, err);
	if (!rc)
		rc = mc_calib_measure(goal, &task, &result, err);
	if (!rc)
		mc_calib_model_sample(out, &r->kind[r->which], &result.time, result.flag);
	return rc;
}

static void begin_after_copy(void *arg, const struct mc_llama_call *call)
{
	struct replay *r = arg;

	if (r->after_copy && call->op == MC_LLAMA_OP_COPY)
		r->be->event_record(r->from, r->s);
	r->after_copy = false;
}

/* Layers of the step alone, or (0, 0) all of it, on the device. */
static int part_once(void *arg, double *seconds, struct mc_err *err)
{
	struct replay *r = arg;
	bool good = false;
	int rc = 0;

	while (!rc && !good) {
		shut_gate(r);
		r->be->event_record(r->from, r->s);
		r->after_copy = r->step.to > 0;
		rc = mc_llama_step(r->m->llama, &r->step, NULL, err);
		r->be->event_record(r->to, r->s);
		good = waited(r);
		r->fills *= good ? 1 : 2;
		if (!rc)
			rc = mc_llama_sync(r->m->llama, err);
	}
	*seconds = rc ? 0 : r->be->event_seconds(r->from, r->to);
	return rc;
}

/* Layers from 1 on but the last: those between have no embedding and no logits. */
static int measure_part(struct replay *r, bool layers, const struct mc_calib_goal *goal,
			struct mc_calib_result *result, struct mc_err *err)
{
	struct mc_llama_hooks hooks = {.queued = begin_after_copy, .arg = r};
	struct mc_calib_task task = {part_once, NULL, r};
	int n = r->m->want.shape.layers, rc = whole(r, NULL, err);

	if (layers) {
		r->step.from = 1;
		r->step.to = n - 1;
	}
	r->step.hooks = hooks;
	return rc ? rc : mc_calib_measure(goal, &task, result, err);
}

static int measure_all(struct replay *r, const struct mc_calib_goal *goal, struct mc_calib_outcome *out,
		       struct mc_err *err)
{
	struct mc_calib_goal each = *goal;
	struct mc_op_point p = {
	    .op = MC_OP_LAYER,
	    .dim = {
		[MC_DIM_ROWS] = r->at->rows, [MC_DIM_CONTEXT] = r->at->context, [MC_DIM_SEQS] = r->at->seqs}};
	struct mc_calib_result layers = {0}, device = {0};
	int n = r->m->want.shape.layers - 2, rc = 0;

	each.cap_s /= 4;
	for (r->which = 0; r->which < r->kinds && !rc; r->which++)
		rc = measure_kind(r, &each, &out->samples, err);
	if (!rc && n > 0)
		rc = measure_part(r, true, &each, &layers, err);
	layers.time.median /= n > 0 ? n : 1;
	if (!rc && n > 0)
		mc_calib_model_sample(&out->samples, &p, &layers.time, layers.flag);
	if (!rc)
		rc = measure_part(r, false, &each, &device, err);
	if (!rc)
		rc = mc_calib_model_whole(r->m, r->at, goal, &out->result, err);
	if (rc || !out->result.time.n)
		return rc;
	/* What the device waits for the host in a step. */
	p.op = MC_OP_HOST_STEP;
	p.dim[MC_DIM_ROWS] = p.dim[MC_DIM_CONTEXT] = 0;
	layers = out->result;
	layers.time.median -= device.time.median;
	mc_calib_model_sample(&out->samples, &p, &layers.time, out->result.flag);
	p.op = MC_OP_STEP;
	p.dim[MC_DIM_ROWS] = r->at->rows;
	p.dim[MC_DIM_CONTEXT] = r->at->context;
	mc_calib_model_sample(&out->samples, &p, &out->result.time, out->result.flag);
	return 0;
}

int mc_calib_model_replay(struct mc_calib_model *m, const struct mc_calib_point *p,
			  const struct mc_calib_goal *goal, struct mc_calib_outcome *out, struct mc_err *err)
{
	struct replay r = {
	    .m = m, .be = m->want.backend, .s = mc_llama_stream(m->llama, 0), .at = p, .fills = 1};
	struct mc_llama_hooks hooks = {.queued = keep, .arg = &r};
	struct mc_device *d = mc_llama_device(m->llama, 0);
	int rc = r.be->event_open(&r.from, d, err);

	if (!rc)
		rc = r.be->event_open(&r.to, d, err);
	if (!rc) {
		r.gate = r.be->alloc(d, MC_DEVICE, gate_bytes, err);
		rc = r.gate ? whole(&r, &hooks, err) : err->rc;
	}
	if (!rc)
		rc = mc_calib_model_verify(m, &r.result, false, err);
	if (!rc)
		rc = measure_all(&r, goal, out, err);
	r.be->release(d, MC_DEVICE, r.gate);
	r.be->event_close(r.from);
	r.be->event_close(r.to);
	mc_vec_fini(&r.call);
	return rc;
}
