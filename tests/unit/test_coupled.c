/* Coupled nodes: against an oracle that goes one iteration after the other, and by closed forms. */
#include "coupled_naive.h"

#include "base/hash.h"
#include "engine/coupled.h"
#include "engine/kinds.h"

struct feed {
	struct mc_event send;
	struct mc_coupled_job job;
	mc_time first, end, tbt;
};

struct sim {
	struct mc_loop loop;
	struct mc_coupled node;
	struct mc_tree *tree;
	struct mc_pool *pool;
	struct feed feed[REQUESTS];
	uint32_t n, finished;
};

static struct sim *sim_now; /* events carry no argument */
static mc_time sim_until = MC_TIME_MAX;

static void on_send(struct mc_loop *loop, struct mc_event *ev)
{
	(void)loop;
	mc_coupled_submit(&sim_now->node, &mc_container_of(ev, struct feed, send)->job);
}

static void on_started(void *arg, struct mc_coupled_job *job)
{
	struct sim *s = arg;

	ck_assert_int_eq(job->start, s->loop.now);
}

static void on_first(void *arg, struct mc_coupled_job *job)
{
	struct sim *s = arg;

	mc_container_of(job, struct feed, job)->first = s->loop.now;
}

static void on_finished(void *arg, struct mc_coupled_job *job)
{
	struct sim *s = arg;
	struct feed *f = mc_container_of(job, struct feed, job);

	f->end = s->loop.now;
	f->tbt = job->output > 1 ? mc_coupled_tbt(&s->node, job) : 0;
	s->finished++;
}

static void on_changed(void *arg, struct mc_coupled *node)
{
	struct sim *s = arg;

	ck_assert_ptr_eq(node, &s->node);
	ck_assert_msg(!mc_coupled_check(node), "%s", mc_coupled_check(node));
	if (node->waiting.n || node->pass)
		ck_assert_int_gt(mc_coupled_free_at(node), s->loop.now - 1);
}

/* The requests of the oracle, through the engine. */
static void sim_run(struct sim *s, const struct node *o, bool fast_forward)
{
	struct mc_coupled_ops ops = {on_started, on_first, on_finished, on_changed, s};
	struct mc_coupled_params params = {o->chunked, o->max_batch, o->budget, fast_forward};
	struct mc_vram vram;
	uint32_t watermark;

	memset(s, 0, sizeof *s);
	sim_now = s;
	s->n = o->n;
	mc_loop_init(&s->loop);
	s->tree = mc_tree_new();
	s->pool =
	    o->caching ? mc_pool_new(s->tree, 0, o->blocks, mc_evictor_find(o->cache.model->name)) : NULL;
	mc_vram_init(&vram, s->pool, o->block_tokens, o->blocks);
	watermark = vram.watermark;
	ck_assert_uint_eq(watermark, o->watermark);
	mc_coupled_init(&s->node, &s->loop, o->cost, &params, &ops);
	mc_coupled_set_vram(&s->node, &vram);
	for (uint32_t i = 0; i < s->n; i++) {
		struct feed *f = &s->feed[i];

		f->job = (struct mc_coupled_job){.tokens = o->fate[i].tokens,
						 .output = o->fate[i].output,
						 .block = o->fate[i].id,
						 .n_blocks = whole(o, &o->fate[i]),
						 .expected = 1000,
						 .counted = i % 5 > 0};
		mc_event_init(&f->send, MC_EV_DECIDE, on_send);
		mc_loop_at(&s->loop, &f->send, o->fate[i].arrival);
	}
	mc_loop_run(&s->loop, sim_until);
}

static void sim_fini(struct sim *s)
{
	mc_coupled_fini(&s->node);
	mc_pool_free(s->pool);
	mc_tree_free(s->tree);
	mc_loop_fini(&s->loop);
}

static int in_order(const void *a, const void *b)
{
	mc_time x = *(const mc_time *)a, y = *(const mc_time *)b;

	return (x > y) - (x < y);
}

