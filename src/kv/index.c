#include "kv/index.h"

#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"

enum {
	INLINE = 2,   /* copies kept in the slot itself: most blocks have one or two */
	HEAP_MIN = 4, /* smallest array beyond that */
	TABLE_MIN = 256,
	AHEAD = 6, /* buckets prefetched ahead of a walk along a prompt */
};

struct slot {
	uint64_t id;
	uint32_t holders; /* 0: free */
	uint32_t residents : 31, on_heap : 1;
	union {
		struct mc_holder in[INLINE];
		struct {
			struct mc_holder *at;
			uint32_t cap; /* a power of two */
		} heap;
		uint32_t next; /* of the free list */
	};
};

/* Small, since a walk along the table is what misses the cache: the id itself is in the slot. */
struct bucket {
	uint32_t tag;  /* low half of the id's hash */
	uint32_t slot; /* MC_NONE: empty */
};

struct mc_index {
	struct bucket *table;
	uint32_t mask; /* buckets - 1; buckets are a power of two, at most half of them full */
	struct {
		MC_VEC(struct slot)
	} slots;
	uint32_t free; /* head of the free list */
	uint32_t size;
};

static struct bucket *table_new(size_t n)
{
	struct bucket *t = mc_xmalloc(n * sizeof *t);

	for (size_t i = 0; i < n; i++)
		t[i] = (struct bucket){.slot = MC_NONE};
	return t;
}

struct mc_index *mc_index_new(void)
{
	struct mc_index *ix = mc_xcalloc(1, sizeof *ix);

	ix->table = table_new(TABLE_MIN);
	ix->mask = TABLE_MIN - 1;
	ix->free = MC_NONE;
	return ix;
}

void mc_index_free(struct mc_index *ix)
{
	if (!ix)
		return;
	for (size_t i = 0; i < ix->slots.n; i++)
		if (ix->slots.at[i].holders && ix->slots.at[i].on_heap)
			free(ix->slots.at[i].heap.at);
	mc_vec_fini(&ix->slots);
	free(ix->table);
	free(ix);
}

static inline uint32_t tag(uint64_t id)
{
	return (uint32_t)mc_hash_u64(id);
}

/* The bucket of an id with this tag, or the empty one where it would go. */
static inline uint32_t probe(const struct mc_index *ix, uint64_t id, uint32_t t)
{
	uint32_t b = t & ix->mask;
	struct bucket at;

	for (;; b = (b + 1) & ix->mask) {
		at = ix->table[b];
		if (at.slot == MC_NONE || (at.tag == t && ix->slots.at[at.slot].id == id))
			return b;
	}
}

static void table_double(struct mc_index *ix)
{
	struct bucket *old = ix->table;
	size_t n = (size_t)ix->mask + 1;

	assert(n <= MC_NONE / 2);
	ix->table = table_new(2 * n);
	ix->mask = (uint32_t)(2 * n - 1);
	for (size_t i = 0; i < n; i++) {
		uint32_t b = old[i].tag & ix->mask;

		if (old[i].slot == MC_NONE)
			continue;
		while (ix->table[b].slot != MC_NONE)
			b = (b + 1) & ix->mask;
		ix->table[b] = old[i];
	}
	free(old);
}

/* Close the gap: a later bucket of the run moves up unless that would put it before its home. */
static void table_remove(struct mc_index *ix, uint32_t gap)
{
	for (uint32_t b = gap;;) {
		b = (b + 1) & ix->mask;
		if (ix->table[b].slot == MC_NONE)
			break;
		if (((b - ix->table[b].tag) & ix->mask) >= ((b - gap) & ix->mask)) {
			ix->table[gap] = ix->table[b];
			gap = b;
		}
	}
	ix->table[gap].slot = MC_NONE;
}

void mc_index_prefetch(const struct mc_index *ix, uint64_t id)
{
	__builtin_prefetch(&ix->table[tag(id) & ix->mask]);
}

void mc_index_prefetch_slot(const struct mc_index *ix, uint32_t slot)
{
	__builtin_prefetch(&ix->slots.at[slot]);
}

