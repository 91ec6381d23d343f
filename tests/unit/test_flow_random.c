/*
 * Flows on random nets, some cancelled on their way, links changing their capacity: after every event the
 * rates are max-min fair, no byte is lost, nothing ends too early; and the ends agree with an independent
 * integration in small steps of time.
 */
#include "unit.h"

#include <gsl/gsl_randist.h>
#include <math.h>

#include "des/stream.h"
#include "net/flow.h"
#include "net/solve.h"

#define FLOWS 400 /* at most */
#define LINKS 100
#define TURNS 12 /* changes of capacity */

/* Check writes to a pipe for every assertion that holds: too slow inside these loops. */
#define must(x) ((x) ? (void)0 : ck_abort_msg("%s", #x))

struct world;

struct job {
	struct mc_event start, stop;
	struct world *w;
	struct mc_flow_spec spec;
	mc_time begin, end, cancel; /* cancel: MC_TIME_MAX: never */
	double sent;                /* when cancelled, else all */
	uint32_t id;
	bool running, cancelled;
};

/* A link takes another capacity. */
struct turn {
	struct mc_event ev;
	struct world *w;
	mc_time at;
	unsigned link;
	double capacity;
};

struct world {
	struct mc_loop loop;
	struct mc_net *net;
	unsigned links, flows, turns;
	bool contended;
	double loss[LINKS], room[LINKS]; /* contention; links of the first half are of side 0 */
	double initial[LINKS], capacity[LINKS], largest[LINKS]; /* at first, now, ever */
	struct turn turn[TURNS];
	double seen[LINKS]; /* bytes at the last look */
	struct job job[FLOWS];
};

static void job_done(void *arg, uint32_t flow)
{
	struct job *j = arg;

	ck_assert(j->running);
	ck_assert_uint_eq(j->id, flow);
	j->running = false;
	j->end = j->w->loop.now;
}

static void job_start(struct mc_loop *loop, struct mc_event *ev)
{
	struct job *j = mc_container_of(ev, struct job, start);

	(void)loop;
	j->running = true;
	j->id = mc_net_flow_start(j->w->net, &j->spec);
}

static void job_stop(struct mc_loop *loop, struct mc_event *ev)
{
	struct job *j = mc_container_of(ev, struct job, stop);

	if (!j->running)
		return;
	j->sent = mc_net_flow_cancel(j->w->net, j->id);
	j->running = false;
	j->cancelled = true;
	j->end = loop->now;
	must(j->sent >= 0 && j->sent <= j->spec.bytes);
}

static void turn(struct mc_loop *loop, struct mc_event *ev)
{
	struct turn *t = mc_container_of(ev, struct turn, ev);

	(void)loop;
	t->w->capacity[t->link] = t->capacity;
	mc_net_link_set_capacity(t->w->net, t->link, t->capacity);
	must(mc_net_link_capacity(t->w->net, t->link) == t->capacity);
}

/* A path of out- and in-link (nodes = links / 2), or of distinct links anywhere, mostly up to four. */
static void draw_path(const struct world *w, gsl_rng *rng, bool bipartite, struct mc_flow_spec *spec)
{
	unsigned pick[LINKS], most;

	for (unsigned i = 0; i < w->links; i++)
		pick[i] = i;
	if (bipartite) {
		spec->n_links = 2;
		spec->link[0] = (uint32_t)gsl_rng_uniform_int(rng, w->links / 2);
		spec->link[1] = w->links / 2 + (uint32_t)gsl_rng_uniform_int(rng, w->links / 2);
		return;
	}
	gsl_ran_shuffle(rng, pick, w->links, sizeof *pick);
	most = gsl_rng_uniform_int(rng, 8) ? 4 : MC_FLOW_LINKS;
	spec->n_links = 1 + (uint32_t)gsl_rng_uniform_int(rng, w->links < most ? w->links : most);
	for (uint32_t k = 0; k < spec->n_links; k++)
		spec->link[k] = pick[k];
}

static void draw_job(const struct world *w, gsl_rng *rng, mc_time span, bool weighted, struct job *j)
{
	/* Coarse times, so that several things happen in one instant. */
	j->begin = MC_NS_PER_US * 500 * (mc_time)gsl_rng_uniform_int(rng, (unsigned long)(span / 500000) + 1);
	j->spec.bytes = floor(exp(gsl_ran_flat(rng, log(1e4), log(1e7))));
	if (gsl_rng_uniform_int(rng, 20) == 0)
		j->spec.bytes = 0;
	if (gsl_rng_uniform_int(rng, 2))
		j->spec.startup = (mc_time)gsl_rng_uniform_int(rng, 1000000);
	if (weighted)
		j->spec.weight = 1.0 / (double)(1 + gsl_rng_uniform_int(rng, 9));
	j->cancel = MC_TIME_MAX;
	if (w->turns && gsl_rng_uniform_int(rng, 5) == 0)
		j->cancel = j->begin + MC_NS_PER_US * 500 * (mc_time)gsl_rng_uniform_int(rng, 40);
	if (gsl_rng_uniform_int(rng, 3)) {
		static const double tail[] = {0, 0, 0.0125, 0.3, 1};

		j->spec.produce_end = j->begin + (mc_time)gsl_rng_uniform_int(rng, 20000000);
		j->spec.tail = j->spec.bytes * tail[gsl_rng_uniform_int(rng, 5)];
		if (gsl_rng_uniform_int(rng, 3) == 0)
			j->spec.head = (j->spec.bytes - j->spec.tail) * gsl_rng_uniform(rng);
	}
}

