/* A made-up result of a run, random but lawful: for the tests of metrics and of what is written. */
#ifndef MC_TESTS_RESULT_FIXTURE_H
#define MC_TESTS_RESULT_FIXTURE_H

#include <string.h>

#include "cluster/cluster.h"
#include "cluster/metrics.h"

struct made {
	struct mc_conf conf;
	struct mc_scenario scenario;
	struct mc_cost cost;
	struct mc_result result;
	uint64_t state;
};

static inline uint64_t made_random(struct made *m, uint64_t below)
{
	m->state = m->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (m->state >> 33) % below;
}

static inline void made_row(struct made *m, struct mc_row *r, mc_time arrival)
{
	uint32_t fate = (uint32_t)made_random(m, 10);

	*r = (struct mc_row){.arrival = arrival,
			     .decided = -1,
			     .prefill_start = -1,
			     .prefill_end = -1,
			     .handover_end = -1,
			     .end = -1,
			     .input = 1 + (uint32_t)made_random(m, 100000),
			     .output = (uint32_t)made_random(m, 5),
			     .prefill = MC_NONE,
			     .decode = MC_NONE,
			     .source = MC_NONE,
			     .ssd_source = MC_NONE,
			     .counted = arrival >= m->scenario.run.warmup};
	if (fate == 0)
		return; /* not even decided */
	r->decided = arrival + 50 * MC_NS_PER_MS;
	if (fate == 1) {
		r->outcome = MC_REJECTED;
		r->refusal = MC_REFUSED_DECODE_CAPACITY;
		return;
	}
	r->prefill = (uint32_t)made_random(m, 2);
	r->decode = r->output > 1 ? 0 : MC_NONE;
	r->local_hit = (uint32_t)made_random(m, r->input);
	r->remote_hit = (uint32_t)made_random(m, r->input - r->local_hit);
	r->source = r->remote_hit ? 1 - r->prefill : MC_NONE;
	r->predicted_ttft = (mc_time)made_random(m, 40) * MC_NS_PER_S;
	if (fate == 2)
		return; /* waits for prefill */
	r->prefill_start = r->decided + (mc_time)made_random(m, 20000) * MC_NS_PER_MS;
	r->compute_s = 0.5 * (double)made_random(m, 10);
	r->load_s = 0.25 * (double)made_random(m, 4);
	r->fetch_wait = (mc_time)made_random(m, 100) * MC_NS_PER_MS;
	if (fate == 3)
		return;
	r->prefill_end = r->prefill_start + (mc_time)made_random(m, 20000) * MC_NS_PER_MS;
	if (r->output > 1) {
		if (fate == 4)
			return;
		r->handover_end = r->prefill_end + (mc_time)made_random(m, 3000) * MC_NS_PER_US;
		r->tbt = (mc_time)made_random(m, 200) * MC_NS_PER_MS;
	}
	r->end =
	    (r->output > 1 ? r->handover_end : r->prefill_end) + (mc_time)made_random(m, 100) * MC_NS_PER_MS;
	r->outcome = MC_COMPLETED;
}

static inline void made_segments(struct made *m)
{
	for (uint32_t d = 0; d < m->result.n_decode; d++)
		for (int k = 0; k < 20; k++) {
			struct mc_segment g = {.batch = 1 + (uint32_t)made_random(m, 9)};

			g.context = (int64_t)made_random(m, 100000);
			g.count = 1 + (uint32_t)made_random(m, 30);
			g.counted = (uint32_t)made_random(m, g.batch + 1);
			g.joined = g.counted ? (uint32_t)made_random(m, g.counted + 1) : 0;
			mc_vec_push(&m->result.segment[d], g);
		}
}

/* n requests, one every 100 ms; two prefill instances and two decode nodes. */
static inline void made_init(struct made *m, uint64_t seed, int64_t n)
{
	struct mc_result *r = &m->result;

	memset(m, 0, sizeof *m);
	m->state = seed;
	ck_assert_int_eq(mc_conf_init(&m->conf, mc_scenario_fields, &m->scenario, NULL), 0);
	ck_assert_int_eq(mc_conf_set(&m->conf, "trace.path=made.jsonl", NULL), 0);
	ck_assert_int_eq(mc_conf_set(&m->conf, "run.warmup=2s", NULL), 0);
	m->cost = (struct mc_cost){.de_base = 0.02,
				   .de_context = 1e-7,
				   .de_gemm_token = 1e-4,
				   .de_gemm_floor = 5e-4,
				   .net_bytes_per_s = 5e8,
				   .fit_prefill_max = 20000,
				   .trust_prefill_max = 50000,
				   .fit_context_max = 20000,
				   .trust_context_max = 50000,
				   .fit_batch_max = 2,
				   .trust_batch_max = 5};
	r->sample = m->scenario.run.sample;
	r->n_prefill = r->n_decode = 2;
	r->prefill_group = 1;
	r->n_links = r->n_net_links = 8;
	r->n_rows = n;
	r->row = mc_xcalloc((size_t)n, sizeof *r->row);
	for (int64_t i = 0; i < n; i++) {
		made_row(m, &r->row[i], i * 100 * MC_NS_PER_MS);
		r->end = r->row[i].end > r->end ? r->row[i].end : r->end;
	}
	r->end = r->end > n * 100 * MC_NS_PER_MS ? r->end : n * 100 * MC_NS_PER_MS;
	r->segment = mc_xcalloc(2, sizeof *r->segment);
	made_segments(m);
	for (int k = 0; k < 30; k++)
		mc_vec_push(&r->first, (mc_time)made_random(m, 300) * MC_NS_PER_MS);
	r->prefill_busy = mc_xcalloc(2, sizeof *r->prefill_busy);
	r->decode_busy = mc_xcalloc(2, sizeof *r->decode_busy);
	r->link_bytes = mc_xcalloc(8, sizeof *r->link_bytes);
	r->link_capacity = mc_xcalloc(8, sizeof *r->link_capacity);
	r->link_name = mc_xcalloc(8, sizeof *r->link_name);
	for (int l = 0; l < 8; l++) {
		static const char *const name[] = {"prefill0.out", "prefill0.in", "prefill1.out",
						   "prefill1.in",  "decode0.out", "decode0.in",
						   "decode1.out",  "decode1.in"};

		r->link_name[l] = mc_xstrdup(name[l]);
		r->link_capacity[l] = 1e9;
		r->link_bytes[l] = 1e6 * (double)made_random(m, 1000);
	}
	r->stage_bytes = mc_xcalloc(2, sizeof *r->stage_bytes);
	r->stage_bytes[0] = 6000000;
	r->stage_bytes[1] = 12000000;
	r->prefill_busy[0] = r->end / 2;
	r->decode_busy[1] = r->end / 4;
}

static inline void made_fini(struct made *m)
{
	mc_result_fini(&m->result);
	mc_conf_fini(&m->conf);
}

/* Samples every run.sample, for shapes of load over time. */
static inline void made_samples(struct made *m, int n)
{
	m->result.samples.n = 0;
	for (int i = 0; i < n; i++)
		mc_vec_push(&m->result.samples,
			    ((struct mc_sample){.at = i * m->scenario.run.sample, .pool_blocks = 10}));
}

#endif
