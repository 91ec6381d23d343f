/*
 * The view of a Conductor that learns late, against whole snapshots of the cluster at every millisecond: at
 * each decision it has to say what was so then, and its own placements since. Linked with --wrap: the test
 * stands before the functions that sample the cluster and that decide.
 */
#include "outage_fixture.h"

#include "cluster/state.h"

enum { PREFILL = 3, DECODE = 2, NODES = PREFILL + DECODE, REQUESTS = 60, LONGEST = 12000 };

struct match {
	uint32_t held, resident, ssd;
};

/* What is so at the end of an instant. */
struct snapshot {
	mc_time free_at[PREFILL]; /* as reported last */
	int64_t batch[DECODE], running[DECODE], kv[DECODE];
	uint32_t streams[PREFILL];
	int64_t stream_bytes_per_s[PREFILL];
	struct match match[REQUESTS][NODES]; /* prompts of the trace, nodes of the tree */
};

/* A placement that was decided on. */
struct own {
	mc_time at, takes;
	uint32_t prefill, decode, request;
};

static struct {
	struct snapshot *at; /* by ms; [0] is before everything, [k + 1] the end of ms k */
	uint32_t n, own;
	struct own placed[REQUESTS];
	mc_time late, free_at[PREFILL];
	uint64_t compared, refused,
	    differs; /* decisions; those at which something was otherwise than it is */
} o;

void __real_mc_cluster_sample(struct mc_cluster *c);
void __wrap_mc_cluster_sample(struct mc_cluster *c);
void __real_mc_cluster_report(struct mc_cluster *c, uint32_t i);
void __wrap_mc_cluster_report(struct mc_cluster *c, uint32_t i);
void __real_mc_conductor_decide(struct mc_conductor *conductor, const struct mc_view *view,
				const struct mc_prompt *prompt, struct mc_decision *out);
void __wrap_mc_conductor_decide(struct mc_conductor *conductor, const struct mc_view *view,
				const struct mc_prompt *prompt, struct mc_decision *out);

void __wrap_mc_cluster_report(struct mc_cluster *c, uint32_t i)
{
	o.free_at[i] = mc_prefill_free_at(&c->prefill[i]);
	__real_mc_cluster_report(c, i);
}

static void ask(const struct mc_cluster *c, const struct mc_tree *tree, uint32_t request,
		struct match m[NODES])
{
	struct mc_step way[512];
	const struct mc_trace *t = c->trace;
	uint32_t steps =
	    mc_tree_trail(tree, t->block + t->first[request], (uint32_t)mc_trace_blocks(t, request), way);

	for (uint32_t k = 0; k < NODES; k++) {
		m[k].held = mc_tree_match(tree, way, steps, k);
		m[k].resident = mc_tree_match_resident(tree, way, steps, k);
		m[k].ssd = c->ssd ? mc_tree_match_resident(tree, way, steps, c->view.ssd + k) : 0;
	}
}

static void snap(const struct mc_cluster *c, struct snapshot *s)
{
	memcpy(s->free_at, o.free_at, sizeof s->free_at);
	for (const struct mc_flight *f = c->first; f; f = f->next) {
		uint32_t d = f->row->decode;
		struct mc_prompt p = mc_cluster_prompt(c, f->row);

		if (f->stream) {
			s->streams[f->row->prefill]++;
			s->stream_bytes_per_s[f->row->prefill] += f->stream;
		}
		if (d == MC_NONE)
			continue;
		s->batch[d]++;
		s->running[d] += f->stage == MC_STAGE_DECODE;
		s->kv[d] += f->stage != MC_STAGE_PREFILL ? mc_prompt_kv(&p) : 0;
	}
	for (uint32_t r = 0; r < c->trace->n; r++)
		ask(c, c->tree, r, s->match[r]);
}

