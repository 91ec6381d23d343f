/* Random flows on random nets, some cancelled on their way, links changing their capacity. */
#ifndef MC_FLOW_WORLD_H
#define MC_FLOW_WORLD_H

#include "unit.h"

#include <gsl/gsl_randist.h>
#include <math.h>

#include "des/stream.h"
#include "net/flow.h"

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
static inline void draw_path(const struct world *w, gsl_rng *rng, bool bipartite, struct mc_flow_spec *spec)
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

static inline void draw_job(const struct world *w, gsl_rng *rng, mc_time span, bool weighted, struct job *j)
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

static inline void draw(struct world *w, uint64_t seed, unsigned links, unsigned flows, mc_time span)
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

static inline void open_world(struct world *w)
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

static inline void close_world(struct world *w)
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

/* Carried bytes never shrink, and never exceed what the link can carry. */
static inline void check_bytes(struct world *w)
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

static inline void check_ends(const struct world *w)
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

#endif
