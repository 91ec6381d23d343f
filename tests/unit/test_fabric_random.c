/*
 * Random fabrics and transfers: lumped NICs give the times of single ones; and with random faults no byte is
 * lost or sent twice but those in slices under way, everyone is told once, nobody waits for ever.
 */
#include "unit.h"

#include <gsl/gsl_randist.h>
#include <math.h>

#include "des/stream.h"
#include "net/fabric.h"

#define ENDS  10
#define JOBS  120
#define BLOWS 60

/* Check writes to a pipe for every assertion that holds: too slow inside these loops. */
#define must(x) ((x) ? (void)0 : ck_abort_msg("seed %d: %s", seed_now, #x))
static int seed_now;

struct job {
	struct mc_event start, stop;
	struct world *w;
	struct mc_transfer_spec spec;
	mc_time begin, cancel, end; /* cancel: 0: never */
	uint32_t id;
	int done, failed, cancelled;
};

enum blow_kind { NIC, ENDPOINT, SLOW };

/* A fault, or its end. */
struct blow {
	struct mc_event ev;
	struct world *w;
	mc_time at;
	enum blow_kind kind;
	uint32_t what, nic;
	double factor;
	bool up;
};

struct world {
	struct mc_loop loop;
	struct mc_fabric *f;
	struct mc_fabric_params params;
	double speed[2][8];
	struct mc_node node[2];
	struct mc_fabric_endpoint end[ENDS];
	uint32_t ends, jobs, blows;
	bool ever_down[ENDS], loss; /* loss: endpoints go down */
	struct job job[JOBS];
	struct blow blow[BLOWS];
};

static void job_done(void *arg, uint32_t id)
{
	struct job *j = arg;

	must(j->id == id && !j->done && !j->failed && !j->cancelled);
	j->done++;
	j->end = j->w->loop.now;
}

static void job_failed(void *arg, uint32_t id)
{
	struct job *j = arg;

	must(j->id == id && !j->done && !j->failed && !j->cancelled);
	must(!mc_fabric_endpoint_up(j->w->f, j->spec.from) || !mc_fabric_endpoint_up(j->w->f, j->spec.to) ||
	     j->begin == j->w->loop.now);
	must(j->w->ever_down[j->spec.from] || j->w->ever_down[j->spec.to]);
	j->failed++;
	j->end = j->w->loop.now;
}

static void job_start(struct mc_loop *loop, struct mc_event *ev)
{
	struct job *j = mc_container_of(ev, struct job, start);

	(void)loop;
	j->id = mc_fabric_start(j->w->f, &j->spec);
}

static void job_stop(struct mc_loop *loop, struct mc_event *ev)
{
	struct job *j = mc_container_of(ev, struct job, stop);
	double arrived;

	(void)loop;
	if (j->done || j->failed)
		return;
	j->cancelled = 1;
	arrived = mc_fabric_cancel(j->w->f, j->id);
	must(arrived >= 0 && arrived <= j->spec.bytes);
}

static void strike(struct mc_loop *loop, struct mc_event *ev)
{
	struct blow *b = mc_container_of(ev, struct blow, ev);
	struct world *w = b->w;

	(void)loop;
	if (b->kind == NIC)
		mc_fabric_nic_set(w->f, b->what, b->nic, b->up);
	else if (b->kind == SLOW)
		mc_fabric_link_scale(w->f, b->what % mc_fabric_links(w->f), b->up ? 1 : b->factor);
	if (b->kind != ENDPOINT)
		return;
	w->ever_down[b->what] |= !b->up;
	mc_fabric_endpoint_set(w->f, b->what, b->up);
}

static double draw_speed(gsl_rng *rng)
{
	static const double speed[] = {25e9, 12.5e9, 50e9, 23e9};

	return speed[gsl_rng_uniform_int(rng, 4)];
}

