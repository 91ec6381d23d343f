/*
 * Flows on random nets, some cancelled on their way, links changing their capacity: after every event the
 * rates are max-min fair, no byte is lost, nothing ends too early; and the ends agree with an independent
 * integration in small steps of time.
 */
#include "flow_world.h"

#include "net/solve.h"

static double supply(const struct job *j)
{
	return (j->spec.bytes - j->spec.head - j->spec.tail) / mc_time_to_s(j->spec.produce_end - j->begin);
}

static double weight(const struct job *j)
{
	return j->spec.weight > 0 ? j->spec.weight : 1;
}

/* Feasible; every flow has a full link on which nobody is faster, or runs at its production. */
static void check_fair(struct world *w)
{
	double used[LINKS] = {0}, fastest[LINKS] = {0}, rate[FLOWS];

	for (unsigned i = 0; i < w->flows; i++) {
		const struct job *j = &w->job[i];

		rate[i] = j->running ? mc_net_flow_rate(w->net, j->id) : 0;
		for (uint32_t k = 0; k < j->spec.n_links; k++) {
			used[j->spec.link[k]] += rate[i];
			fastest[j->spec.link[k]] = fmax(fastest[j->spec.link[k]], rate[i] / weight(j));
		}
	}
	for (unsigned l = 0; l < w->links; l++)
		must(used[l] <= w->capacity[l] * (1 + 1e-9) &&
		     fabs(mc_net_link_rate(w->net, l) - used[l]) <= 1e-9 * used[l]);
	for (unsigned i = 0; i < w->flows; i++) {
		const struct job *j = &w->job[i];
		bool fair = !j->running || w->loop.now <= j->begin + j->spec.startup || j->spec.bytes <= 0;

		if (!fair && w->loop.now < j->spec.produce_end)
			fair = fabs(rate[i] - supply(j)) <= 1e-9 * rate[i];
		for (uint32_t k = 0; k < j->spec.n_links; k++) {
			uint32_t l = j->spec.link[k];

			fair |= used[l] >= w->capacity[l] * (1 - 1e-9) &&
				rate[i] / weight(j) >= fastest[l] * (1 - 1e-9);
		}
		/* Its own end of production may be due in this very instant. */
		must(fair || w->loop.now == j->spec.produce_end);
	}
}

START_TEST(fair_after_every_event)
{
	static const unsigned links[] = {2, 4, 8, 12};
	static struct world w;

	for (uint64_t seed = 0; seed < 160; seed++) {
		mc_time lazy[FLOWS];
		struct mc_err err = {0};

		/* From crowded to nearly empty. */
		draw(&w, seed, links[seed % 4], 60, (mc_time)(5 + seed % 7 * 40) * MC_NS_PER_MS);
		open_world(&w);
		mc_loop_run(&w.loop, MC_TIME_MAX);
		close_world(&w);
		for (unsigned i = 0; i < w.flows; i++)
			lazy[i] = w.job[i].end;
		open_world(&w);
		while (mc_loop_step(&w.loop)) {
			if (mc_net_check(w.net, &err))
				ck_abort_msg("seed %d: %s", (int)seed, err.text);
			check_fair(&w);
			check_bytes(&w);
		}
		check_ends(&w);
		close_world(&w);
		/* Looking recomputes earlier, within the instant: that moves an end by rounding at most. */
		for (unsigned i = 0; i < w.flows; i++)
			ck_assert_int_le(llabs(lazy[i] - w.job[i].end), 50);
	}
}
END_TEST

/* Wide enough for a change to spread over many links, and not over all. */
START_TEST(fair_on_wide_nets)
{
	static struct world w;
	struct mc_err err = {0};

	for (uint64_t seed = 500; seed < 510; seed++) {
		draw(&w, seed, LINKS, FLOWS, (mc_time)(1 + seed % 5 * 20) * MC_NS_PER_MS);
		open_world(&w);
		while (mc_loop_step(&w.loop))
			if (w.loop.fired % 3 == 0 && mc_net_check(w.net, &err))
				ck_abort_msg("seed %d: %s", (int)seed, err.text);
		check_ends(&w);
		close_world(&w);
	}
}
END_TEST

