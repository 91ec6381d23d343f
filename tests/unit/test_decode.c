/* Decode nodes: fast-forwarding equals stepping, and both equal a token-by-token model written without
 * segments. */
#include "decode_sim.h"

static void sim_run(struct sim *s, uint64_t seed, const struct mc_cost *cost, struct mc_decode_params params)
{
	sim_start(s, seed, cost, params);
	mc_loop_run(&s->loop, MC_TIME_MAX);
	ck_assert_int_eq(s->finished, s->n - s->withdrawn);
}

static int descending(const void *a, const void *b)
{
	mc_time x = *(const mc_time *)a, y = *(const mc_time *)b;

	return (x < y) - (x > y);
}

struct oracle_job {
	mc_time admitted, ready, last;
	uint32_t made;
	bool here, joined, done;
	struct {
		MC_VEC(mc_time)
	} gap;
};

struct oracle {
	const struct sim *s;
	const struct mc_cost *cost;
	const struct mc_decode_params *p;
	struct oracle_job job[MAX_JOBS];
	int order[MAX_JOBS], n_order;    /* in order of their loads */
	int queue[MAX_JOBS], head, tail; /* announced, without room */
	int step;                        /* announcements and arrivals done so far, two a job */
	mc_time link, first;             /* first: sum of the first intervals of counted requests */
	int64_t reserved;
};

static void oracle_load(struct oracle *o, int i)
{
	struct oracle_job *j = &o->job[i];
	double s = o->s->feed[i].job.context * o->cost->kv_bytes / o->cost->h2d_bytes_per_s;
	mc_time tail = o->s->feed[i].at + mc_time_from_s(s / (double)o->cost->shape.layers);

	o->link = (o->link > j->admitted ? o->link : j->admitted) + mc_time_from_s(s);
	j->ready = o->link > tail ? o->link : tail;
	o->order[o->n_order++] = i;
}

static void oracle_admit(struct oracle *o, mc_time now)
{
	for (; o->head < o->tail; o->head++) {
		int i = o->queue[o->head];
		int64_t need = (int64_t)o->s->feed[i].job.context + o->s->feed[i].remaining;

		if (o->reserved + need > o->p->kv_tokens)
			return;
		o->reserved += need;
		o->job[i].admitted = now;
		if (o->job[i].here)
			oracle_load(o, i);
	}
}

/* The next announcement or arrival that has not been done, by time, then by number; its time, or "never". */
static mc_time oracle_next(const struct oracle *o, const bool *did, int *which)
{
	mc_time best = MC_TIME_MAX;

	for (int k = 0; k < 2 * o->s->n; k++) {
		mc_time t = k % 2 ? o->s->feed[k / 2].at : o->s->feed[k / 2].announced;

		if (!did[k] && t < best) {
			best = t;
			*which = k;
		}
	}
	return best;
}

static void oracle_withdraw(struct oracle *o, int i, mc_time now)
{
	int kept = o->head;

	o->job[i].done = true;
	if (o->job[i].admitted >= 0)
		o->reserved -= (int64_t)o->s->feed[i].job.context + o->s->feed[i].remaining;
	for (int k = o->head; k < o->tail; k++)
		if (o->queue[k] != i)
			o->queue[kept++] = o->queue[k];
	o->tail = kept;
	oracle_admit(o, now);
}

static void oracle_pump(struct oracle *o, bool *did, mc_time until)
{
	int k = 0;
	mc_time t;

	while ((t = oracle_next(o, did, &k)) <= until && t < MC_TIME_MAX) {
		did[k] = true;
		if (k % 2 == 0) {
			o->queue[o->tail++] = k / 2;
			o->job[k / 2].admitted = -1;
			oracle_admit(o, t);
		} else if (o->s->feed[k / 2].withdrawn) {
			oracle_withdraw(o, k / 2, t);
		} else {
			o->job[k / 2].here = true;
			o->job[k / 2].last = t;
			if (o->job[k / 2].admitted >= 0)
				oracle_load(o, k / 2);
		}
	}
}

/* Who is in the batch of the iteration that starts now? Returns how many, their context, and when the next
 * could join. */
