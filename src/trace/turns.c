#include "trace/turns.h"

#include <stdbool.h>
#include <string.h>

#include "base/vec.h"

/*
 * Does prompt b begin with prompt a and its answer, as far as ids can tell? Then *shared are the leading
 * blocks that both name. A partial block has an id of its own, and so have blocks that were derived from it.
 */
static bool goes_on(const struct mc_trace *t, int64_t a, int64_t b, uint32_t *shared)
{
	const uint64_t *x = t->block + t->first[a], *y = t->block + t->first[b];
	uint64_t size = (uint64_t)t->block_tokens, read = (uint64_t)t->id_tokens, n = 0;
	uint64_t whole = (read > size ? t->input[a] / read * read : t->input[a]) / size;

	if (t->input[b] < (uint64_t)t->input[a] + t->output[a])
		return false;
	while (n < t->input[a] / size && x[n] == y[n])
		n++;
	*shared = (uint32_t)n;
	return n >= whole;
}

struct mc_trace_turn *mc_trace_turns(const struct mc_trace *t)
{
	struct mc_trace_turn *turn;

	if (!t->parent)
		return NULL;
	turn = mc_xmalloc((size_t)t->n * sizeof *turn);
	for (int64_t i = 0; i < t->n; i++)
		turn[i] = (struct mc_trace_turn){-1, 0, 0};
	/* Backwards, so that the first child is the last to be noted. */
	for (int64_t i = t->n - 1; i >= 0; i--)
		if (t->parent[i] >= 0)
			turn[t->parent[i]].next = i;
	for (int64_t i = 0; i < t->n; i++) {
		uint64_t kv = (uint64_t)t->input[i] + t->output[i] - (t->output[i] > 0);

		turn[i].to = (uint32_t)(kv / (uint64_t)t->block_tokens);
		if (turn[i].next >= 0 &&
		    (!goes_on(t, i, turn[i].next, &turn[i].from) || turn[i].from >= turn[i].to))
			turn[i].next = -1;
	}
	return turn;
}
