/* What a run cannot hold, told before it begins: times beyond the clock, a time series without end. */
#include <math.h>

#include "cluster/clients.h"
#include "cluster/state.h"

/* Half of what int64_t nanoseconds hold: a prediction of a transfer that all others delay (sched/search.c) is
 * added. */
#define CLOCK_S 4.5e9

static int bad(struct mc_err *err, const char *key)
{
	return mc_err_at(err, NULL, 0, 0, key);
}

static double slowest_link(const struct mc_cluster *c)
{
	double least = INFINITY;

	for (uint32_t l = 0; l < c->result->n_links; l++)
		least = fmin(least, mc_fabric_link_capacity(c->fabric, l));
	return least;
}

/* No decode node has the VRAM for it. */
static bool is_refused(const struct mc_cost *cost, double input, double output)
{
	return output > 1 && input + output - 1 > (double)cost->vram_kv_tokens;
}

/* While nobody is served, somebody thinks, backs off, or is still to come: how long that is, at most. */
static double idle_s(const struct mc_cluster *c)
{
	const struct mc_scenario *s = c->scenario;
	double n = (double)c->trace->n, backoffs = mc_clients_backoffs_max_s(s);

	if (mc_clients_closed(s))
		return n * (mc_clients_think_max_s(s) + backoffs);
	/* All may back off at once, unless others wait for them. */
	return mc_time_to_s(c->trace->arrival[c->trace->n - 1]) + backoffs * (s->clients.concurrency ? n : 1);
}

/* Coupled nodes compute a prompt in passes, and again when it was thrown out: about once for each block that
 * outputs take. */
static double coupled_s(const struct mc_cluster *c)
{
	const struct mc_trace *t = c->trace;
	double block = (double)c->view.block_tokens, times = 0, longest = 0;

	for (int64_t i = 0; i < t->n; i++) {
		int64_t n = (int64_t)t->input[i] + t->output[i];

		times += 2 + t->output[i] / block;
		longest = fmax(longest, mc_cost_passes_s(c->cost, n, 0, c->view.chunk));
	}
	return times * longest;
}

/*
 * The end of a run is no later than its last arrival and then all requests one after the other, each alone:
 * times of a batch are less than the sum of its members'. So nothing that is planned lies beyond it, either.
 * Each attempt of a request counts as one.
 */
static double latest_end_s(const struct mc_cluster *c)
{
	double slowest = slowest_link(c) * c->slowest;
	const struct mc_cost *cost = c->cost;
	const struct mc_trace *t = c->trace;
	double s = 0, stages = c->scenario->cluster.prefill_group,
	       attempts = 1 + (double)c->scenario->clients.retries;

	for (int64_t i = 0; i < t->n; i++) {
		double n = t->input[i], out = t->output[i], kv = n * cost->kv_bytes;

		s += cost->schedule_s;
		if (is_refused(cost, n, out))
			continue;
		s += mc_cost_prefill_gpu_s(cost, n, 0) + mc_cost_prefill_load_s(cost, n);
		s += stages *
		     (cost->net_startup_s * (1 + n / (double)c->view.chunk) + n * cost->hop_s_per_token);
		s += 2 * (cost->net_startup_s + kv / slowest) + kv / cost->h2d_bytes_per_s;
		s += out > 1 ? out * (1e-9 + mc_cost_decode_s(cost, 1, n + out)) : 0;
	}
	return idle_s(c) + attempts * (c->coupled ? s + coupled_s(c) : s);
}

/* Of a request whose KV no transfer can carry, in whole blocks as they are written to SSDs, prompt and
 * answer; -1: none. */
static int64_t oversized(const struct mc_cluster *c)
{
	const struct mc_trace *t = c->trace;
	double block = (double)t->block_tokens;

	for (int64_t i = 0; i < t->n; i++) {
		double n = t->input[i], out = t->output[i];

		if (ceil((n + out) / block) * block * c->cost->kv_bytes > MC_TRANSFER_BYTES &&
		    !is_refused(c->cost, n, out))
			return i;
	}
	return -1;
}

int mc_cluster_limits(struct mc_cluster *c)
{
	const struct mc_scenario *s = c->scenario;
	int64_t large = oversized(c);
	/* What follows the last arrival, or comes from clients, makes rows farther apart instead. */
	mc_time last = mc_clients_closed(s) ? 0 : c->trace->arrival[c->trace->n - 1];
	double idle = idle_s(c), end = latest_end_s(c),
	       span = mc_time_to_s(last < s->run.until ? last : s->run.until);

	if (!(idle < CLOCK_S) && (mc_clients_closed(s) || s->clients.retries)) {
		mc_err_set(
		    c->err, MC_USAGE,
		    "may add up to %.3g years of waiting over all requests; a run holds no more than 142",
		    idle / 31556952);
		return bad(c->err, mc_clients_closed(s) && s->clients.think ? "clients.think"
									    : "clients.backoff_max");
	}
	if (!(end < CLOCK_S)) {
		mc_err_set(c->err, MC_USAGE,
			   "takes up to %.3g years on this cluster; a run holds no more than 142",
			   end / 31556952);
		return bad(c->err, "trace.path");
	}
	if (large >= 0) {
		mc_err_set(
		    c->err, MC_USAGE,
		    "has a request of %.4g tokens (number %lld); a run moves no more than %.3g bytes of "
		    "KV at once",
		    (double)c->trace->input[large] + c->trace->output[large], (long long)large,
		    MC_TRANSFER_BYTES);
		return bad(c->err, "trace.path");
	}
	if (span / mc_time_to_s(s->run.sample) < MC_CLUSTER_SAMPLES)
		return MC_OK;
	mc_err_set(c->err, MC_USAGE,
		   "gives over %d samples of a trace of %.0f s; expected a longer interval, or run.until",
		   MC_CLUSTER_SAMPLES, span);
	return bad(c->err, "run.sample");
}