void __wrap_mc_cluster_sample(struct mc_cluster *c)
{
	mc_time ms = c->loop.now / MS;

	ck_assert_int_eq(c->loop.now, ms * MS);
	ck_assert_int_lt(ms + 1, LONGEST);
	for (; o.n <= ms + 1; o.n++)
		memset(&o.at[o.n], 0, sizeof *o.at);
	snap(c, &o.at[ms + 1]);
	__real_mc_cluster_sample(c);
}

/* Leading blocks that two prompts share. */
static uint32_t common(const struct mc_trace *t, uint32_t a, uint32_t b)
{
	uint32_t n = 0, na = (uint32_t)mc_trace_blocks(t, a), nb = (uint32_t)mc_trace_blocks(t, b);

	while (n < na && n < nb && t->block[t->first[a] + n] == t->block[t->first[b] + n])
		n++;
	return n;
}

/* The snapshot, and what was placed since. */
static void add_own(const struct mc_cluster *c, mc_time then, struct snapshot *s)
{
	for (uint32_t k = 0; k < o.own; k++) {
		const struct own *w = &o.placed[k];
		mc_time *free_at = &s->free_at[w->prefill];

		if (w->at <= then)
			continue;
		*free_at = (*free_at > w->at ? *free_at : w->at) + w->takes;
		if (w->decode != MC_NONE)
			s->batch[w->decode]++;
		for (uint32_t r = 0; r < c->trace->n; r++) {
			uint32_t n = common(c->trace, r, w->request);

			if (n > s->match[r][w->prefill].held)
				s->match[r][w->prefill].held = n;
		}
	}
}

static void compare(const struct mc_cluster *c, const struct mc_view *v, const struct snapshot *s)
{
	for (uint32_t i = 0; i < PREFILL; i++) {
		ck_assert_int_eq(v->prefill[i].free_at, s->free_at[i]);
		ck_assert_uint_eq(v->node[i].streams, s->streams[i]);
		ck_assert_int_eq(v->node[i].stream_bytes_per_s, s->stream_bytes_per_s[i]);
	}
	for (uint32_t i = 0; i < DECODE; i++) {
		ck_assert_int_eq(v->decode[i].batch, s->batch[i]);
		ck_assert_int_eq(v->decode[i].running, s->running[i]);
		ck_assert_int_eq(v->decode[i].kv, s->kv[i]);
	}
	for (uint32_t i = 0; i < DECODE && v->horizon; i++)
		ck_assert_int_eq(mc_tally_until(&v->horizon->at[i].joins, MC_TIME_MAX).n, s->batch[i]);
	for (uint32_t r = 0; r < c->trace->n; r++) {
		struct match m[NODES];

		ask(c, v->tree, r, m);
		ck_assert_msg(!memcmp(m, s->match[r], sizeof m), "prompt %u at %g s", r,
			      mc_time_to_s(v->now));
	}
}

/* How long those stayed at decode that had ended by then. */
static void compare_stay(const struct mc_cluster *c, const struct mc_horizon *h, mc_time then)
{
	mc_time sum = 0, n = 0;

	for (int64_t r = 0; r < c->trace->n; r++) {
		const struct mc_row *row = &c->result->row[r];

		if (row->outcome != MC_COMPLETED || row->end > then || row->handover_end < 0)
			continue;
		sum += row->end - row->handover_end;
		n++;
	}
	ck_assert_int_eq(mc_horizon_stay(h), n ? sum / n : MC_TIME_MAX);
}

void __wrap_mc_conductor_decide(struct mc_conductor *conductor, const struct mc_view *view,
				const struct mc_prompt *prompt, struct mc_decision *out)
{
	const struct mc_cluster *c = mc_container_of(conductor, struct mc_cluster, conductor);
	mc_time then = view->now - o.late;
	struct snapshot *says = mc_xmalloc(sizeof *says), *now = mc_xcalloc(1, sizeof *now);

	*says = o.at[then >= 0 ? then / MS + 1 : 0];
	snap(c, now);
	o.differs += memcmp(says, now, sizeof *now) != 0;
	add_own(c, then, says);
	compare(c, view, says);
	if (view->horizon)
		compare_stay(c, view->horizon, then);
	o.compared++;
	free(says);
	free(now);
	__real_mc_conductor_decide(conductor, view, prompt, out);
	if (!out->refusal)
		o.placed[o.own++] =
		    (struct own){view->now,
				 mc_view_prefill_occupancy(view, prompt->tokens,
							   mc_view_hit_tokens(view, prompt, out->placed.hit)),
				 out->placed.prefill, out->decode, (uint32_t)prompt->request};
}

