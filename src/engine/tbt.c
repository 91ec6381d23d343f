#include "engine/tbt.h"

#include <assert.h>

/* Move heap[at] down until no child is longer. */
static void tail_sift(struct mc_tail *heap, size_t n, size_t at)
{
	struct mc_tail moved = heap[at];

	for (size_t child; (child = 2 * at + 1) < n; at = child) {
		if (child + 1 < n && heap[child + 1].longest > heap[child].longest)
			child++;
		if (heap[child].longest <= moved.longest)
			break;
		heap[at] = heap[child];
	}
	heap[at] = moved;
}

static mc_time iteration(const struct mc_tbt *t, const struct mc_segment *s, uint32_t k)
{
	return mc_cost_decode_ns(t->cost, s->batch, s->context + (int64_t)k * s->batch);
}

void mc_tbt_add(struct mc_tbt *t, mc_time interval)
{
	mc_vec_push(&t->tails, ((struct mc_tail){interval, NULL, 0, 0}));
	t->intervals++;
}

void mc_tbt_add_segments(struct mc_tbt *t, const struct mc_segment *from, const struct mc_segment *end)
{
	for (const struct mc_segment *s = from; s < end; s++) {
		uint32_t least = s == from || s->lead;

		t->intervals += s->count - least;
		if (s != from && s->lead)
			mc_tbt_add(t, s->lead + iteration(t, s, 0));
		if (s->count > least)
			mc_vec_push(&t->tails, ((struct mc_tail){iteration(t, s, s->count - 1), s,
								 s->count - 1, least}));
	}
}

mc_time mc_tbt_mean(struct mc_tbt *t)
{
	uint32_t top = mc_tbt_tail((uint32_t)t->intervals);
	struct mc_tail *heap = t->tails.at;
	size_t n = t->tails.n;
	mc_time sum = 0;

	assert(t->intervals && t->intervals <= UINT32_MAX);
	for (size_t i = n / 2; i-- > 0;)
		tail_sift(heap, n, i);
	for (uint32_t taken = 0; taken < top; taken++) {
		sum += heap[0].longest;
		if (heap[0].segment && heap[0].k > heap[0].least)
			heap[0].longest = iteration(t, heap[0].segment, --heap[0].k);
		else
			heap[0] = heap[--n];
		if (n)
			tail_sift(heap, n, 0);
	}
	return (sum + top / 2) / top;
}
