#include "trace/hot.h"

#include <assert.h>
#include <stdlib.h>

#include "base/vec.h"
#include "trace/number.h"

/* A rank that is looked for: after `skip` others, first of all blocks, then of those with this many uses. */
struct sought {
	uint64_t skip;
	uint32_t uses;
	uint32_t number;
};

/* Uses of each number; *most is the highest. */
static uint32_t *count_uses(const struct mc_trace *t, const struct mc_trace_numbers *numbers, uint32_t *most)
{
	uint32_t *uses = mc_xcalloc(numbers->distinct, sizeof *uses);

	*most = 0;
	for (uint64_t j = 0; j < t->first[t->n]; j++)
		if (++uses[numbers->of[j]] > *most)
			*most = uses[numbers->of[j]];
	return uses;
}

/* Which block has each rank: numbers are in order of first appearance, so are those of equal uses. */
static void find_numbers(const uint32_t *uses, uint32_t distinct, uint32_t most, struct sought *s, uint32_t n)
{
	uint64_t *of_uses = mc_xcalloc((size_t)most + 1, sizeof *of_uses), before = 0;
	uint32_t c = most, r = 0;

	for (uint32_t i = 0; i < distinct; i++)
		of_uses[uses[i]]++;
	for (; r < n; r++) {
		while (before + of_uses[c] <= s[r].skip)
			before += of_uses[c--];
		s[r].uses = c;
		s[r].skip -= before;
	}
	for (uint32_t i = 0; i < distinct; i++)
		for (r = 0; r < n; r++)
			if (s[r].uses == uses[i] && s[r].skip-- == 0)
				s[r].number = i;
	free(of_uses);
}

/* A number's first appearance is where the next new number is due. */
static void find_places(const struct mc_trace *t, const struct mc_trace_numbers *numbers,
			const struct sought *s, uint32_t n, struct mc_trace_ranked *out)
{
	uint32_t next = 0;

	for (int64_t i = 0; i < t->n; i++)
		for (uint64_t j = t->first[i]; j < t->first[i + 1]; j++) {
			if (numbers->of[j] != next)
				continue;
			for (uint32_t r = 0; r < n; r++)
				if (s[r].number == next) {
					out[r].request = i;
					out[r].position = j - t->first[i];
				}
			next++;
		}
}

uint32_t mc_trace_ranks(const struct mc_trace *t, const uint64_t *rank, uint32_t n,
			struct mc_trace_ranked *out)
{
	struct sought *s = mc_xcalloc(n, sizeof *s);
	struct mc_trace_numbers numbers;
	uint32_t *uses, most, there = 0;

	mc_trace_numbers_init(&numbers, t);
	uses = count_uses(t, &numbers, &most);
	for (; there < n && rank[there] <= numbers.distinct; there++) {
		assert(rank[there] && (!there || rank[there] > rank[there - 1]));
		s[there].skip = rank[there] - 1;
	}
	find_numbers(uses, numbers.distinct, most, s, there);
	for (uint32_t r = 0; r < there; r++)
		out[r] = (struct mc_trace_ranked){.rank = rank[r], .uses = s[r].uses};
	find_places(t, &numbers, s, there, out);
	free(uses);
	free(s);
	mc_trace_numbers_fini(&numbers);
	return there;
}