static void draw_node(struct world *w, gsl_rng *rng, int k, bool lumps)
{
	struct mc_node *node = &w->node[k];
	bool mixed = !lumps && gsl_rng_uniform_int(rng, 2);
	double speed = draw_speed(rng), sum = 0;

	*node = (struct mc_node){.nics = 1 << gsl_rng_uniform_int(rng, 4), .gpus = 8};
	if (!lumps || !gsl_rng_uniform_int(rng, 3))
		node->nics = 1 + (uint32_t)gsl_rng_uniform_int(rng, 8);
	node->sockets = 1 + (uint32_t)gsl_rng_uniform_int(rng, 2);
	node->switches = node->sockets * (1 + (uint32_t)gsl_rng_uniform_int(rng, 2));
	node->nic_bytes_per_s = w->speed[k];
	for (uint32_t i = 0; i < node->nics; i++)
		sum += w->speed[k][i] = mixed ? draw_speed(rng) : speed;
	if (gsl_rng_uniform_int(rng, 3) == 0)
		node->host_bytes_per_s = sum * (0.3 + gsl_rng_uniform(rng));
	if (gsl_rng_uniform_int(rng, 3) == 0)
		node->switch_bytes_per_s = sum / node->switches * (0.5 + gsl_rng_uniform(rng));
	if (gsl_rng_uniform_int(rng, 4) == 0)
		node->socket_bytes_per_s = sum * (lumps ? 1 : 0.1 + gsl_rng_uniform(rng));
}

static void draw_job(const struct world *w, gsl_rng *rng, mc_time span, struct job *j)
{
	static const double tail[] = {0, 0, 0.0125, 0.3, 1};

	j->begin = MC_NS_PER_US * 500 * (mc_time)gsl_rng_uniform_int(rng, (unsigned long)(span / 500000) + 1);
	j->spec.from = (uint32_t)gsl_rng_uniform_int(rng, w->ends);
	j->spec.to = (j->spec.from + 1 + (uint32_t)gsl_rng_uniform_int(rng, w->ends - 1)) % w->ends;
	j->spec.bytes = floor(exp(gsl_ran_flat(rng, log(1e6), log(3e9))));
	if (gsl_rng_uniform_int(rng, 25) == 0)
		j->spec.bytes = (double)gsl_rng_uniform_int(rng, 4);
	if (gsl_rng_uniform_int(rng, 2))
		j->spec.startup = (mc_time)gsl_rng_uniform_int(rng, 1000000);
	if (gsl_rng_uniform_int(rng, 3)) {
		j->spec.produce_end = j->begin + (mc_time)gsl_rng_uniform_int(rng, 60000000);
		j->spec.tail = j->spec.bytes * tail[gsl_rng_uniform_int(rng, 5)];
	}
}

/* lumps: mostly nodes whose NICs are alike, for which AUTO finds a coarser grain. */
static void draw(struct world *w, gsl_rng *rng, bool lumps, uint32_t jobs, mc_time span)
{
	static const char *const name[ENDS] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};

	*w = (struct world){.ends = 2 + (uint32_t)gsl_rng_uniform_int(rng, ENDS - 1), .jobs = jobs};
	w->params = (struct mc_fabric_params){.event_kind = 3,
					      .use = {{MC_MEMORY_STRIPED, 0}, gsl_rng_uniform_int(rng, 2)},
					      .slice_bytes = 1 + (double)gsl_rng_uniform_int(rng, 1 << 20),
					      .failover = (mc_time)gsl_rng_uniform_int(rng, 5000000),
					      .oversubscription = 1 + 3 * gsl_rng_uniform(rng)};
	if (gsl_rng_uniform_int(rng, 3) == 0) {
		w->params.slice_s = 1e-6 * gsl_rng_uniform(rng);
		w->params.request_s = 1e-3 * gsl_rng_uniform(rng);
		w->params.peer_loss = 0.3 * gsl_rng_uniform(rng);
		w->params.duplex = 1 + gsl_rng_uniform(rng);
	}
	if (gsl_rng_uniform_int(rng, 2))
		w->params.rack_nodes = 1 + (uint32_t)gsl_rng_uniform_int(rng, 4);
	w->params.rack_dealt = gsl_rng_uniform_int(rng, 2);
	for (int k = 0; k < 2; k++)
		draw_node(w, rng, k, lumps);
	for (uint32_t e = 0; e < w->ends; e++)
		w->end[e] = (struct mc_fabric_endpoint){
		    name[e], gsl_rng_uniform_int(rng, 3) ? 1 : 1 + (uint32_t)gsl_rng_uniform_int(rng, 4),
		    &w->node[gsl_rng_uniform_int(rng, 2)]};
	for (uint32_t i = 0; i < jobs; i++)
		draw_job(w, rng, span, &w->job[i]);
}

