#include "calib/anchors.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"

static bool same(const struct mc_calib_point *p, const int64_t *dim)
{
	return p->rows == dim[MC_DIM_ROWS] && p->context == dim[MC_DIM_CONTEXT] &&
	       p->seqs == dim[MC_DIM_SEQS];
}

/* Decodes first, each kind by its time. */
static int by_time(const void *a, const void *b)
{
	const struct mc_calib_anchor *x = a, *y = b;
	int kind = (x->at.rows > 1) - (y->at.rows > 1);

	return kind ? kind : (x->then > y->then) - (x->then < y->then);
}

/* All steps, the medians of their visits. `now` holds the visits meanwhile. */
static void collect(struct mc_calib_anchors *a, const struct mc_opsamples *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const int64_t *d = s->at[i].point.dim;
		size_t k = 0;

		if (s->at[i].point.op != MC_OP_STEP || *s->at[i].flag)
			continue;
		while (k < a->n && !same(&a->at[k].at, d))
			k++;
		if (k == a->n) {
			struct mc_calib_anchor one = {.at = {.rows = d[MC_DIM_ROWS],
							     .context = d[MC_DIM_CONTEXT],
							     .seqs = d[MC_DIM_SEQS]}};

			mc_vec_push(a, one);
		}
		mc_vec_push(&a->at[k].now, s->at[i].seconds);
	}
	for (size_t k = 0; k < a->n; k++) {
		struct mc_calib_summary of;

		mc_calib_summarise(&a->at[k].now, &of);
		a->at[k].then = of.median;
		mc_vec_fini(&a->at[k].now);
	}
}

void mc_calib_anchors_choose(struct mc_calib_anchors *a, const struct mc_opsamples *s, double most_s)
{
	struct mc_calib_anchors all = {0};

	*a = (struct mc_calib_anchors){0};
	collect(&all, s);
	if (all.n)
		qsort(all.at, all.n, sizeof *all.at, by_time);
	for (size_t from = 0, to; from < all.n; from = to) {
		const size_t most = MC_CALIB_ANCHORS / 2;
		size_t n, kept;

		for (n = 0, to = from; to < all.n && (all.at[to].at.rows > 1) == (all.at[from].at.rows > 1);
		     to++)
			n += all.at[to].then <= most_s;
		kept = n < most ? n : most;
		for (size_t i = 0; i < kept; i++)
			mc_vec_push(a, all.at[from + (kept > 1 ? i * (n - 1) / (kept - 1) : 0)]);
	}
	mc_vec_fini(&all);
}

void mc_calib_anchors_find(struct mc_calib_anchors *a, const struct mc_calib_compute *c, const char **why)
{
	const struct mc_opsamples *here = &c->session.all;
	/* All visits of all of them, with the step before that counts for nothing, take a fifth. */
	double most_s =
	    c->o->common.budget_s / 5 / (MC_CALIB_ANCHORS * MC_CALIB_ROUNDS * (MC_CALIB_FEWEST + 1));
	struct mc_opsamples s;
	struct mc_str path = {0};

	*a = (struct mc_calib_anchors){0};
	*why = "there are no samples of its calibration in the folder";
	mc_str_printf(&path, "%s/cpu-%s.csv", c->o->common.samples, c->name);
	if (!mc_opsamples_read(&s, path.at, NULL)) {
		if (strcmp(s.device, here->device) || strcmp(s.software, here->software))
			*why = "the calibration in the folder is of another device or software";
		else
			mc_calib_anchors_choose(a, &s, most_s);
		if (a->n)
			*why = NULL;
		mc_opsamples_fini(&s);
	}
	mc_str_fini(&path);
}

void mc_calib_anchors_fini(struct mc_calib_anchors *a)
{
	for (size_t i = 0; i < a->n; i++)
		mc_vec_fini(&a->at[i].now);
	mc_vec_fini(a);
}

int mc_calib_anchors_visit(struct mc_calib_anchors *a, struct mc_calib_compute *c, struct mc_err *err)
{
	struct mc_calib_anchor *one;
	struct mc_calib_result r;
	int rc;

	if (!a->n)
		return 0;
	one = &a->at[a->turn++ % a->n];
	rc = mc_calib_model_whole(&c->model, &one->at, &c->goal, &r, err);
	if (!rc && r.time.n && !r.flag[0])
		mc_vec_push(&one->now, r.time.median);
	return rc;
}

void mc_calib_anchors_pace(struct mc_calib_anchors *a, struct mc_calib_pace *out)
{
	struct mc_calib_series ratio = {0};
	struct mc_calib_summary of;

	*out = (struct mc_calib_pace){.median = 1, .low = 1, .high = 1};
	for (size_t i = 0; i < a->n; i++) {
		if (!a->at[i].now.n)
			continue;
		mc_calib_summarise(&a->at[i].now, &of);
		mc_vec_push(&ratio, of.median / a->at[i].then);
	}
	if (ratio.n) {
		mc_calib_summarise(&ratio, &of);
		*out = (struct mc_calib_pace){of.median, ratio.at[0], ratio.at[ratio.n - 1], ratio.n};
	}
	mc_vec_fini(&ratio);
}