uint32_t mc_index_find(const struct mc_index *ix, uint64_t id)
{
	return ix->table[probe(ix, id, tag(id))].slot;
}

/* The buckets, then the slots that they name, are fetched ahead of the walk: alone, each would be a miss. */
uint32_t mc_index_resolve(const struct mc_index *ix, const uint64_t *id, uint32_t n, uint32_t *slot)
{
	uint32_t i;

	for (i = 0; i < n && i < 2 * AHEAD; i++)
		mc_index_prefetch(ix, id[i]);
	for (i = 0; i < n; i++) {
		if (n - i > 2 * AHEAD)
			mc_index_prefetch(ix, id[i + 2 * AHEAD]);
		if (n - i > AHEAD) {
			struct bucket b = ix->table[tag(id[i + AHEAD]) & ix->mask];

			if (b.slot != MC_NONE)
				mc_index_prefetch_slot(ix, b.slot);
		}
		slot[i] = mc_index_find(ix, id[i]);
		if (slot[i] == MC_NONE)
			break;
	}
	return i;
}

static const struct slot *slot_get(const struct mc_index *ix, uint32_t slot)
{
	assert(slot < ix->slots.n && ix->slots.at[slot].holders);
	return &ix->slots.at[slot];
}

static const struct mc_holder *copies(const struct slot *s)
{
	return s->on_heap ? s->heap.at : s->in;
}

/* How many of n copies belong to nodes before this one. Without branches: which way it goes is a coin toss.
 */
static uint32_t rank(const struct mc_holder *h, uint32_t n, uint32_t node)
{
	const struct mc_holder *base = h;

	while (n > 1) {
		uint32_t half = n / 2;

		base += base[half - 1].node < node ? half : 0;
		n -= half;
	}
	return (uint32_t)(base - h) + (n && base->node < node);
}

const struct mc_holder *mc_index_holders(const struct mc_index *ix, uint32_t slot, uint32_t *n)
{
	const struct slot *s = slot_get(ix, slot);

	*n = s->holders;
	return copies(s);
}

const struct mc_holder *mc_index_at(const struct mc_index *ix, uint32_t slot, uint32_t node)
{
	const struct slot *s = slot_get(ix, slot);
	const struct mc_holder *h = copies(s);
	uint32_t i = rank(h, s->holders, node);

	return i < s->holders && h[i].node == node ? &h[i] : NULL;
}

uint32_t mc_index_residents(const struct mc_index *ix, uint32_t slot)
{
	return slot_get(ix, slot)->residents;
}

uint64_t mc_index_id(const struct mc_index *ix, uint32_t slot)
{
	return slot_get(ix, slot)->id;
}

uint32_t mc_index_size(const struct mc_index *ix)
{
	return ix->size;
}

static uint32_t slot_take(struct mc_index *ix, uint64_t id)
{
	uint32_t i = ix->free;

	if (i != MC_NONE) {
		ix->free = ix->slots.at[i].next;
	} else {
		assert(ix->slots.n < MC_NONE);
		i = (uint32_t)ix->slots.n;
		mc_vec_reserve(&ix->slots, ix->slots.n + 1);
		ix->slots.n++;
	}
	ix->slots.at[i] = (struct slot){.id = id};
	ix->size++;
	return i;
}

/* Room for one more copy. */
static struct mc_holder *slot_grow(struct slot *s)
{
	if (!s->on_heap) {
		if (s->holders < INLINE)
			return s->in;
		struct mc_holder *at = mc_xmalloc(HEAP_MIN * sizeof *at);

		memcpy(at, s->in, sizeof s->in);
		s->heap.at = at;
		s->heap.cap = HEAP_MIN;
		s->on_heap = 1;
	} else if (s->holders == s->heap.cap) {
		s->heap.cap *= 2;
		s->heap.at = mc_xrealloc(s->heap.at, s->heap.cap, sizeof *s->heap.at);
	}
	return s->heap.at;
}

