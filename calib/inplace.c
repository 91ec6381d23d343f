/* Steps of a model, their operators timed in place (calib/model.h). */
#include <assert.h>

#include "calib/model.h"

/* Steps that take longer are timed with a clock between operators and as a whole at once; of shorter ones
 * every other repeat is without, as the clock would count. */
static const double long_s = 0.02;

/* One kind of operator of the step. */
struct kind {
	struct mc_op_point point;
	double now; /* of the repeat that runs, all calls */
	int calls;
	struct mc_calib_series seconds; /* mean of a repeat's calls, of all that count */
};

enum { KINDS = 24 };

struct timing {
	struct mc_calib_model *m;
	struct mc_llama_step step;
	struct mc_llama_result result;
	bool inside; /* the last repeat had the clock inside */
	int repeats;
	/* Of the repeat that runs. */
	double started, last, layer_from, inside_s; /* of operators that are composed */
	int layer;
	double layers_s; /* of layers */
	int layers_n;
	double whole;
	/* Of all that count. */
	struct kind kind[KINDS];
	int kinds;
	struct mc_calib_series layers, steps, host;
};

static double clock_s(void)
{
	return mc_calib_clock.wall(mc_calib_clock.arg);
}

static bool same(const struct mc_op_point *a, const struct mc_op_point *b)
{
	bool equal = a->op == b->op;

	for (int d = 0; d < MC_DIMS; d++)
		equal &= a->dim[d] == b->dim[d];
	return equal;
}

static int kind_of(struct timing *t, const struct mc_op_point *p)
{
	int i = 0;

	while (i < t->kinds && !same(&t->kind[i].point, p))
		i++;
	if (i == t->kinds) {
		assert(i < KINDS);
		t->kind[t->kinds++].point = *p;
	}
	return i;
}

/* An operator is done. A layer ends where the next one, or none, begins. */
static void queued(void *arg, const struct mc_llama_call *call)
{
	struct timing *t = arg;
	double now = clock_s();
	struct mc_op_point p;

	if (call->layer != t->layer) {
		if (t->layer >= 0) {
			t->layers_s += t->last - t->layer_from;
			t->layers_n++;
		}
		t->layer = call->layer;
		t->layer_from = t->last;
	}
	if (mc_calib_model_point(t->m, call, &p)) {
		struct kind *k = &t->kind[kind_of(t, &p)];

		k->now += now - t->last;
		k->calls++;
		t->inside_s += now - t->last;
	}
	/* What we did here is nobody's time. */
	t->last = clock_s();
	t->started += t->last - now;
	t->layer_from += t->layer >= 0 ? t->last - now : 0;
}

static int once(void *arg, double *seconds, struct mc_err *err)
{
	struct timing *t = arg;
	struct mc_llama_hooks inside = {.queued = queued, .arg = t};
	int rc;

	t->inside = t->whole > long_s || !(t->repeats & 1);
	t->repeats++;
	t->step.hooks = t->inside ? inside : (struct mc_llama_hooks){0};
	for (int i = 0; i < t->kinds; i++)
		t->kind[i].now = t->kind[i].calls = 0;
	t->layers_s = t->layers_n = 0;
	t->layer = -1;
	t->inside_s = 0;
	t->started = t->last = clock_s();
	rc = mc_llama_step(t->m->llama, &t->step, &t->result, err);
	if (!rc)
		rc = mc_llama_sync(t->m->llama, err);
	*seconds = t->whole = clock_s() - t->started;
	return rc;
}

static void counts(void *arg)
{
	struct timing *t = arg;

	if (!t->inside || t->whole > long_s)
		mc_vec_push(&t->steps, t->whole);
	if (!t->inside)
		return;
	for (int i = 0; i < t->kinds; i++)
		if (t->kind[i].calls)
			mc_vec_push(&t->kind[i].seconds, t->kind[i].now / t->kind[i].calls);
	if (t->layers_n)
		mc_vec_push(&t->layers, t->layers_s / t->layers_n);
	mc_vec_push(&t->host, t->whole - t->inside_s);
}