/* The reference: steps of fixed length, in each the shares of mc_net_solve; all state is bytes sent so far.
 */
struct reference {
	const struct world *w;
	double step;
	double sent[FLOWS], end[FLOWS];
	bool over[FLOWS];
};

static double available(const struct job *j, double t)
{
	double begin = mc_time_to_s(j->begin), stop = mc_time_to_s(j->spec.produce_end);

	if (t >= stop)
		return j->spec.bytes;
	return j->spec.head +
	       (j->spec.bytes - j->spec.head - j->spec.tail) * fmax(0, (t - begin) / (stop - begin));
}

/* The capacities at time t: turns of one instant act in the order in which they were scheduled. */
static void reference_capacity(const struct world *w, double t, double *capacity)
{
	mc_time last[LINKS];

	for (unsigned l = 0; l < w->links; l++) {
		capacity[l] = w->initial[l];
		last[l] = -1;
	}
	for (unsigned i = 0; i < w->turns; i++) {
		const struct turn *turn = &w->turn[i];

		if (mc_time_to_s(turn->at) > t + 1e-12 || turn->at < last[turn->link])
			continue;
		last[turn->link] = turn->at;
		capacity[turn->link] = turn->capacity;
	}
}

static unsigned reference_step(struct reference *r, double t)
{
	struct mc_net_solve_flow flow[FLOWS];
	unsigned of[FLOWS], n = 0, over = 0;
	const struct world *w = r->w;
	double capacity[LINKS];

	for (unsigned i = 0; i < w->flows; i++) {
		const struct job *j = &w->job[i];
		double backlog = available(j, t) - r->sent[i];

		if (!r->over[i] && j->cancel < MC_TIME_MAX && mc_time_to_s(j->cancel) <= t + 1e-12) {
			r->over[i] = true;
			r->end[i] = t;
		}
		over += r->over[i];
		if (r->over[i] || t < mc_time_to_s(j->begin + j->spec.startup))
			continue;
		flow[n].n_links = j->spec.n_links;
		for (uint32_t k = 0; k < j->spec.n_links; k++)
			flow[n].link[k] = j->spec.link[k];
		flow[n].cap = INFINITY;
		flow[n].weight = j->spec.weight;
		if (t < mc_time_to_s(j->spec.produce_end) && backlog <= supply(j) * r->step)
			flow[n].cap = supply(j);
		of[n++] = i;
	}
	reference_capacity(w, t, capacity);
	mc_net_solve(capacity, w->links, flow, n);
	for (unsigned f = 0; f < n; f++) {
		unsigned i = of[f];

		r->sent[i] = fmin(r->sent[i] + flow[f].rate * r->step, available(&w->job[i], t + r->step));
		r->over[i] = r->sent[i] >= w->job[i].spec.bytes * (1 - 1e-12) &&
			     t + r->step >= mc_time_to_s(w->job[i].spec.produce_end) - 1e-12;
		r->end[i] = t + r->step;
	}
	return over;
}

START_TEST(ends_agree_with_small_steps)
{
	static struct world w;

	for (uint64_t seed = 1000; seed < 1060; seed++) {
		struct reference r = {.w = &w, .step = 1e-6};

		draw(&w, seed, 2 + seed % 3, 3 + seed % 5, 8 * MC_NS_PER_MS);
		open_world(&w);
		mc_loop_run(&w.loop, MC_TIME_MAX);
		close_world(&w);
		for (long i = 0; reference_step(&r, (double)i * r.step) < w.flows; i++)
			must(i < 1000000);
		/* A change of state is up to a step late, and others feel it; a wrong state costs
		 * milliseconds. */
		for (unsigned i = 0; i < w.flows; i++)
			ck_assert_double_eq_tol(mc_time_to_s(w.job[i].end), r.end[i], 20 * r.step);
		for (unsigned i = 0; i < w.flows; i++)
			ck_assert_double_eq_tol(w.job[i].sent, r.sent[i],
						20 * r.step * 3.3e9 + 1e-9 * w.job[i].sent);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("flow_random");
	TCase *t = tcase_create("flow_random");

	tcase_add_test(t, fair_after_every_event);
	tcase_add_test(t, fair_on_wide_nets);
	tcase_add_test(t, ends_agree_with_small_steps);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