/* All token intervals of counted requests, from what the node leaves behind. */
static uint32_t left_behind(const struct sim *s, mc_time *all)
{
	uint32_t n = 0;

	for (size_t i = 0; i < s->node.intervals.n; i++)
		all[n++] = s->node.intervals.at[i];
	for (size_t i = 0; i < s->node.segments.n; i++) {
		const struct mc_segment *g = &s->node.segments.at[i];

		for (uint32_t k = 0; k < g->count; k++)
			for (uint32_t m = k ? 0 : g->joined; m < g->counted; m++)
				all[n++] =
				    (k ? 0 : g->lead) + mc_cost_decode_ns(s->node.cost, g->batch,
									  g->context + (int64_t)k * g->batch);
	}
	qsort(all, n, sizeof *all, in_order);
	return n;
}

static void same_as(const struct sim *s, const struct node *o)
{
	static mc_time mine[REQUESTS * TOKENS], theirs[REQUESTS * TOKENS], other[TOKENS];
	uint32_t n = 0, none;

	ck_assert_uint_eq(s->finished, o->n);
	for (uint32_t i = 0; i < o->n; i++) {
		const struct fate *f = &o->fate[i];
		const struct feed *got = &s->feed[i];
		mc_time tbt;

		none = 0;
		tbt = f->output > 1
			  ? fate_tbt(f, got->job.counted ? theirs : other, got->job.counted ? &n : &none)
			  : 0;
		ck_assert_int_eq(got->job.start, f->start);
		ck_assert_int_eq(got->first, f->token[0]);
		ck_assert_int_eq(got->end, f->token[f->output - 1]);
		ck_assert_int_eq(got->tbt, tbt);
		ck_assert_uint_eq(got->job.cached, f->cached);
		ck_assert_double_eq_tol(got->job.compute_s, f->compute_s, 1e-9);
	}
	qsort(theirs, n, sizeof *theirs, in_order);
	ck_assert_uint_eq(left_behind(s, mine), n);
	ck_assert_mem_eq(mine, theirs, n * sizeof *mine);
	ck_assert_uint_eq(s->node.preemptions, o->preemptions);
	ck_assert_uint_eq(s->node.recomputed, o->recomputed);
	ck_assert_int_eq(s->node.prefill_busy, o->prefill);
	ck_assert_int_eq(s->node.decode_busy, o->decode);
	ck_assert_double_eq_tol(s->node.redo_s, o->redo_s, 1e-9);
	ck_assert_uint_eq(s->node.vram.taken, 0);
	if (o->caching) {
		ck_assert_uint_eq(mc_pool_stats(s->pool).evicted, o->cache.evicted);
		ck_assert_uint_eq(mc_pool_stats(s->pool).dropped, o->cache.dropped);
		ck_assert_uint_eq(mc_pool_stats(s->pool).present, o->cache.n);
		ck_assert_int_eq(mc_pool_check(s->pool, NULL), 0);
	}
}

static void random_node(struct node *o, const struct mc_cost *cost, uint64_t *r)
{
	static const char *const evictors[] = {"lru", "lru", "lfu", "sieve", "2q"};
	uint32_t most;
	mc_time at = 0;

	memset(o, 0, sizeof *o);
	o->cost = cost;
	o->chunked = draw(r, 2);
	o->caching = draw(r, 2);
	o->budget = 1 + (uint32_t)draw(r, draw(r, 2) ? 8 : 200);
	o->max_batch = draw(r, 3) ? 0 : 1 + (uint32_t)draw(r, 5);
	o->block_tokens = 1 + (uint32_t)draw(r, draw(r, 2) ? 3 : 12);
	o->blocks = 4 + (uint32_t)draw(r, draw(r, 2) ? 12 : BLOCKS - 3);
	naive_init(&o->cache, evictors[draw(r, 5)], o->blocks);
	if (!o->caching && draw(r, 2)) /* so large that the watermark counts */
		o->cache.capacity = o->blocks = 100 + (uint32_t)draw(r, 300);
	o->watermark = (uint32_t)(MC_VRAM_WATERMARK * o->blocks);
	most = (o->blocks - o->watermark) * o->block_tokens;
	if (!draw(r, 3)) /* many short ones */
		most = most < 3 ? most : 3 + (uint32_t)draw(r, most - 2);
	o->n = 2 + (uint32_t)draw(r, REQUESTS - 2);
	for (uint32_t i = 0; i < o->n; i++) {
		struct fate *f = &o->fate[i];
		uint32_t shared = (uint32_t)draw(r, 10), session = (uint32_t)draw(r, 4);

		at += draw(r, 3) ? 0 : (mc_time)draw(r, 200000000);
		f->arrival = at;
		f->start = -1;
		f->output = 1 + (uint32_t)draw(r, draw(r, 3) ? 12 : TOKENS - 1);
		f->output = f->output > most ? most : f->output;
		f->tokens = 1 + (uint32_t)draw(r, most - f->output + 1);
		for (uint32_t b = 0; o->caching && b < f->tokens / o->block_tokens; b++)
			f->id[b] = mc_hash_pair(b < shared ? session : 100 + i, b) | 1;
	}
}

