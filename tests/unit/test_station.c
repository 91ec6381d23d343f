/*
 * The event engine and the flows against closed forms of queueing theory: a first-come first-served station
 * of c servers on the loop, and processor sharing as flows on one link (Kleinrock, Queueing Systems, volumes
 * 1 and 2).
 *
 * Every figure is the mean over independent runs; the closed form must lie in its 99 % interval, and the same
 * form at a load that is off by 10 % must not.
 */
#include "unit.h"

#include <gsl/gsl_randist.h>
#include <math.h>
#include <string.h>

#include "des/stream.h"
#include "net/flow.h"
#include "stat/ci.h"

#define RUNS    12
#define WARM    5000
#define JOBS    30000
#define SERVERS 4
#define LINK    1e9 /* bytes/s of the shared link */

enum law { EXPONENTIAL, CONSTANT, HYPER, LOGNORMAL };

/* Mean service 1 ms. HYPER: 0.9 of the jobs 0.5 ms, 0.1 of them 5.5 ms on average. LOGNORMAL: sigma^2 = 1. */
struct setting {
	enum law law;
	unsigned servers; /* 0: processor sharing */
	double load;      /* of one server */
};

/* E[S^2] / E[S]^2 of a law. */
static const double moment2[] = {2, 1, 2 * (0.9 * 0.25 + 0.1 * 30.25), M_E};

struct queue;

struct server {
	struct mc_event end;
	struct queue *q;
};

struct job {
	struct queue *q;
	mc_time arrive, service, wait, stay;
};

struct queue {
	struct mc_loop loop;
	struct mc_event arrival;
	struct setting set;
	struct mc_net *net;
	gsl_rng *gap, *size;
	struct server server[SERVERS];
	unsigned idle[SERVERS], n_idle;
	size_t arrived, begun;
	mc_time busy, end;
	struct job job[WARM + JOBS];
};

static double draw_ms(enum law law, gsl_rng *rng)
{
	switch (law) {
	case CONSTANT:
		return 1;
	case HYPER:
		return gsl_ran_exponential(rng, gsl_rng_uniform(rng) < 0.9 ? 0.5 : 5.5);
	case LOGNORMAL:
		return gsl_ran_lognormal(rng, -0.5, 1);
	default:
		return gsl_ran_exponential(rng, 1);
	}
}

static void begin_next(struct queue *q)
{
	while (q->n_idle && q->begun < q->arrived) {
		struct job *j = &q->job[q->begun++];

		j->wait = q->loop.now - j->arrive;
		j->stay = j->wait + j->service;
		q->busy += j->service;
		mc_loop_at(&q->loop, &q->server[q->idle[--q->n_idle]].end, q->loop.now + j->service);
	}
}

static void served(struct mc_loop *loop, struct mc_event *ev)
{
	struct server *s = mc_container_of(ev, struct server, end);

	(void)loop;
	s->q->idle[s->q->n_idle++] = (unsigned)(s - s->q->server);
	begin_next(s->q);
}

static void sent(void *arg, uint32_t flow)
{
	struct job *j = arg;

	(void)flow;
	j->stay = j->q->loop.now - j->arrive;
}

static void arrive(struct mc_loop *loop, struct mc_event *ev)
{
	struct queue *q = mc_container_of(ev, struct queue, arrival);
	struct job *j = &q->job[q->arrived++];
	double ms = draw_ms(q->set.law, q->size),
	       per_ms = q->set.load * (q->set.servers ? q->set.servers : 1);

	*j = (struct job){.q = q, .arrive = loop->now, .service = mc_time_from_s(ms * 1e-3)};
	if (q->set.servers) {
		begin_next(q);
	} else {
		struct mc_flow_spec spec = {.n_links = 1, .bytes = ms * 1e-3 * LINK, .done = sent, .arg = j};

		mc_net_flow_start(q->net, &spec);
	}
	if (q->arrived < WARM + JOBS)
		mc_loop_at(loop, ev,
			   loop->now + mc_time_from_s(gsl_ran_exponential(q->gap, 1 / per_ms) * 1e-3));
}

static void run(struct queue *q, struct setting set, uint64_t seed)
{
	memset(q, 0, sizeof *q);
	q->set = set;
	mc_loop_init(&q->loop);
	q->net = mc_net_new(&q->loop, 1);
	mc_net_link_add(q->net, LINK);
	q->gap = mc_stream_new(seed, "gap", 0);
	q->size = mc_stream_new(seed, "size", 0);
	for (unsigned i = 0; i < set.servers; i++) {
		q->server[i].q = q;
		q->idle[q->n_idle++] = i;
		mc_event_init(&q->server[i].end, 0, served);
	}
	mc_event_init(&q->arrival, 1, arrive);
	mc_loop_at(&q->loop, &q->arrival, 0);
	mc_loop_run(&q->loop, MC_TIME_MAX);
	q->end = q->loop.now;
	gsl_rng_free(q->gap);
	gsl_rng_free(q->size);
	mc_net_free(q->net);
	mc_loop_fini(&q->loop);
}