static int64_t oracle_join(struct oracle *o, mc_time now, int64_t *context, mc_time *next)
{
	int64_t batch = 0;
	int members = 0;

	*context = 0;
	*next = MC_TIME_MAX;
	for (int k = 0; k < o->n_order; k++)
		members += o->job[o->order[k]].joined && !o->job[o->order[k]].done;
	for (;;) { /* in the order in which they became ready */
		struct oracle_job *first = NULL;

		for (int k = 0; k < o->n_order; k++) {
			struct oracle_job *j = &o->job[o->order[k]];

			if (!j->done && !j->joined && (!first || j->ready < first->ready))
				first = j;
		}
		if (!first)
			break;
		if (first->ready > now || (o->p->max_batch && members >= o->p->max_batch)) {
			*next = first->ready;
			break;
		}
		first->joined = true;
		members++;
	}
	for (int k = 0; k < o->n_order; k++) {
		struct oracle_job *j = &o->job[o->order[k]];

		if (j->joined && !j->done) {
			batch++;
			*context += o->s->feed[o->order[k]].job.context + j->made;
		}
	}
	return batch;
}

/* One iteration at a time over plain arrays. */
static void oracle_run(struct oracle *o)
{
	bool did[2 * MAX_JOBS] = {0};
	mc_time now = 0, next;
	int64_t context;
	int done = o->s->withdrawn, k = 0;

	while (done < o->s->n) {
		int64_t batch;

		oracle_pump(o, did, now);
		oracle_admit(o, now);
		batch = oracle_join(o, now, &context, &next);
		if (!batch) {
			mc_time feed = oracle_next(o, did, &k);

			now = feed < next ? feed : next;
			ck_assert(now < MC_TIME_MAX);
			continue;
		}
		now += mc_cost_decode_ns(o->cost, batch, context);
		oracle_pump(o, did, now);
		for (int i = 0; i < o->s->n; i++) {
			struct oracle_job *j = &o->job[i];

			if (!j->joined || j->done)
				continue;
			mc_vec_push(&j->gap, now - j->last);
			j->last = now;
			if (++j->made == o->s->feed[i].remaining) {
				j->done = true;
				done++;
				o->reserved -= (int64_t)o->s->feed[i].job.context + o->s->feed[i].remaining;
			}
		}
	}
}

/* What the segments say of the counted requests: their first intervals, joins and iterations. */
static void compare_counts(const struct sim *s, mc_time firsts)
{
	const struct mc_decode *d = &s->node;
	int64_t joined = 0, made = 0;
	mc_time first = 0;

	for (size_t k = 0; k < d->segments.n; k++) {
		joined += d->segments.at[k].joined;
		made += (int64_t)d->segments.at[k].count * d->segments.at[k].counted;
	}
	for (size_t k = 0; k < d->first_intervals.n; k++)
		first += d->first_intervals.at[k];
	ck_assert_int_eq(joined, (int64_t)d->first_intervals.n);
	for (int i = 0; i < s->n; i++) {
		if (!s->feed[i].job.counted || s->feed[i].withdrawn)
			continue;
		joined--;
		made -= s->feed[i].remaining;
	}
	ck_assert_int_eq(joined, 0);
	ck_assert_int_eq(made, 0);
	ck_assert_int_eq(first, firsts);
	ck_assert_uint_eq(mc_decode_waiting(d), 0);
	ck_assert_uint_eq(d->arriving, 0);
	ck_assert_int_eq(d->reserved, 0);
}

static void compare_with_oracle(struct sim *s, const struct mc_cost *cost, const struct mc_decode_params *p)
{
	struct oracle *o = mc_xcalloc(1, sizeof *o);

	o->s = s;
	o->cost = cost;
	o->p = p;
	oracle_run(o);
	for (int i = 0; i < s->n; i++) {
		struct oracle_job *j = &o->job[i];
		size_t top = (j->gap.n + 9) / 10;
		mc_time sum = 0;

		if (s->feed[i].withdrawn)
			continue;
		ck_assert_int_eq(j->last, s->feed[i].end);
		o->first += s->feed[i].job.counted ? j->gap.at[0] : 0;
		qsort(j->gap.at, j->gap.n, sizeof(mc_time), descending);
		for (size_t k = 0; k < top; k++)
			sum += j->gap.at[k];
		ck_assert_int_eq((sum + (mc_time)top / 2) / (mc_time)top, s->feed[i].tbt);
		mc_vec_fini(&j->gap);
	}
	compare_counts(s, o->first);
	free(o);
}

