#include "trace/number.h"

#include <assert.h>

#include "base/hash.h"
#include "base/vec.h"

struct table {
	struct {
		uint64_t id;
		uint32_t number; /* + 1; 0: free */
	} * slot;
	size_t mask;
	uint32_t n;
};

static void grow(struct table *h)
{
	struct table old = *h;

	h->mask = old.slot ? 2 * old.mask + 1 : 1023;
	h->slot = mc_xcalloc(h->mask + 1, sizeof *h->slot);
	for (size_t i = 0; old.slot && i <= old.mask; i++) {
		size_t at = mc_hash_u64(old.slot[i].id) & h->mask;

		if (!old.slot[i].number)
			continue;
		while (h->slot[at].number)
			at = (at + 1) & h->mask;
		h->slot[at] = old.slot[i];
	}
	free(old.slot);
}

static uint32_t number_of(struct table *h, uint64_t id)
{
	size_t at;

	if (!h->slot || 2 * (size_t)h->n >= h->mask)
		grow(h);
	at = mc_hash_u64(id) & h->mask;
	while (h->slot[at].number && h->slot[at].id != id)
		at = (at + 1) & h->mask;
	if (!h->slot[at].number) {
		assert(h->n < UINT32_MAX - 1);
		h->slot[at].id = id;
		h->slot[at].number = ++h->n;
	}
	return h->slot[at].number - 1;
}

uint32_t *mc_trace_number(const struct mc_trace *t, uint32_t *distinct)
{
	uint32_t *number = mc_xmalloc((size_t)t->first[t->n] * sizeof *number);
	struct table h = {0};

	for (uint64_t i = 0; i < t->first[t->n]; i++)
		number[i] = number_of(&h, t->block[i]);
	*distinct = h.n;
	free(h.slot);
	return number;
}