enum figure { WAIT_MS, STAY_MS, SLOWDOWN, BUSY };

static double figure_of(const struct queue *q, enum figure what)
{
	double sum = 0;

	if (what == BUSY)
		return (double)q->busy / (double)q->end / q->set.servers;
	for (size_t i = WARM; i < WARM + JOBS; i++) {
		const struct job *j = &q->job[i];

		sum += what == WAIT_MS ? (double)j->wait * 1e-6 : (double)j->stay * 1e-6;
		if (what == SLOWDOWN)
			sum += (double)j->stay / (double)j->service - (double)j->stay * 1e-6;
	}
	return sum / JOBS;
}

/* What the run gives: figure `what` over RUNS seeds. */
static struct mc_ci measure(struct setting set, enum figure what)
{
	static struct queue q;
	double mean[RUNS];
	struct mc_ci ci;

	for (uint64_t seed = 0; seed < RUNS; seed++) {
		run(&q, set, seed);
		mean[seed] = figure_of(&q, what);
	}
	mc_ci_mean(mean, RUNS, 0.99, &ci);
	return ci;
}

/* form(set) is in the interval, the interval is no wider than +-6 %, and the load off by 10 % is outside. */
static void hold(struct setting set, enum figure what, double (*form)(struct setting))
{
	struct mc_ci ci = measure(set, what);
	struct setting less = set, more = set;

	less.load *= 0.9;
	more.load *= 1.1;
	ck_assert_double_le(fabs(form(set) - ci.mean), ci.half);
	ck_assert_double_le(ci.half, 0.06 * ci.mean);
	ck_assert_double_gt(fabs(form(less) - ci.mean), ci.half);
	ck_assert_double_gt(fabs(form(more) - ci.mean), ci.half);
}

/* Pollaczek and Khinchine: W = load E[S^2] / (2 E[S] (1 - load)). Of M/M/1 and M/D/1 too. */
static double form_pk(struct setting set)
{
	return set.load * moment2[set.law] / (2 * (1 - set.load));
}

/* Erlang's C, by the recursion of Erlang's B; then W = C E[S] / (c (1 - load)). */
static double form_erlang_c(struct setting set)
{
	double a = set.load * set.servers, b = 1, c;

	for (unsigned n = 1; n <= set.servers; n++)
		b = a * b / (n + a * b);
	c = b / (1 - set.load * (1 - b));
	return c / (set.servers * (1 - set.load));
}

/* Processor sharing: a job of length x stays x / (1 - load) on average, whatever the law. */
static double form_ps(struct setting set)
{
	return 1 / (1 - set.load);
}

static double form_load(struct setting set)
{
	return set.load;
}

START_TEST(mm1_md1_mg1_wait)
{
	hold((struct setting){EXPONENTIAL, 1, 0.6}, WAIT_MS, form_pk);
	hold((struct setting){CONSTANT, 1, 0.7}, WAIT_MS, form_pk);
	hold((struct setting){HYPER, 1, 0.5}, WAIT_MS, form_pk);
	hold((struct setting){LOGNORMAL, 1, 0.5}, WAIT_MS, form_pk);
}
END_TEST

START_TEST(mmc_wait)
{
	hold((struct setting){EXPONENTIAL, 2, 0.6}, WAIT_MS, form_erlang_c);
	hold((struct setting){EXPONENTIAL, 4, 0.7}, WAIT_MS, form_erlang_c);
	hold((struct setting){EXPONENTIAL, 1, 0.6}, WAIT_MS, form_erlang_c);
}
END_TEST

START_TEST(busy_ratio_is_the_load)
{
	hold((struct setting){HYPER, 3, 0.5}, BUSY, form_load);
	hold((struct setting){CONSTANT, 1, 0.8}, BUSY, form_load);
}
END_TEST

START_TEST(flows_are_processor_sharing)
{
	hold((struct setting){EXPONENTIAL, 0, 0.6}, STAY_MS, form_ps);
	hold((struct setting){CONSTANT, 0, 0.6}, STAY_MS, form_ps);
	hold((struct setting){HYPER, 0, 0.5}, STAY_MS, form_ps);
	hold((struct setting){HYPER, 0, 0.5}, SLOWDOWN, form_ps);
	hold((struct setting){LOGNORMAL, 0, 0.6}, SLOWDOWN, form_ps);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("station");
	TCase *t = tcase_create("station");

	tcase_add_test(t, mm1_md1_mg1_wait);
	tcase_add_test(t, mmc_wait);
	tcase_add_test(t, busy_ratio_is_the_load);
	tcase_add_test(t, flows_are_processor_sharing);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