/* Halve an array that is three quarters empty, so that a block once hot does not keep its memory. */
static void slot_shrink(struct slot *s)
{
	if (!s->on_heap || s->holders > s->heap.cap / 4)
		return;
	if (s->heap.cap > HEAP_MIN) {
		s->heap.cap /= 2;
		s->heap.at = mc_xrealloc(s->heap.at, s->heap.cap, sizeof *s->heap.at);
	} else {
		struct mc_holder *at = s->heap.at;

		memcpy(s->in, at, s->holders * sizeof *at);
		s->on_heap = 0;
		free(at);
	}
}

uint32_t mc_index_add(struct mc_index *ix, uint64_t id, uint32_t node, uint32_t entry, bool resident)
{
	uint32_t t = tag(id), b = probe(ix, id, t);
	struct mc_holder *h;
	struct slot *s;
	uint32_t slot = ix->table[b].slot, i;

	assert(entry <= MC_NONE / 2);
	if (slot == MC_NONE) {
		if (ix->size > ix->mask / 2) {
			table_double(ix);
			b = probe(ix, id, t);
		}
		slot = slot_take(ix, id);
		ix->table[b] = (struct bucket){.tag = t, .slot = slot};
	}
	s = &ix->slots.at[slot];
	h = slot_grow(s);
	i = rank(h, s->holders, node);
	assert(i == s->holders || h[i].node != node); /* else: ids that are not chained to their prefix */
	memmove(h + i + 1, h + i, (s->holders - i) * sizeof *h);
	h[i] = (struct mc_holder){.node = node, .entry = entry, .resident = resident};
	s->holders++;
	s->residents += resident;
	return slot;
}

void mc_index_set_resident(struct mc_index *ix, uint32_t slot, uint32_t node)
{
	struct mc_holder *h = (struct mc_holder *)mc_index_at(ix, slot, node);

	assert(h);
	ix->slots.at[slot].residents += !h->resident;
	h->resident = 1;
}

void mc_index_remove(struct mc_index *ix, uint32_t slot, uint32_t node)
{
	struct mc_holder *h = (struct mc_holder *)mc_index_at(ix, slot, node);
	struct slot *s;
	uint32_t i;

	assert(h);
	s = &ix->slots.at[slot];
	i = (uint32_t)(h - copies(s));
	s->residents -= h->resident;
	memmove(h, h + 1, (s->holders - i - 1) * sizeof *h);
	s->holders--;
	slot_shrink(s);
	if (s->holders)
		return;
	table_remove(ix, probe(ix, s->id, tag(s->id)));
	s->next = ix->free;
	ix->free = slot;
	ix->size--;
}

static int slot_check(const struct mc_index *ix, uint32_t i, struct mc_err *err)
{
	const struct slot *s = &ix->slots.at[i];
	const struct mc_holder *h = copies(s);
	uint32_t residents = 0;

	if (mc_index_find(ix, s->id) != i)
		return mc_err_set(err, MC_FAIL, "index: slot %u is not found by its id", i);
	for (uint32_t k = 0; k < s->holders; k++) {
		residents += h[k].resident;
		if (k && h[k].node <= h[k - 1].node)
			return mc_err_set(err, MC_FAIL, "index: copies of slot %u are not sorted", i);
	}
	if (residents != s->residents)
		return mc_err_set(err, MC_FAIL, "index: slot %u counts %u resident copies, has %u", i,
				  (uint32_t)s->residents, residents);
	return 0;
}

int mc_index_check(const struct mc_index *ix, struct mc_err *err)
{
	uint32_t used = 0, full = 0, unused = 0;

	for (uint32_t i = 0; i < ix->slots.n; i++) {
		if (!ix->slots.at[i].holders)
			continue;
		used++;
		if (slot_check(ix, i, err))
			return MC_FAIL;
	}
	for (size_t b = 0; b <= ix->mask; b++)
		full += ix->table[b].slot != MC_NONE;
	for (uint32_t i = ix->free; i != MC_NONE; i = ix->slots.at[i].next)
		unused++;
	if (used != ix->size || full != used || used + unused != ix->slots.n)
		return mc_err_set(err, MC_FAIL,
				  "index: size %u, but %u slots and %u buckets in use, %u of %zu free",
				  ix->size, used, full, unused, ix->slots.n);
	return 0;
}