static void draw(struct world *w, uint64_t seed, unsigned links, unsigned flows, mc_time span)
{
	static const double speed[] = {1e9, 1e9, 1e9, 0.5e9, 2e9, 3.3e9, 1e9 / 3};
	gsl_rng *rng = mc_stream_new(seed, "world", links);
	bool bipartite = gsl_rng_uniform_int(rng, 2), even = gsl_rng_uniform_int(rng, 2);
	bool weighted = gsl_rng_uniform_int(rng, 2);

	*w = (struct world){.links = links, .flows = flows};
	for (unsigned l = 0; l < links; l++)
		w->initial[l] = w->largest[l] = even ? 1e9 : speed[gsl_rng_uniform_int(rng, 7)];
	w->turns = gsl_rng_uniform_int(rng, 2) ? TURNS : 0;
	for (unsigned i = 0; i < w->turns; i++) {
		struct turn *t = &w->turn[i];

		t->at = MC_NS_PER_US * 500 *
			(mc_time)gsl_rng_uniform_int(rng, (unsigned long)(span / 500000) + 1);
		t->link = (unsigned)gsl_rng_uniform_int(rng, links);
		t->capacity = speed[gsl_rng_uniform_int(rng, 7)];
		w->largest[t->link] = fmax(w->largest[t->link], t->capacity);
	}
	for (unsigned i = 0; i < flows; i++) {
		draw_path(w, rng, bipartite, &w->job[i].spec);
		draw_job(w, rng, span, weighted, &w->job[i]);
	}
	gsl_rng_free(rng);
}

/* Links that lose capacity with every peer of their flows, which take some capacity before they begin. */
static void contend(struct world *w, uint64_t seed)
{
	gsl_rng *rng = mc_stream_new(seed, "contention", 0);

	w->contended = true;
	for (unsigned l = 0; l < w->links; l++) {
		w->loss[l] = gsl_rng_uniform_int(rng, 3) ? 0.5 * gsl_rng_uniform(rng) : 0;
		w->room[l] = gsl_rng_uniform_int(rng, 3) ? 1 : 1 + gsl_rng_uniform(rng);
	}
	for (unsigned i = 0; i < w->flows; i++) {
		struct mc_flow_spec *spec = &w->job[i].spec;

		spec->ahead = gsl_rng_uniform_int(rng, 2) ? 1e6 * gsl_rng_uniform(rng) : 0;
		spec->far[0] = (uint32_t)gsl_rng_uniform_int(rng, 3);
		spec->far[1] = (uint32_t)gsl_rng_uniform_int(rng, 5);
	}
	gsl_rng_free(rng);
}

/* Peers of a link, by whoever has a rate on it; 1 where there are none. */
static unsigned peers(struct world *w, unsigned l)
{
	unsigned seen = 0, n = 0;

	for (unsigned i = 0; i < w->flows; i++) {
		const struct job *j = &w->job[i];
		unsigned peer = 1u << j->spec.far[l >= w->links / 2];

		for (uint32_t k = 0; k < j->spec.n_links && j->running; k++)
			if (j->spec.link[k] == l && !(seen & peer) && mc_net_flow_rate(w->net, j->id) > 0) {
				seen |= peer;
				n++;
			}
	}
	return n ? n : 1;
}

static void open_world(struct world *w)
{
	mc_loop_init(&w->loop);
	w->net = mc_net_new(&w->loop, 3);
	for (unsigned l = 0; l < w->links; l++) {
		mc_net_link_add(w->net, w->initial[l]);
		if (w->contended)
			mc_net_link_contend(w->net, l, l >= w->links / 2, w->loss[l], w->room[l]);
		w->capacity[l] = w->initial[l];
		w->seen[l] = 0;
	}
	for (unsigned i = 0; i < w->turns; i++) {
		w->turn[i].w = w;
		mc_event_init(&w->turn[i].ev, 2, turn);
		mc_loop_at(&w->loop, &w->turn[i].ev, w->turn[i].at);
	}
	for (unsigned i = 0; i < w->flows; i++) {
		struct job *j = &w->job[i];

		j->w = w;
		j->end = -1;
		j->cancelled = false;
		j->sent = j->spec.bytes;
		j->spec.done = job_done;
		j->spec.arg = j;
		mc_event_init(&j->start, 1, job_start);
		mc_loop_at(&w->loop, &j->start, j->begin);
		mc_event_init(&j->stop, 4, job_stop);
		if (j->cancel < MC_TIME_MAX)
			mc_loop_at(&w->loop, &j->stop, j->cancel);
	}
}