START_TEST(fast_forward_equals_stepping_equals_oracle)
{
	struct mc_cost cost = plain_cost();
	static struct sim fast, slow;

	cost.kv_bytes = 2000;
	for (uint64_t seed = 1; seed <= 120; seed++) {
		struct mc_decode_params p = {seed % 3 ? 20000 : 100000, seed % 4 ? 0 : 6, true};

		sim_run(&fast, seed, &cost, p);
		p.fast_forward = false;
		sim_run(&slow, seed, &cost, p);
		for (int i = 0; i < fast.n; i++) {
			ck_assert_int_eq(fast.feed[i].end, slow.feed[i].end);
			ck_assert_int_eq(fast.feed[i].tbt, slow.feed[i].tbt);
		}
		ck_assert_uint_eq(fast.node.segments.n, slow.node.segments.n);
		ck_assert_int_eq(memcmp(fast.node.segments.at, slow.node.segments.at,
					fast.node.segments.n * sizeof *fast.node.segments.at),
				 0);
		ck_assert_uint_lt(fast.loop.fired, slow.loop.fired + 1);
		compare_with_oracle(&fast, &cost, &p);
		sim_fini(&fast);
		sim_fini(&slow);
	}
}
END_TEST

/* One request alone: 100 context tokens and 12 more, every number by hand. */
START_TEST(one_request_by_hand)
{
	struct mc_cost cost = plain_cost();
	static struct sim s;
	struct mc_decode_params p = {1000, 0, true};
	struct mc_decode_ops ops = {on_finished, &s};
	mc_time end = 100000; /* 100 tokens of 1,000 B at 1 GB/s */

	memset(&s, 0, sizeof s);
	mc_loop_init(&s.loop);
	mc_decode_init(&s.node, &s.loop, &cost, &p, &ops);
	s.feed[0].job.context = 100;
	s.feed[0].job.remaining = s.feed[0].remaining = 12;
	s.feed[0].job.counted = true;
	mc_decode_announce(&s.node, &s.feed[0].job);
	mc_decode_arrive(&s.node, &s.feed[0].job);
	mc_loop_run(&s.loop, MC_TIME_MAX);
	for (int k = 0; k < 12; k++)
		end += 10000000 + (100 + k) * 1000;
	ck_assert_int_eq(s.feed[0].end, end);
	/* The two longest of twelve intervals: the first, with the load, 10.2 ms; and the last, 10.111 ms. */
	ck_assert_int_eq(s.feed[0].tbt, (10200000 + 10111000) / 2);
	ck_assert_int_eq(s.node.busy, end - 100000);
	sim_fini(&s);
}
END_TEST

/* Cut off: whole iterations count, and the one that ends in that very nanosecond. */
START_TEST(stopped)
{
	struct mc_cost cost = plain_cost();
	static struct sim s;
	struct mc_decode_params p = {1000, 0, true};
	struct mc_decode_ops ops = {on_finished, &s};
	const mc_time third = 100000 + 3 * 10100000 + (0 + 1 + 2) * 1000;

	for (mc_time early = 0; early < 2; early++) {
		memset(&s, 0, sizeof s);
		mc_loop_init(&s.loop);
		mc_decode_init(&s.node, &s.loop, &cost, &p, &ops);
		s.feed[0].job = (struct mc_decode_job){.context = 100, .remaining = 12, .counted = true};
		mc_decode_announce(&s.node, &s.feed[0].job);
		mc_decode_arrive(&s.node, &s.feed[0].job);
		mc_loop_run(&s.loop, third - early);
		s.loop.now = third - early;
		mc_decode_stop(&s.node);
		ck_assert_uint_eq(s.node.segments.n, 1);
		ck_assert_uint_eq(s.node.segments.at[0].count, early ? 2 : 3);
		ck_assert_int_eq(s.node.busy, third - 100000 - early * 10102000);
		ck_assert_uint_eq(s.node.first_intervals.n, 1);
		sim_fini(&s);
	}
}
END_TEST

/* The longest output that a trace can hold has a tail of 10 %, too. */
START_TEST(tail_of_the_longest_output)
{
	ck_assert_uint_eq(mc_tbt_tail(1), 1);
	ck_assert_uint_eq(mc_tbt_tail(10), 1);
	ck_assert_uint_eq(mc_tbt_tail(11), 2);
	ck_assert_uint_eq(mc_tbt_tail(UINT32_MAX - 1), 429496730);
	ck_assert_uint_eq(mc_tbt_tail(UINT32_MAX), 429496730);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("decode");
	TCase *t = tcase_create("decode");

	tcase_add_test(t, fast_forward_equals_stepping_equals_oracle);
	tcase_add_test(t, one_request_by_hand);
	tcase_add_test(t, stopped);
	tcase_add_test(t, tail_of_the_longest_output);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