/* Faults in pairs, down and up; a NIC that is down for two reasons comes up with the first. */
static void draw_blows(struct world *w, gsl_rng *rng, mc_time span)
{
	w->loss = gsl_rng_uniform_int(rng, 2);
	w->params.nic_faults = true;
	w->blows = 2 * (1 + (uint32_t)gsl_rng_uniform_int(rng, BLOWS / 2));
	for (uint32_t i = 0; i < w->blows; i += 2) {
		struct blow *down = &w->blow[i], *up = down + 1;

		*down = (struct blow){.at = (mc_time)gsl_rng_uniform_int(rng, (unsigned long)span),
				      .kind = NIC,
				      .what = (uint32_t)gsl_rng_uniform_int(rng, w->ends)};
		if (gsl_rng_uniform_int(rng, 4) == 0) {
			down->kind = SLOW;
			down->what = (uint32_t)gsl_rng_uniform_int(rng, 1000);
			down->factor = 0.05 + gsl_rng_uniform(rng);
		} else if (w->loss && gsl_rng_uniform_int(rng, 6) == 0) {
			down->kind = ENDPOINT;
		} else {
			down->nic = (uint32_t)gsl_rng_uniform_int(rng, w->end[down->what].node->nics *
									   w->end[down->what].width);
		}
		*up = *down;
		up->up = true;
		up->at += (mc_time)gsl_rng_uniform_int(rng, (unsigned long)span);
	}
	for (uint32_t i = 0; i < w->jobs; i++)
		if (w->loss && gsl_rng_uniform_int(rng, 8) == 0)
			w->job[i].cancel = w->job[i].begin + (mc_time)gsl_rng_uniform_int(rng, 50000000);
}

static void open_world(struct world *w, enum mc_fabric_grain grain)
{
	mc_loop_init(&w->loop);
	w->params.grain = grain;
	w->f = mc_fabric_new(&w->loop, &w->params, w->end, w->ends);
	for (uint32_t e = 0; e < w->ends; e++)
		w->ever_down[e] = false;
	for (uint32_t i = 0; i < w->jobs; i++) {
		struct job *j = &w->job[i];

		j->w = w;
		j->done = j->failed = j->cancelled = 0;
		j->spec.done = job_done;
		j->spec.failed = job_failed;
		j->spec.arg = j;
		mc_event_init(&j->start, 1, job_start);
		mc_loop_at(&w->loop, &j->start, j->begin);
		mc_event_init(&j->stop, 4, job_stop);
		if (j->cancel)
			mc_loop_at(&w->loop, &j->stop, j->cancel);
	}
	for (uint32_t i = 0; i < w->blows; i++) {
		w->blow[i].w = w;
		mc_event_init(&w->blow[i].ev, 2, strike);
		mc_loop_at(&w->loop, &w->blow[i].ev, w->blow[i].at);
	}
}

static void close_world(struct world *w)
{
	mc_fabric_free(w->f);
	mc_loop_fini(&w->loop);
}

START_TEST(lumped_is_unlumped)
{
	static struct world w;
	int coarse[4] = {0};

	for (int seed = seed_now = 0; seed < 300; seed_now = ++seed) {
		gsl_rng *rng = mc_stream_new((uint64_t)seed, "lump", 0);
		uint32_t jobs = 5 + (uint32_t)gsl_rng_uniform_int(rng, 40);
		mc_time end[JOBS];

		draw(&w, rng, true, jobs, 100 * MC_NS_PER_MS);
		open_world(&w, MC_FABRIC_AUTO);
		coarse[mc_fabric_grain(w.f)]++;
		mc_loop_run(&w.loop, MC_TIME_MAX);
		close_world(&w);
		for (uint32_t i = 0; i < jobs; i++)
			end[i] = w.job[i].end;
		open_world(&w, MC_FABRIC_NIC);
		mc_loop_run(&w.loop, MC_TIME_MAX);
		for (uint32_t i = 0; i < jobs; i++) {
			must(w.job[i].done == 1);
			if (llabs(end[i] - w.job[i].end) > 2)
				ck_abort_msg("seed %d, transfer %u ends at %ld, not %ld", seed, i,
					     (long)w.job[i].end, (long)end[i]);
		}
		close_world(&w);
		gsl_rng_free(rng);
	}
	/* Of both coarse kinds there were many. */
	ck_assert_int_gt(coarse[MC_FABRIC_ENDPOINT], 100);
	ck_assert_int_gt(coarse[MC_FABRIC_NODE], 20);
}
END_TEST