static void close_world(struct world *w)
{
	for (unsigned l = 0; l < w->links; l++) {
		double want = 0;

		for (unsigned i = 0; i < w->flows; i++)
			for (uint32_t k = 0; k < w->job[i].spec.n_links; k++)
				want += w->job[i].spec.link[k] == l ? w->job[i].sent : 0;
		if (w->turns)
			ck_assert_double_eq_tol(mc_net_link_bytes(w->net, l), want, 1e-12 * want + 1e-9);
		else
			ck_assert_double_eq(mc_net_link_bytes(w->net, l), want);
		ck_assert_uint_eq(mc_net_link_flows(w->net, l), 0);
	}
	mc_net_free(w->net);
	mc_loop_fini(&w->loop);
}

static double supply(const struct job *j)
{
	return (j->spec.bytes - j->spec.head - j->spec.tail) / mc_time_to_s(j->spec.produce_end - j->begin);
}

static double weight(const struct job *j)
{
	return j->spec.weight > 0 ? j->spec.weight : 1;
}

/* Every link is full, or lets its flows have all of another one; it has what its peers leave of it. */
static void check_contended(struct world *w)
{
	double used[LINKS] = {0}, left[LINKS];

	for (unsigned l = 0; l < w->links; l++)
		left[l] = w->capacity[l] * fmin(1, w->room[l] / (1 + w->loss[l] * (peers(w, l) - 1)));
	for (unsigned i = 0; i < w->flows; i++)
		for (uint32_t k = 0; w->job[i].running && k < w->job[i].spec.n_links; k++)
			used[w->job[i].spec.link[k]] += mc_net_flow_rate(w->net, w->job[i].id);
	for (unsigned l = 0; l < w->links; l++)
		must(used[l] <= left[l] * (1 + 1e-9));
	for (unsigned i = 0; i < w->flows; i++) {
		const struct job *j = &w->job[i];
		bool full = !j->running || mc_net_flow_rate(w->net, j->id) == 0;

		for (uint32_t k = 0; k < j->spec.n_links; k++)
			full |= used[j->spec.link[k]] >= left[j->spec.link[k]] * (1 - 1e-9);
		must(full);
	}
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

/* Carried bytes never shrink, and never exceed what the link can carry. */
static void check_bytes(struct world *w)
{
	for (unsigned l = 0; l < w->links; l++) {
		double bytes = mc_net_link_bytes(w->net, l);
		/* Ends are rounded up to whole nanoseconds: each may shift a few bytes in time. */
		double slack = w->largest[l] * 1e-9 * 4 * w->flows;

		must(bytes >= w->seen[l] * (1 - 1e-12));
		must(bytes <= w->largest[l] * mc_time_to_s(w->loop.now) + slack);
		w->seen[l] = bytes;
	}
}

static void check_ends(const struct world *w)
{
	for (unsigned i = 0; i < w->flows; i++) {
		const struct job *j = &w->job[i];
		double narrow = INFINITY;
		mc_time least = j->begin + j->spec.startup;

		ck_assert(!j->running);
		if (j->cancelled) {
			ck_assert_int_eq(j->end, j->cancel);
			continue;
		}

		for (uint32_t k = 0; k < j->spec.n_links; k++)
			narrow = fmin(narrow, w->largest[j->spec.link[k]]);
		least += (mc_time)(j->spec.bytes / narrow * 1e9 - 1e-3);
		ck_assert_int_ge(j->end, least);
		if (j->spec.produce_end > j->begin) {
			least = j->spec.produce_end + (mc_time)(j->spec.tail / narrow * 1e9 - 1e-3);
			ck_assert_int_ge(j->end, least);
		}
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

/* The same with contention, and with something ahead of the bytes; all is there at once. */
START_TEST(fair_where_peers_contend)
{
	static struct world w;
	struct mc_err err = {0};

	for (uint64_t seed = 900; seed < 940; seed++) {
		draw(&w, seed, seed % 2 ? 4 : 12, 40, (mc_time)(5 + seed % 7 * 20) * MC_NS_PER_MS);
		contend(&w, seed);
		for (unsigned i = 0; i < w.flows; i++)
			w.job[i].spec.head = w.job[i].spec.tail = (double)(w.job[i].spec.produce_end = 0);
		open_world(&w);
		while (mc_loop_step(&w.loop)) {
			if (mc_net_check(w.net, &err))
				ck_abort_msg("seed %d: %s", (int)seed, err.text);
			check_contended(&w);
			check_bytes(&w);
		}
		check_ends(&w);
		close_world(&w);
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
		if (seed % 2)
			contend(&w, seed);
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
	tcase_add_test(t, fair_where_peers_contend);
	tcase_add_test(t, fair_on_wide_nets);
	tcase_add_test(t, ends_agree_with_small_steps);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
