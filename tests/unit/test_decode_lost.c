/* Decode nodes that are lost: all requests are handed back, and what was done by then stays. */
#include "decode_sim.h"

static void ignore(void *arg, struct mc_decode_job *job)
{
	(void)arg;
	(void)job;
}

/* Lost in the middle: every job is handed back once or has finished, with all tokens accounted for. */
static void lose(struct sim *s, mc_time at)
{
	int64_t made = 0, segments = 0;
	int back = 0;
	struct mc_decode_job *job;

	mc_loop_run(&s->loop, at);
	s->loop.now = at;
	mc_decode_halt(&s->node);
	for (int i = 0; i < s->n; i++) /* announcements go on, nothing arrives any more */
		mc_loop_cancel(&s->loop, &s->feed[i].arrive);
	mc_loop_run(&s->loop, at + 100000000);
	for (job = mc_decode_clear(&s->node); job; job = job->next) {
		struct feed *f = mc_container_of(job, struct feed, job);

		ck_assert(f->end == 0 && job->made < f->remaining && (job->made == 0 || job->first > 0));
		f->end = -1;
		made += job->made;
		back++;
	}
	for (int i = 0; i < s->n; i++) {
		ck_assert(s->feed[i].end <= at);
		made += s->feed[i].end > 0 ? s->feed[i].remaining : 0;
		back += mc_event_pending(&s->feed[i].announce) || s->feed[i].end > 0;
		back += s->feed[i].withdrawn && s->feed[i].at <= at;
		mc_loop_cancel(&s->loop, &s->feed[i].announce);
	}
	for (size_t k = 0; k < s->node.segments.n; k++)
		segments += (int64_t)s->node.segments.at[k].count * s->node.segments.at[k].batch;
	ck_assert_int_eq(segments, made);
	ck_assert_int_eq(back, s->n);
	ck_assert_ptr_null(mc_decode_clear(&s->node));
	ck_assert_uint_eq(s->loop.n, 0);
}

static void same_segments(const struct mc_segments *a, const struct mc_segments *b)
{
	ck_assert_uint_eq(a->n, b->n);
	ck_assert(!a->n || !memcmp(a->at, b->at, a->n * sizeof *a->at));
}

START_TEST(lost_node)
{
	struct mc_cost cost = plain_cost();
	static struct sim fast, slow, cut, fresh;

	cost.kv_bytes = 2000;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		struct mc_decode_params p = {seed % 3 ? 20000 : 100000, seed % 4 ? 0 : 6, true};
		mc_time at = (mc_time)(seed * seed * 300001);
		struct mc_decode_job a = {.context = 500, .remaining = 40, .counted = true}, b = a;

		sim_start(&cut, seed, &cost, p);
		mc_loop_run(&cut.loop, at);
		cut.loop.now = at;
		mc_decode_stop(&cut.node);
		sim_start(&fast, seed, &cost, p);
		lose(&fast, at);
		p.fast_forward = false;
		sim_start(&slow, seed, &cost, p);
		lose(&slow, at);
		same_segments(&fast.node.segments, &cut.node.segments);
		same_segments(&fast.node.segments, &slow.node.segments);
		ck_assert_int_eq(fast.node.busy, cut.node.busy);
		for (int i = 0; i < fast.n; i++)
			ck_assert_uint_eq(fast.feed[i].job.made, slow.feed[i].job.made);
		/* It serves again, as a new one. */
		memset(&fresh, 0, sizeof fresh);
		mc_loop_init(&fresh.loop);
		mc_decode_init(&fresh.node, &fresh.loop, &cost, &p, &(struct mc_decode_ops){NULL, NULL});
		fast.node.ops.finished = fresh.node.ops.finished = ignore;
		mc_decode_announce(&fast.node, &a);
		mc_decode_arrive(&fast.node, &a);
		mc_loop_run(&fast.loop, MC_TIME_MAX);
		mc_decode_announce(&fresh.node, &b);
		mc_decode_arrive(&fresh.node, &b);
		mc_loop_run(&fresh.loop, MC_TIME_MAX);
		ck_assert_int_eq(fast.loop.now - a.arrived, fresh.loop.now);
		ck_assert_int_eq(mc_decode_tbt(&fast.node, &a), mc_decode_tbt(&fresh.node, &b));
		sim_fini(&fast);
		sim_fini(&slow);
		sim_fini(&cut);
		sim_fini(&fresh);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("decode_lost");
	TCase *t = tcase_create("decode_lost");

	tcase_add_test(t, lost_node);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
