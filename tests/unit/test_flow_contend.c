/*
 * Flows on links that lose capacity with the peers at their far ends, and that take some before their first
 * byte: after every event the rates are max-min fair on what is left, and no byte is lost.
 */
#include "flow_world.h"

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

static void nop(struct mc_loop *loop, struct mc_event *ev)
{
	(void)loop;
	(void)ev;
}

/* So that it is that late. */
static void run_to(struct mc_loop *loop, mc_time until)
{
	struct mc_event alarm;

	mc_event_init(&alarm, 1, nop);
	mc_loop_at(loop, &alarm, until);
	mc_loop_run(loop, until);
}

/* By hand: 1 GB/s with 0.25 lost for each peer beyond the first. */
START_TEST(by_hand)
{
	struct mc_loop loop;
	struct mc_flow_spec spec = {.n_links = 1, .bytes = 1e8, .ahead = 2e7};
	struct mc_net *net;
	uint32_t id[4];

	mc_loop_init(&loop);
	net = mc_net_new(&loop, 3);
	mc_net_link_add(net, 1e9);
	mc_net_link_contend(net, 0, 1, 0.25, 1.2);
	for (uint32_t i = 0; i < 4; i++) {
		spec.far[1] = i / 2;
		id[i] = mc_net_flow_start(net, &spec);
		ck_assert_double_eq_tol(mc_net_flow_rate(net, id[0]), (i < 2 ? 1e9 : 0.96e9) / (i + 1), 1);
	}
	ck_assert_double_eq(mc_net_link_capacity(net, 0), 1e9);
	mc_net_link_set_capacity(net, 0, 0.5e9);
	ck_assert_double_eq_tol(mc_net_flow_rate(net, id[0]), 0.12e9, 1);
	/* 0.12 GB each, of which 0.02 GB are no bytes. */
	run_to(&loop, 10 * MC_NS_PER_MS);
	ck_assert_double_eq(mc_net_link_bytes(net, 0), 0);
	run_to(&loop, 500 * MC_NS_PER_MS);
	ck_assert_double_eq_tol(mc_net_link_bytes(net, 0), 4 * (0.12e9 * 0.5 - 2e7), 10);
	ck_assert_double_eq_tol(mc_net_flow_cancel(net, id[2]), 0.12e9 * 0.5 - 2e7, 10);
	ck_assert_double_eq_tol(mc_net_link_rate(net, 0), 0.48e9, 1);
	ck_assert_double_eq_tol(mc_net_flow_cancel(net, id[3]), 0.12e9 * 0.5 - 2e7, 10);
	ck_assert_double_eq_tol(mc_net_link_rate(net, 0), 0.5e9, 1);
	mc_loop_run(&loop, MC_TIME_MAX);
	ck_assert_int_le(llabs(loop.now - 740 * MC_NS_PER_MS), 4);
	mc_net_free(net);
	mc_loop_fini(&loop);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("flow_contend");
	TCase *t = tcase_create("flow_contend");

	tcase_add_test(t, by_hand);
	tcase_add_test(t, fair_where_peers_contend);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