START_TEST(agrees_with_the_oracle)
{
	struct mc_cost cost = plain_cost();
	static struct node o;
	static struct sim s;
	uint64_t r = (uint64_t)_i + 1, preemptions = 0, hits = 0;

	for (int k = 0; k < 20; k++) {
		cost.pf_a = draw(&r, 2) ? 1e-3 : 20e-3;
		random_node(&o, &cost, &r);
		node_run(&o);
		for (int fast = 0; fast < 2; fast++) {
			sim_run(&s, &o, fast);
			same_as(&s, &o);
			sim_fini(&s);
		}
		preemptions += o.preemptions;
		for (uint32_t i = 0; i < o.n; i++)
			hits += o.fate[i].cached;
	}
	ck_assert_uint_gt(preemptions, 20); /* else it shows little */
	ck_assert_uint_gt(hits, 50);
}
END_TEST

/* A node without limits and those requests; prompts of one name each. */
static void made(struct node *o, const struct mc_cost *cost, bool chunked, uint32_t budget)
{
	memset(o, 0, sizeof *o);
	o->cost = cost;
	o->chunked = chunked;
	o->budget = budget;
	o->block_tokens = 1000;
	o->blocks = 60;
}

static void request(struct node *o, mc_time arrival, uint32_t tokens, uint32_t output)
{
	o->fate[o->n++] = (struct fate){.arrival = arrival, .tokens = tokens, .output = output, .start = -1};
}

static mc_time ns(double s)
{
	return mc_time_from_s(s);
}

START_TEST(one_alone)
{
	struct mc_cost cost = plain_cost();
	static struct node o;
	static struct sim s;
	mc_time at = ns(mc_cost_prefill_compute_s(&cost, 700, 0)), last = 0;

	for (int chunked = 0; chunked < 2; chunked++) {
		made(&o, &cost, chunked, 700);
		request(&o, 5, 700, 4);
		sim_run(&s, &o, true);
		ck_assert_int_eq(s.feed[0].first, 5 + at);
		for (int k = 0; k < 3; k++)
			last += mc_cost_decode_ns(&cost, 1, 700 + k);
		ck_assert_int_eq(s.feed[0].end, 5 + at + last);
		ck_assert_int_eq(s.feed[0].tbt, mc_cost_decode_ns(&cost, 1, 702));
		ck_assert_double_eq_tol(s.feed[0].job.compute_s, mc_time_to_s(at), 1e-12);
		last = 0;
		sim_fini(&s);
	}
}
END_TEST

/* The stall for the second prompt is the first one's longest interval. */
START_TEST(a_prompt_stalls_those_that_run)
{
	struct mc_cost cost = plain_cost();
	static struct node o;
	static struct sim s;
	mc_time prefill = ns(mc_cost_prefill_compute_s(&cost, 5000, 0)), i0, i1;

	made(&o, &cost, false, 100);
	request(&o, 0, 100, 10);
	request(&o, ns(mc_cost_prefill_compute_s(&cost, 100, 0)) + 1, 5000, 2);
	sim_run(&s, &o, true);
	i0 = mc_cost_decode_ns(&cost, 1, 100);
	i1 = mc_cost_decode_ns(&cost, 2, 101 + 5000);
	ck_assert_int_eq(s.feed[1].first, s.feed[0].first + i0 + prefill);
	ck_assert_int_eq(s.feed[0].tbt, prefill + i1);
	ck_assert_int_eq(s.feed[1].tbt, i1); /* it did not wait for itself */
	sim_fini(&s);
}
END_TEST

