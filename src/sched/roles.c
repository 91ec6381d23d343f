#include "sched/roles.h"

#include <math.h>

#include "sched/load.h"

double mc_roles_prefill_load(const struct mc_view *view, mc_time ttft)
{
	const struct mc_view_living *l = &view->prefill_living;
	double busy = 0;

	for (uint32_t k = 0; k < l->n; k++)
		busy += mc_view_queue(view, l->at[k]) > 0;
	return l->n ? fmax(busy / l->n, mc_load_prefill_pool(view, ttft)) : 0;
}

double mc_roles_decode_load(const struct mc_view *view, mc_time tbt)
{
	return mc_load_decode_pool(view, tbt);
}

void mc_roles_look(struct mc_roles *r, const struct mc_view *view)
{
	r->prefill += mc_roles_prefill_load(view, r->params.ttft);
	r->decode += mc_roles_decode_load(view, r->params.tbt);
	r->looks++;
}

/* Load of a pool of n nodes that had `load` with `had`. */
static double spread(double load, double had, double n)
{
	return n > 0 ? load * had / n : INFINITY;
}

struct pool {
	double load; /* mean */
	double n, coming;
};

static bool wants(const struct mc_roles *r, const struct pool *asks, const struct pool *gives)
{
	double n = asks->n + asks->coming, now = spread(asks->load, asks->n, n),
	       after = spread(asks->load, asks->n, n + 1), left = gives->n + gives->coming - 1;

	return now > r->params.threshold &&
	       spread(gives->load, gives->n, left) + r->params.hysteresis < after;
}

enum mc_roles_move mc_roles_decide(struct mc_roles *r, const struct mc_view *view,
				   const struct mc_roles_coming *coming)
{
	double looks = r->looks ? r->looks : 1;
	struct pool prefill = {r->prefill / looks, view->prefill_living.n, coming->prefill};
	struct pool decode = {r->decode / looks, view->decode_living.n, coming->decode};

	r->prefill = r->decode = 0;
	r->looks = 0;
	if (wants(r, &prefill, &decode))
		return MC_ROLES_TO_PREFILL;
	return wants(r, &decode, &prefill) ? MC_ROLES_TO_DECODE : MC_ROLES_STAY;
}
