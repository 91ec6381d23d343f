#include "trace/store.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

#include "base/vec.h"

void mc_trace_init(struct mc_trace *t, int64_t block_tokens)
{
	assert(block_tokens > 0);
	memset(t, 0, sizeof *t);
	t->block_tokens = t->id_tokens = block_tokens;
	t->first = mc_xcalloc(1, sizeof *t->first);
}

void mc_trace_fini(struct mc_trace *t)
{
	free(t->arrival);
	free(t->input);
	free(t->output);
	free(t->first);
	free(t->block);
	free(t->parent);
	memset(t, 0, sizeof *t);
}

void mc_trace_push(struct mc_trace *t, mc_time arrival, uint32_t input, uint32_t output, const uint64_t *ids)
{
	size_t i = (size_t)t->n, at = t->first[i];
	size_t n_ids = (input + (size_t)t->block_tokens - 1) / (size_t)t->block_tokens;

	if (i == t->cap) {
		size_t cap = t->cap + t->cap / 2 + 64;

		t->arrival = mc_xrealloc(t->arrival, cap, sizeof *t->arrival);
		t->input = mc_xrealloc(t->input, cap, sizeof *t->input);
		t->output = mc_xrealloc(t->output, cap, sizeof *t->output);
		t->first = mc_xrealloc(t->first, cap + 1, sizeof *t->first);
		if (t->parent)
			t->parent = mc_xrealloc(t->parent, cap, sizeof *t->parent);
		t->cap = cap;
	}
	if (n_ids > t->block_cap - at)
		t->block = mc_vec_grow(t->block, &t->block_cap, at + n_ids, sizeof *t->block);
	t->arrival[i] = arrival;
	t->input[i] = input;
	t->output[i] = output;
	if (n_ids)
		memcpy(t->block + at, ids, n_ids * sizeof *ids);
	t->first[i + 1] = at + n_ids;
	if (t->parent)
		t->parent[i] = -1;
	t->n++;
}

void mc_trace_set_parent(struct mc_trace *t, int64_t parent)
{
	assert(parent >= 0 && parent < t->n - 1);
	if (!t->parent) {
		t->parent = mc_xrealloc(NULL, t->cap, sizeof *t->parent);
		memset(t->parent, 0xff, (size_t)t->n * sizeof *t->parent); /* -1 */
	}
	t->parent[t->n - 1] = parent;
}

uint64_t mc_trace_hash(const struct mc_trace *t)
{
	uint64_t head[2] = {(uint64_t)t->n, (uint64_t)t->block_tokens}, h;
	size_t n = (size_t)t->n;
	XXH3_state_t *s = XXH3_createState();

	assert(s);
	XXH3_64bits_reset(s);
	XXH3_64bits_update(s, head, sizeof head);
	if (n) {
		XXH3_64bits_update(s, t->arrival, n * sizeof *t->arrival);
		XXH3_64bits_update(s, t->input, n * sizeof *t->input);
		XXH3_64bits_update(s, t->output, n * sizeof *t->output);
		XXH3_64bits_update(s, t->first, (n + 1) * sizeof *t->first);
		if (t->first[n])
			XXH3_64bits_update(s, t->block, t->first[n] * sizeof *t->block);
		if (t->parent)
			XXH3_64bits_update(s, t->parent, n * sizeof *t->parent);
	}
	h = XXH3_64bits_digest(s);
	XXH3_freeState(s);
	return h;
}