/* In slices it takes longer, and nobody stands still. */
START_TEST(slices_share_passes)
{
	struct mc_cost cost = plain_cost();
	static struct node o;
	static struct sim s;
	mc_time at, decode = 0, worst = 0;
	struct mc_slices slice[3] = {{0, 0}, {0, 0}, {0, 0}};

	mc_slices_add(&slice[0], &cost, 99, 0, false);
	mc_slices_add(&slice[1], &cost, 198, 99, false);
	mc_slices_add(&slice[2], &cost, 250, 198, true);
	made(&o, &cost, true, 100);
	request(&o, 0, 100, 30);
	request(&o, ns(mc_cost_prefill_compute_s(&cost, 100, 0)) + 1, 250, 2);
	sim_run(&s, &o, true);
	at = s.feed[0].first + mc_cost_decode_ns(&cost, 1, 100);
	for (int k = 0; k < 3; k++) {
		mc_time pass = ns(mc_cost_mixed_s(&cost, &slice[k], 1, 101 + k));

		at += pass;
		worst = pass > worst ? pass : worst;
		decode += mc_cost_decode_ns(&cost, 1, 101 + k);
	}
	ck_assert_int_eq(s.feed[1].first, at);
	ck_assert_double_eq_tol(s.feed[1].job.compute_s, mc_time_to_s(at - s.feed[1].job.start - decode),
				1e-9);
	ck_assert_int_lt(s.feed[0].tbt, worst + 1);
	ck_assert_int_gt(s.feed[0].tbt, ns(cost.de_base));
	sim_fini(&s);
}
END_TEST

/* Two fill VRAM; the second is thrown out when the first needs a block, and waits until that one has ended.
 */
START_TEST(the_newest_is_thrown_out)
{
	struct mc_cost cost = plain_cost();
	static struct node o;
	static struct sim s;

	made(&o, &cost, false, 100);
	o.block_tokens = 10;
	o.blocks = 4;
	request(&o, 0, 20, 6);
	request(&o, 0, 20, 6);
	sim_run(&s, &o, true);
	ck_assert_uint_eq(s.node.preemptions, 1);
	ck_assert_uint_eq(s.node.recomputed, 20); /* its one token has no KV yet */
	ck_assert_uint_eq(s.node.resumed, 1);
	ck_assert_int_eq(s.feed[1].job.start, 0);
	ck_assert_int_eq(s.feed[1].first, s.feed[0].first);
	/* Its longest interval: from its first token until it has been computed again. */
	ck_assert_int_eq(s.feed[1].tbt,
			 s.feed[0].end - s.feed[1].first + ns(mc_cost_prefill_compute_s(&cost, 21, 0)));
	sim_fini(&s);
}
END_TEST

/* Cut off anywhere: what was done by then is the same, however it was stepped; of a pass its share counts. */
START_TEST(a_run_is_cut_off)
{
	struct mc_cost cost = plain_cost();
	static struct node o;
	static struct sim s[2];

	for (int k = 0; k < 100; k++) {
		made(&o, &cost, k % 2, 100);
		request(&o, 0, 100, 100);
		request(&o, 20000000, 1000, 2);
		for (int fast = 0; fast < 2; fast++) {
			sim_until = 1 + (mc_time)k * 7654321;
			sim_run(&s[fast], &o, fast);
			s[fast].loop.now = sim_until;
			mc_coupled_stop(&s[fast].node);
			sim_until = MC_TIME_MAX;
		}
		ck_assert_int_eq(s[0].node.prefill_busy, s[1].node.prefill_busy);
		ck_assert_int_eq(s[0].node.decode_busy, s[1].node.decode_busy);
		ck_assert_uint_eq(s[0].node.iterations, s[1].node.iterations);
		ck_assert_int_le(s[0].node.prefill_busy + s[0].node.decode_busy, s[0].loop.now);
		if (!o.chunked) /* never idle; less than an iteration was not finished */
			ck_assert_int_gt(s[0].node.prefill_busy + s[0].node.decode_busy,
					 s[0].loop.now - mc_cost_decode_ns(&cost, 2, 1300));
		for (int fast = 0; fast < 2; fast++)
			sim_fini(&s[fast]);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("coupled");
	TCase *t = tcase_create("coupled");

	suite_add_tcase(s, t);
	tcase_add_loop_test(t, agrees_with_the_oracle, 0, 16);
	tcase_add_test(t, one_alone);
	tcase_add_test(t, a_prompt_stalls_those_that_run);
	tcase_add_test(t, slices_share_passes);
	tcase_add_test(t, the_newest_is_thrown_out);
	tcase_add_test(t, a_run_is_cut_off);
	return s;
}

UNIT_MAIN
