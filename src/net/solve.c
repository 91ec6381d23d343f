#include "net/solve.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>

#include "base/vec.h"

struct solve {
	const double *capacity;
	size_t n_links, n_flows;
	struct mc_net_solve_flow *flow;
	bool *frozen;
	double *used;
	double *open; /* of a link: weight of its flows that are not frozen, summed anew each round */
};

static inline double weight(const struct mc_net_solve_flow *flow)
{
	return flow->weight > 0 ? flow->weight : 1;
}

static void count(struct solve *s)
{
	for (size_t l = 0; l < s->n_links; l++)
		s->used[l] = s->open[l] = 0;
	for (size_t f = 0; f < s->n_flows; f++) {
		for (uint32_t k = 0; k < s->flow[f].n_links; k++) {
			s->used[s->flow[f].link[k]] += s->flow[f].rate;
			s->open[s->flow[f].link[k]] += s->frozen[f] ? 0 : weight(&s->flow[f]);
		}
	}
}

/* How far all open rates can rise until the first link or cap is full. */
static double headroom(const struct solve *s)
{
	double room = INFINITY;

	for (size_t l = 0; l < s->n_links; l++)
		if (s->open[l] > 0)
			room = fmin(room, (s->capacity[l] - s->used[l]) / s->open[l]);
	for (size_t f = 0; f < s->n_flows; f++)
		if (!s->frozen[f])
			room = fmin(room, (s->flow[f].cap - s->flow[f].rate) / weight(&s->flow[f]));
	return fmax(room, 0);
}

/* Freeze the open flows that are stopped by something with no more than `room`; raise the other open ones. */
static size_t raise_by(struct solve *s, double room)
{
	size_t frozen = 0;

	for (size_t f = 0; f < s->n_flows; f++) {
		struct mc_net_solve_flow *flow = &s->flow[f];
		bool full;

		if (s->frozen[f])
			continue;
		full = (flow->cap - flow->rate) / weight(flow) <= room;
		for (uint32_t k = 0; k < flow->n_links; k++) {
			uint32_t l = flow->link[k];

			full |= (s->capacity[l] - s->used[l]) / s->open[l] <= room;
		}
		flow->rate = fmin(flow->rate + room * weight(flow), flow->cap);
		s->frozen[f] = full;
		frozen += full;
	}
	return frozen;
}

void mc_net_solve(const double *capacity, size_t n_links, struct mc_net_solve_flow *flow, size_t n_flows)
{
	struct solve s = {
	    .capacity = capacity,
	    .n_links = n_links,
	    .n_flows = n_flows,
	    .flow = flow,
	    .frozen = mc_xcalloc(n_flows + 1, sizeof *s.frozen),
	    .used = mc_xcalloc(n_links + 1, sizeof *s.used),
	    .open = mc_xcalloc(n_links + 1, sizeof *s.open),
	};

	for (size_t f = 0; f < n_flows; f++)
		flow[f].rate = 0;
	for (size_t left = n_flows; left;) {
		size_t frozen;

		count(&s);
		frozen = raise_by(&s, headroom(&s));
		assert(frozen);
		left -= frozen;
	}
	free(s.frozen);
	free(s.used);
	free(s.open);
}
