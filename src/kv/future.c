#include "kv/future.h"

#include <assert.h>

#include "base/map.h"
#include "base/vec.h"
#include "kv/evict.h"

struct mc_future {
	const struct mc_trace *trace;
	struct mc_map number; /* of an id: dense, in order of first use */
	uint32_t *of;         /* by place in trace->block: the id's number */
	uint32_t *after;      /* by place: the next request that names the id */
	uint32_t *first;      /* by number: the first request that names the id */
	uint32_t *next;       /* by number: the next one that has not come */
	uint32_t come;
};

static uint32_t number_of(struct mc_future *f, uint64_t id)
{
	uint32_t k = mc_map_get(&f->number, id);

	if (k == MC_MAP_NONE) {
		k = (uint32_t)f->number.n;
		mc_map_put(&f->number, id, k);
	}
	return k;
}

struct mc_future *mc_future_new(const struct mc_trace *t)
{
	struct mc_future *f = mc_xcalloc(1, sizeof *f);
	uint64_t places = t->first[t->n];

	assert(places < UINT32_MAX);
	f->trace = t;
	f->of = mc_xmalloc(places * sizeof *f->of);
	f->after = mc_xmalloc(places * sizeof *f->after);
	for (uint64_t i = 0; i < places; i++)
		f->of[i] = number_of(f, t->block[i]);
	f->first = mc_xmalloc(f->number.n * sizeof *f->first);
	f->next = mc_xmalloc(f->number.n * sizeof *f->next);
	for (size_t k = 0; k < f->number.n; k++)
		f->next[k] = MC_NONE;
	for (int64_t r = t->n; r-- > 0;)
		for (uint64_t i = t->first[r]; i < t->first[r + 1]; i++) {
			f->after[i] = f->next[f->of[i]];
			f->first[f->of[i]] = f->next[f->of[i]] = (uint32_t)r;
		}
	return f;
}

void mc_future_free(struct mc_future *f)
{
	if (!f)
		return;
	mc_map_fini(&f->number);
	free(f->of);
	free(f->after);
	free(f->first);
	free(f->next);
	free(f);
}

void mc_future_advance(struct mc_future *f, int64_t request)
{
	const struct mc_trace *t = f->trace;

	assert(request < t->n);
	for (; f->come <= request; f->come++)
		for (uint64_t i = t->first[f->come]; i < t->first[f->come + 1]; i++)
			f->next[f->of[i]] = f->after[i];
}

uint32_t mc_future_come(const struct mc_future *f)
{
	return f->come;
}

uint32_t mc_future_request(const struct mc_future *f, uint64_t id)
{
	uint32_t k = mc_map_get(&f->number, id);

	return k == MC_MAP_NONE ? MC_NONE : f->first[k];
}

uint32_t mc_future_next(const struct mc_future *f, uint32_t request, uint32_t block)
{
	assert(block < mc_trace_blocks(f->trace, request));
	return f->next[f->of[f->trace->first[request] + block]];
}