static void sample_of(struct mc_calib_samples *out, const struct mc_op_point *p, struct mc_calib_series *s,
		      const char *flag)
{
	struct mc_calib_summary sum;

	if (!s->n)
		return;
	mc_calib_summarise(s, &sum);
	mc_calib_model_sample(out, p, &sum, flag);
}

static void samples_of(struct timing *t, const struct mc_calib_point *at, struct mc_calib_result *r,
		       struct mc_calib_samples *out)
{
	struct mc_op_point p = {
	    .op = MC_OP_LAYER,
	    .dim = {[MC_DIM_ROWS] = at->rows, [MC_DIM_CONTEXT] = at->context, [MC_DIM_SEQS] = at->seqs}};

	for (int i = 0; i < t->kinds; i++)
		sample_of(out, &t->kind[i].point, &t->kind[i].seconds, r->flag);
	sample_of(out, &p, &t->layers, r->flag);
	p = (struct mc_op_point){.op = MC_OP_HOST_STEP, .dim = {[MC_DIM_SEQS] = at->seqs}};
	sample_of(out, &p, &t->host, r->flag);
	p = (struct mc_op_point){
	    .op = MC_OP_STEP,
	    .dim = {[MC_DIM_ROWS] = at->rows, [MC_DIM_CONTEXT] = at->context, [MC_DIM_SEQS] = at->seqs}};
	/* The step last: it says that the point is complete. */
	if (t->steps.n)
		mc_calib_summarise(&t->steps, &r->time);
	mc_calib_model_sample(out, &p, &r->time, r->flag);
}

static void timing_fini(struct timing *t)
{
	for (int i = 0; i < t->kinds; i++)
		mc_vec_fini(&t->kind[i].seconds);
	mc_vec_fini(&t->layers);
	mc_vec_fini(&t->steps);
	mc_vec_fini(&t->host);
}

/* Prepare the step and repeat it: the first run is looked at, and the last one must give the same. A long
 * first one has warmed up the rest. */
static int measure(const struct mc_calib_task *task, const struct mc_calib_point *p,
		   const struct mc_calib_goal *goal, struct mc_calib_result *result, struct mc_err *err)
{
	struct timing *t = task->arg;
	struct mc_calib_goal after = *goal;
	double seconds;
	int rc;

	*result = (struct mc_calib_result){0};
	mc_calib_model_prepare(t->m, p, &t->step);
	rc = task->once(t, &seconds, err);
	if (!rc)
		rc = mc_calib_model_verify(t->m, &t->result, false, err);
	if (seconds > goal->warm_s)
		after.warm_s = 0;
	if (!rc)
		rc = mc_calib_measure(&after, task, result, err);
	if (!rc && result->time.n)
		rc = mc_calib_model_verify(t->m, &t->result, true, err);
	return rc;
}

int mc_calib_model_step(struct mc_calib_model *m, const struct mc_calib_point *p,
			const struct mc_calib_goal *goal, struct mc_calib_outcome *out, struct mc_err *err)
{
	struct timing t = {.m = m};
	struct mc_calib_task task = {once, counts, &t};
	int rc = measure(&task, p, goal, &out->result, err);

	if (!rc && out->result.time.n)
		samples_of(&t, p, &out->result, &out->samples);
	timing_fini(&t);
	return rc;
}

static int whole_once(void *arg, double *seconds, struct mc_err *err)
{
	struct timing *t = arg;
	double from = clock_s();
	int rc = mc_llama_step(t->m->llama, &t->step, &t->result, err);

	if (!rc)
		rc = mc_llama_sync(t->m->llama, err);
	*seconds = clock_s() - from;
	return rc;
}

int mc_calib_model_whole(struct mc_calib_model *m, const struct mc_calib_point *p,
			 const struct mc_calib_goal *goal, struct mc_calib_result *result, struct mc_err *err)
{
	struct timing t = {.m = m};
	struct mc_calib_task task = {whole_once, NULL, &t};
	int rc = measure(&task, p, goal, result, err);

	timing_fini(&t);
	return rc;
}