static void settings(struct setup *u, uint64_t *r)
{
	static const char *const policy[] = {"least-loaded", "cache-aware", "kvcache-centric", "random"};
	static const char *const evict[] = {"lru", "s3fifo", "2q", "lfu"};
	static const char *const pool[] = {"prefill", "global"};
	static const char *const rule[] = {"none", "baseline", "predict", "predict-length"};
	static const char *const ssd[] = {"never", "evict", "through"};

	init(u, PREFILL, DECODE);
	setup_set(u, "run.sample=1ms");
	setup_set(u, "conductor.staleness=%lldns", (long long)o.late);
	setup_set(u, "conductor.policy=%s", policy[draw(r, 4)]);
	setup_set(u, "kv.evict=%s", evict[draw(r, 4)]);
	setup_set(u, "kv.pool=%s", pool[draw(r, 2)]);
	setup_set(u, "kv.ssd_write=%s", ssd[draw(r, 3)]);
	setup_set(u, "kv.ssd_tokens=3000");
	setup_set(u, "kv.dram_tokens=%d", draw(r, 2) ? 1600 : 4000);
	setup_set(u, "conductor.admission=%s", rule[draw(r, 4)]);
	setup_set(u, "slo.tbt=%dms", 11 + (int)draw(r, 3));
	u->cost.net_bytes_per_s = draw(r, 2) ? 1e8 : 2e7;
	u->cost.ssd_read_bytes_per_s = u->cost.ssd_write_bytes_per_s = 5e7;
	u->cost.ssd_latency_s = 1e-4;
}

static void round_of(uint64_t seed, int late_ms)
{
	uint64_t r = seed;
	struct mc_result result;
	struct setup u;
	mc_time at = 0;

	memset(o.at, 0, sizeof *o.at);
	for (uint32_t i = 0; i < PREFILL; i++)
		o.free_at[i] = o.at[0].free_at[i] = -1;
	o.n = 1;
	o.own = 0;
	o.late = late_ms * MS;
	settings(&u, &r);
	for (uint64_t i = 0; i < REQUESTS; i++) {
		uint64_t both[2] = {draw(&r, 6), 100 + i};

		at += draw(&r, 3) ? MS * (mc_time)draw(&r, 90) : 0;
		add(&u, at, 1 + (uint32_t)draw(&r, 1200), (uint32_t)draw(&r, 30), both,
		    (uint32_t)draw(&r, 60));
	}
	setup_run(&u, &result);
	for (uint32_t i = 0; i < REQUESTS; i++)
		o.refused += result.row[i].outcome == MC_REJECTED;
	mc_result_fini(&result);
	setup_fini(&u);
}

START_TEST(the_view_is_what_was_so_then)
{
	static const int late[] = {1, 7, 50, 300, 1000, 100000};

	o.at = mc_xcalloc(LONGEST, sizeof *o.at);
	for (uint64_t seed = 1; seed <= 24; seed++)
		round_of(seed, late[seed % 6]);
	ck_assert_uint_eq(o.compared, 24 * REQUESTS);
	ck_assert_uint_gt(o.refused, 20);
	ck_assert_uint_gt(o.differs, o.compared / 2);
	free(o.at);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("stale_oracle");
	TCase *t = tcase_create("stale_oracle");

	tcase_set_timeout(t, 60);
	tcase_add_test(t, the_view_is_what_was_so_then);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
