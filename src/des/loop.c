#include "des/loop.h"

#include <assert.h>
#include <string.h>

#include "base/vec.h"

#define ARITY    4
#define SEQ_BITS 48

/* Written without branches: on random times a branch here is mispredicted half the time. */
static inline bool before(const struct mc_loop_node *a, const struct mc_loop_node *b)
{
	return (a->at < b->at) | ((a->at == b->at) & (a->order < b->order));
}

static inline void place(struct mc_loop_node *heap, size_t i, struct mc_loop_node node)
{
	heap[i] = node;
	node.ev->pos = (uint32_t)i + 1;
}

/* Put node where it belongs on the way from the hole i to the root. */
static void sift_up(struct mc_loop_node *heap, size_t i, struct mc_loop_node node)
{
	while (i) {
		size_t up = (i - 1) / ARITY;

		if (!before(&node, &heap[up]))
			break;
		place(heap, i, heap[up]);
		i = up;
	}
	place(heap, i, node);
}

/* Put node where it belongs below the hole i, in a heap of n nodes. */
static void sift_down(struct mc_loop_node *heap, size_t n, size_t i, struct mc_loop_node node)
{
	for (;;) {
		size_t child = i * ARITY + 1, least = child;
		size_t end = child + ARITY < n ? child + ARITY : n;

		if (child >= n)
			break;
		while (++child < end)
			least = before(&heap[child], &heap[least]) ? child : least;
		if (!before(&heap[least], &node))
			break;
		place(heap, i, heap[least]);
		i = least;
	}
	place(heap, i, node);
}

/* Fill the hole i, where a node was taken out or changed, with node. */
static void refill(struct mc_loop *loop, size_t i, struct mc_loop_node node)
{
	if (i && before(&node, &loop->heap[(i - 1) / ARITY]))
		sift_up(loop->heap, i, node);
	else
		sift_down(loop->heap, loop->n, i, node);
}

void mc_loop_init(struct mc_loop *loop)
{
	memset(loop, 0, sizeof *loop);
}

void mc_loop_fini(struct mc_loop *loop)
{
	free(loop->heap);
	memset(loop, 0, sizeof *loop);
}

void mc_loop_at(struct mc_loop *loop, struct mc_event *ev, mc_time at)
{
	struct mc_loop_node node = {at, (uint64_t)ev->kind << SEQ_BITS | loop->sequence, ev};

	assert(at >= loop->now);
	loop->sequence++;
	assert(loop->sequence < UINT64_C(1) << SEQ_BITS);
	if (ev->pos) {
		refill(loop, ev->pos - 1, node);
		return;
	}
	if (loop->n == loop->cap) {
		assert(loop->n < UINT32_MAX);
		loop->heap = mc_vec_grow(loop->heap, &loop->cap, loop->n + 1, sizeof *loop->heap);
	}
	sift_up(loop->heap, loop->n++, node);
}

void mc_loop_cancel(struct mc_loop *loop, struct mc_event *ev)
{
	size_t i = ev->pos;
	struct mc_loop_node last;

	if (!i--)
		return;
	assert(loop->heap[i].ev == ev);
	ev->pos = 0;
	last = loop->heap[--loop->n];
	if (i < loop->n)
		refill(loop, i, last);
}

mc_time mc_loop_when(const struct mc_loop *loop, const struct mc_event *ev)
{
	assert(ev->pos && loop->heap[ev->pos - 1].ev == ev);
	return loop->heap[ev->pos - 1].at;
}

bool mc_loop_step(struct mc_loop *loop)
{
	struct mc_event *ev;

	if (!loop->n)
		return false;
	ev = loop->heap[0].ev;
	loop->now = loop->heap[0].at;
	ev->pos = 0;
	if (--loop->n)
		sift_down(loop->heap, loop->n, 0, loop->heap[loop->n]);
	loop->fired++;
	ev->fire(loop, ev);
	return true;
}

void mc_loop_run(struct mc_loop *loop, mc_time until)
{
	loop->stop = false;
	while (!loop->stop && loop->n && loop->heap[0].at <= until)
		mc_loop_step(loop);
}
