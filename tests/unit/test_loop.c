#include "unit.h"

#include <string.h>

#include "des/loop.h"
#include "des/stream.h"

#define EVENTS 64

/* Check writes to a pipe for every assertion that holds: too slow inside the scripts. */
#define must(x) ((x) ? (void)0 : ck_abort_msg("%s", #x))

/* The oracle: a plain list, searched for its least (time, kind, number of the scheduling call). */
struct plain {
	bool pending;
	mc_time at;
	uint64_t call;
};

struct probe {
	struct mc_event ev;
	unsigned *last;
	unsigned id;
};

static void note(struct mc_loop *loop, struct mc_event *ev)
{
	struct probe *p = mc_container_of(ev, struct probe, ev);

	(void)loop;
	must(!mc_event_pending(ev));
	*p->last = p->id;
}

static int plain_least(const struct plain *plain, const struct probe *probe)
{
	int least = -1;

	for (int i = 0; i < EVENTS; i++) {
		const struct plain *a = &plain[i], *b = &plain[least < 0 ? i : least];
		int ka = probe[i].ev.kind, kb = probe[least < 0 ? i : least].ev.kind;

		if (!a->pending)
			continue;
		if (least < 0 || a->at < b->at ||
		    (a->at == b->at && (ka < kb || (ka == kb && a->call < b->call))))
			least = i;
	}
	return least;
}

/* One random script of schedule, move, cancel and step; times are coarse, so that ties are common. */
static void script(uint64_t seed, unsigned range)
{
	gsl_rng *rng = mc_stream_new(seed, "script", range);
	struct plain plain[EVENTS] = {0};
	struct probe probe[EVENTS];
	struct mc_loop loop;
	unsigned last = 0, steps = 0;

	mc_loop_init(&loop);
	for (unsigned i = 0; i < EVENTS; i++) {
		probe[i] = (struct probe){.last = &last, .id = i};
		mc_event_init(&probe[i].ev, (uint16_t)gsl_rng_uniform_int(rng, 3), note);
	}
	for (uint64_t call = 0; call < 5000; call++) {
		unsigned i = (unsigned)gsl_rng_uniform_int(rng, EVENTS);
		unsigned what = (unsigned)gsl_rng_uniform_int(rng, 10);

		if (what < 5) {
			plain[i] =
			    (struct plain){true, loop.now + (mc_time)gsl_rng_uniform_int(rng, range), call};
			mc_loop_at(&loop, &probe[i].ev, plain[i].at);
		} else if (what < 6) {
			plain[i].pending = false;
			mc_loop_cancel(&loop, &probe[i].ev);
		} else {
			int want = plain_least(plain, probe);

			must(mc_loop_step(&loop) == (want >= 0));
			if (want < 0)
				continue;
			must(last == (unsigned)want);
			must(loop.now == plain[want].at);
			plain[want].pending = false;
			must(loop.fired == ++steps);
		}
		must(mc_event_pending(&probe[i].ev) == plain[i].pending);
		if (plain[i].pending)
			must(mc_loop_when(&loop, &probe[i].ev) == plain[i].at);
	}
	mc_loop_fini(&loop);
	gsl_rng_free(rng);
}

START_TEST(heap_agrees_with_plain_list)
{
	static const unsigned range[] = {1, 3, 50, 1000000};

	for (uint64_t seed = 0; seed < 20; seed++)
		for (size_t i = 0; i < sizeof range / sizeof *range; i++)
			script(seed, range[i]);
}
END_TEST

struct log {
	struct mc_event ev;
	char **tail;
	char name;
};

static void append(struct mc_loop *loop, struct mc_event *ev)
{
	struct log *l = mc_container_of(ev, struct log, ev);

	(void)loop;
	*(*l->tail)++ = l->name;
}

START_TEST(ties_by_kind_then_order)
{
	static const struct {
		char name;
		uint16_t kind;
		mc_time at;
	} in[] = {{'f', 2, 5}, {'c', 1, 5},          {'a', 9, 4}, {'d', 1, 5},
		  {'b', 0, 5}, {'g', UINT16_MAX, 5}, {'e', 1, 5}};
	struct log log[7];
	struct mc_loop loop;
	char text[9] = "", *tail = text;

	mc_loop_init(&loop);
	for (size_t i = 0; i < 7; i++) {
		log[i] = (struct log){.tail = &tail, .name = in[i].name};
		mc_event_init(&log[i].ev, in[i].kind, append);
		mc_loop_at(&loop, &log[i].ev, in[i].at);
	}
	/* Moving an event to its own time puts it behind its equals. */
	mc_loop_at(&loop, &log[1].ev, 5);
	mc_loop_run(&loop, 10);
	ck_assert_str_eq(text, "abdecfg");
	ck_assert_int_eq(loop.now, 5);
	mc_loop_fini(&loop);
}
END_TEST

struct clock {
	struct mc_event ev;
	mc_time period;
	int left;
};

static void tick(struct mc_loop *loop, struct mc_event *ev)
{
	struct clock *c = mc_container_of(ev, struct clock, ev);

	if (--c->left)
		mc_loop_at(loop, ev, loop->now + c->period);
	else
		loop->stop = true;
}

START_TEST(handlers_reschedule_and_stop)
{
	struct clock a = {.period = 10, .left = 5}, b = {.period = 7, .left = 100};
	struct mc_loop loop;

	mc_loop_init(&loop);
	mc_event_init(&a.ev, 0, tick);
	mc_event_init(&b.ev, 0, tick);
	mc_loop_at(&loop, &a.ev, 10);
	mc_loop_at(&loop, &b.ev, 7);
	mc_loop_run(&loop, 20); /* b at 7 and 14, a at 10 and 20 */
	ck_assert_int_eq(loop.now, 20);
	ck_assert_uint_eq(loop.fired, 4);
	mc_loop_run(&loop, 20);
	ck_assert_uint_eq(loop.fired, 4);
	mc_loop_run(&loop, MC_TIME_MAX); /* until a stops it at 50 */
	ck_assert_int_eq(loop.now, 50);
	ck_assert_int_eq(a.left, 0);
	ck_assert_int_eq(b.left, 100 - 7);
	mc_loop_run(&loop, MC_TIME_MAX); /* the stop is forgotten, b goes on to its end */
	ck_assert_int_eq(b.left, 0);
	ck_assert_int_eq(loop.now, 700);
	ck_assert(!mc_loop_step(&loop));
	mc_loop_fini(&loop);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("loop");
	TCase *t = tcase_create("loop");

	tcase_add_test(t, heap_agrees_with_plain_list);
	tcase_add_test(t, ties_by_kind_then_order);
	tcase_add_test(t, handlers_reschedule_and_stop);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
