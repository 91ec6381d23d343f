/*
 * A flow's whole life (start, shares, end) on N senders and N receivers, flows arriving as a Poisson stream
 * between random pairs. "produced" flows stream at a twentieth of a link, as a prefill's KV does.
 */
#include <math.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/vec.h"
#include "bench.h"
#include "net/flow.h"

#define BYTES_PER_S 1e10

struct bench {
	struct mc_loop loop;
	struct mc_event arrival;
	struct mc_net *net;
	uint32_t nodes;
	uint64_t draw;
	size_t left, active;
	double gap_s, bytes, busy; /* busy: sum of active over arrivals */
	bool produced;
};

static double uniform(struct bench *b)
{
	return ((double)(mc_hash_u64(b->draw++) >> 11) + 0.5) / 9007199254740992.0;
}

static void done(void *arg, uint32_t flow)
{
	(void)flow;
	((struct bench *)arg)->active--;
}

static void arrive(struct mc_loop *loop, struct mc_event *ev)
{
	struct bench *b = mc_container_of(ev, struct bench, arrival);
	struct mc_flow_spec spec = {.n_links = 2, .startup = 10000, .done = done, .arg = b};

	spec.link[0] = (uint32_t)(uniform(b) * b->nodes);
	spec.link[1] = b->nodes + (uint32_t)(uniform(b) * b->nodes);
	spec.bytes = floor(b->bytes * (0.5 + uniform(b)));
	if (b->produced) {
		spec.produce_end = loop->now + mc_time_from_s(20 * spec.bytes / BYTES_PER_S);
		spec.tail = spec.bytes / 80;
	}
	b->active++;
	b->busy += (double)b->active;
	mc_net_flow_start(b->net, &spec);
	if (--b->left)
		mc_loop_at(loop, ev, loop->now + 1 + mc_time_from_s(-log(uniform(b)) * b->gap_s));
}

/* `load`: mean use of a link. */
static void measure(uint32_t nodes, double load, bool produced, size_t flows)
{
	struct bench b = {.nodes = nodes, .left = flows, .bytes = 1e8, .produced = produced};
	double begin, wall;

	mc_loop_init(&b.loop);
	b.net = mc_net_new(&b.loop, 1);
	for (uint32_t l = 0; l < 2 * nodes; l++)
		mc_net_link_add(b.net, BYTES_PER_S);
	b.gap_s = b.bytes / (load * BYTES_PER_S * nodes);
	mc_event_init(&b.arrival, 0, arrive);
	mc_loop_at(&b.loop, &b.arrival, 0);
	begin = bench_s();
	mc_loop_run(&b.loop, MC_TIME_MAX);
	wall = bench_s() - begin;
	printf("%5u links, load %.2f, %s: %8.0f ns a flow, %.1f events a flow, %7.1f flows at a time\n",
	       2 * nodes, load, produced ? "produced" : "at once ", wall / (double)flows * 1e9,
	       (double)b.loop.fired / (double)flows, b.busy / (double)flows);
	mc_net_free(b.net);
	mc_loop_fini(&b.loop);
}

int main(void)
{
	static const uint32_t nodes[] = {8, 80, 800};

	for (size_t i = 0; i < 3; i++) {
		measure(nodes[i], 0.05, true, 300000);
		measure(nodes[i], 0.3, true, 300000);
		measure(nodes[i], 0.1, false, 300000);
		measure(nodes[i], 0.5, false, 200000);
		measure(nodes[i], 0.8, false, 50000);
	}
	return 0;
}