/* Nothing was lost on the way, and only what is counted as resent arrived twice. */
static void check_bytes(struct world *w)
{
	double in = 0, want = mc_fabric_resent(w->f);

	for (uint32_t e = 0; e < w->ends; e++) {
		in += mc_fabric_bytes_in(w->f, e);
		must(!mc_fabric_sends(w->f, e) && !mc_fabric_receives(w->f, e));
	}
	for (uint32_t i = 0; i < w->jobs; i++)
		want += w->job[i].done ? w->job[i].spec.bytes : 0;
	if (w->loss)
		must(in >= want * (1 - 1e-12) - 1);
	else
		must(fabs(in - want) <= 1e-9 * want + 1);
}

static void check_times(const struct world *w)
{
	for (uint32_t i = 0; i < w->jobs; i++) {
		const struct job *j = &w->job[i];
		double best = 0;

		must(j->done + j->failed + j->cancelled == 1);
		must(w->loss || j->done);
		if (!j->done)
			continue;
		for (uint32_t n = 0; n < w->end[j->spec.to].node->nics; n++)
			best += w->end[j->spec.to].node->nic_bytes_per_s[n] * w->end[j->spec.to].width;
		/* A slow link may be a fast one for a while: up to 1.05 times. */
		must(mc_time_to_s(j->end - j->begin - j->spec.startup) >=
		     j->spec.bytes / (1.06 * best) - 1e-9);
		must(j->end >= j->spec.produce_end);
	}
}

START_TEST(faults)
{
	static struct world w;
	double resent = 0;
	int failed = 0;

	for (int seed = seed_now = 0; seed < 60; seed_now = ++seed) {
		gsl_rng *rng = mc_stream_new((uint64_t)seed, "faults", 0);
		struct mc_err err = {0};
		mc_time end[JOBS];

		draw(&w, rng, false, JOBS / (1 + seed % 3), 200 * MC_NS_PER_MS);
		draw_blows(&w, rng, 200 * MC_NS_PER_MS);
		/* The same twice: at once, and with checks on the way. */
		open_world(&w, MC_FABRIC_AUTO);
		mc_loop_run(&w.loop, MC_TIME_MAX);
		check_times(&w);
		check_bytes(&w);
		close_world(&w);
		for (uint32_t i = 0; i < w.jobs; i++)
			end[i] = w.job[i].end;
		open_world(&w, MC_FABRIC_AUTO);
		mc_loop_run(&w.loop, MC_TIME_MAX);
		for (uint32_t i = 0; i < w.jobs; i++)
			must(end[i] == w.job[i].end);
		close_world(&w);
		open_world(&w, MC_FABRIC_AUTO);
		while (mc_loop_step(&w.loop))
			if (w.loop.fired % 41 == 0 && mc_fabric_check(w.f, &err))
				ck_abort_msg("seed %d: %s", seed, err.text);
		check_times(&w);
		check_bytes(&w);
		resent += mc_fabric_resent(w.f);
		for (uint32_t i = 0; i < w.jobs; i++)
			failed += w.job[i].failed;
		close_world(&w);
		gsl_rng_free(rng);
	}
	ck_assert_double_gt(resent, 1e6);
	ck_assert_int_gt(failed, 10);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("fabric_random");
	TCase *t = tcase_create("fabric_random");

	tcase_add_test(t, lumped_is_unlumped);
	tcase_add_test(t, faults);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
