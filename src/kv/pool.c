#include "kv/pool.h"

#include <assert.h>

#include "base/vec.h"

enum {
	EVICT_BATCH = 32, /* victims dropped together */
	AHEAD = 8,        /* buckets fetched ahead of their insertion */
};

struct entry {
	uint32_t slot; /* in the index; MC_NONE: free */
	uint32_t
	    parent; /* the block before it, always present; MC_NONE: first of a prompt. Free: the next free */
	uint32_t children; /* present blocks that are chained to it */
	uint32_t pins : 31, resident : 1;
};

struct mc_pool {
	struct mc_index *ix;
	const struct mc_evictor *evictor;
	void *order; /* the evictor's state */
	struct {
		MC_VEC(struct entry)
	} entry;
	uint32_t free; /* head of the free list */
	uint32_t node;
	struct mc_pool_stats stats;
};

struct mc_pool *mc_pool_new(struct mc_index *ix, uint32_t node, uint32_t capacity,
			    const struct mc_evictor *evictor)
{
	struct mc_pool *p = mc_xcalloc(1, sizeof *p);

	assert(capacity && capacity <= MC_NONE / 2);
	p->ix = ix;
	p->node = node;
	p->free = MC_NONE;
	p->stats.capacity = capacity;
	p->evictor = evictor;
	p->order = evictor->create(capacity);
	return p;
}

void mc_pool_free(struct mc_pool *p)
{
	if (!p)
		return;
	p->evictor->destroy(p->order);
	mc_vec_fini(&p->entry);
	free(p);
}

/* Both matches are binary searches: a node that holds a block holds all blocks before it. */
uint32_t mc_pool_match(const struct mc_pool *p, const uint32_t *slot, uint32_t n)
{
	uint32_t lo = 0;

	while (lo < n) {
		uint32_t mid = lo + (n - lo) / 2;

		if (mc_index_at(p->ix, slot[mid], p->node))
			lo = mid + 1;
		else
			n = mid;
	}
	return lo;
}

uint32_t mc_pool_match_resident(const struct mc_pool *p, const uint32_t *slot, uint32_t n)
{
	uint32_t lo = 0;

	while (lo < n) {
		uint32_t mid = lo + (n - lo) / 2;
		const struct mc_holder *h = mc_index_at(p->ix, slot[mid], p->node);

		if (h && h->resident)
			lo = mid + 1;
		else
			n = mid;
	}
	return lo;
}

/* The entry of a block, MC_NONE: not here. */
static uint32_t find(const struct mc_pool *p, uint64_t id)
{
	uint32_t slot = mc_index_find(p->ix, id);
	const struct mc_holder *h = slot == MC_NONE ? NULL : mc_index_at(p->ix, slot, p->node);

	return h ? h->entry : MC_NONE;
}

static void pin_chain(struct mc_pool *p, struct mc_lease lease)
{
	uint32_t depth = 0;

	for (uint32_t e = lease.tail; e != MC_NONE; e = p->entry.at[e].parent, depth++) {
		if (!p->entry.at[e].pins++) {
			p->evictor->pin(p->order, e);
			p->stats.pinned++;
		}
	}
	assert(depth == lease.held); /* else: ids that are not chained to their prefix */
}

/* First half of a block's end: out of the order and of its chain. */
static void unlink_entry(struct mc_pool *p, uint32_t e)
{
	struct entry *it = &p->entry.at[e];

	assert(!it->pins && !it->children);
	p->evictor->remove(p->order, e);
	if (it->parent != MC_NONE)
		p->entry.at[it->parent].children--;
	p->stats.present--;
	p->stats.resident -= it->resident;
}

/* Second half: out of the index. */
static void forget(struct mc_pool *p, uint32_t e)
{
	struct entry *it = &p->entry.at[e];

	mc_index_remove(p->ix, it->slot, p->node);
	it->slot = MC_NONE;
	it->parent = p->free;
	p->free = e;
}

/*
 * Evict n blocks, or as many as can go. A few at a time, so that what the index will touch for each (its
 * slot, then its bucket) is fetched from memory for all of them at once.
 */
static void evict(struct mc_pool *p, uint32_t n)
{
	uint32_t batch[EVICT_BATCH], k;

	do {
		for (k = 0; k < n && k < EVICT_BATCH; k++) {
			batch[k] = p->evictor->victim(p->order);
			if (batch[k] == MC_NONE)
				break;
			unlink_entry(p, batch[k]);
			mc_index_prefetch_slot(p->ix, p->entry.at[batch[k]].slot);
		}
		for (uint32_t i = 0; i < k; i++)
			mc_index_prefetch(p->ix, mc_index_id(p->ix, p->entry.at[batch[i]].slot));
		for (uint32_t i = 0; i < k; i++)
			forget(p, batch[i]);
		p->stats.evicted += k;
		n -= k;
	} while (n && k == EVICT_BATCH);
}

/* A promised block, pinned once, chained to parent, which is pinned and thus stays. */
static uint32_t insert(struct mc_pool *p, uint64_t id, uint32_t parent)
{
	uint32_t e = p->free;

	if (e != MC_NONE) {
		p->free = p->entry.at[e].parent;
	} else {
		e = (uint32_t)p->entry.n;
		mc_vec_reserve(&p->entry, p->entry.n + 1);
		p->entry.n++;
	}
	p->entry.at[e] = (struct entry){
	    .slot = mc_index_add(p->ix, id, p->node, e, false),
	    .parent = parent,
	    .pins = 1,
	};
	if (parent != MC_NONE)
		p->entry.at[parent].children++;
	p->evictor->insert(p->order, e);
	p->stats.present++;
	p->stats.pinned++;
	p->stats.inserted++;
	return e;
}

struct mc_lease mc_pool_acquire(struct mc_pool *p, const uint64_t *id, uint32_t n)
{
	struct mc_lease lease = {.tail = MC_NONE};
	uint32_t hi = n, room;

	while (lease.held < hi) {
		uint32_t mid = lease.held + (hi - lease.held) / 2, e = find(p, id[mid]);

		if (e != MC_NONE) {
			lease.tail = e;
			lease.held = mid + 1;
		} else {
			hi = mid;
		}
	}
	pin_chain(p, lease);
	for (uint32_t i = lease.held; i < n && i < lease.held + AHEAD; i++)
		mc_index_prefetch(p->ix, id[i]);
	room = p->stats.capacity - p->stats.present;
	if (n - lease.held > room)
		evict(p, n - lease.held - room);
	for (; lease.held < n && p->stats.present < p->stats.capacity; lease.held++) {
		if (n - lease.held > AHEAD)
			mc_index_prefetch(p->ix, id[lease.held + AHEAD]);
		lease.tail = insert(p, id[lease.held], lease.tail);
	}
	p->stats.refused += n - lease.held;
	return lease;
}

struct mc_lease mc_pool_pin(struct mc_pool *p, const uint64_t *id, uint32_t n)
{
	struct mc_lease lease = {.tail = n ? find(p, id[n - 1]) : MC_NONE, .held = n};

	pin_chain(p, lease);
	return lease;
}

void mc_pool_commit(struct mc_pool *p, const struct mc_lease *lease, uint32_t from, uint32_t depth)
{
	uint32_t first = lease->tail, e, i;

	assert(from <= depth && depth <= lease->held);
	for (i = lease->held; i > depth; i--)
		first = p->entry.at[first].parent;
	/* Up to the last resident block, or the one before `from`. */
	for (e = first; i > from && !p->entry.at[e].resident; i--)
		e = p->entry.at[e].parent;
	if (e != MC_NONE && !p->entry.at[e].resident)
		return;
	for (i = first; i != e; i = p->entry.at[i].parent) {
		p->entry.at[i].resident = 1;
		mc_index_set_resident(p->ix, p->entry.at[i].slot, p->node);
		p->stats.resident++;
	}
}

void mc_pool_release(struct mc_pool *p, struct mc_lease *lease)
{
	uint32_t parent;

	for (uint32_t e = lease->tail; e != MC_NONE; e = parent) {
		struct entry *it = &p->entry.at[e];

		parent = it->parent;
		assert(it->pins && lease->held);
		lease->held--;
		if (--it->pins)
			continue;
		p->stats.pinned--;
		p->evictor->unpin(p->order, e);
		if (!it->resident) {
			unlink_entry(p, e);
			forget(p, e);
			p->stats.dropped++;
		}
	}
	assert(!lease->held);
	lease->tail = MC_NONE;
}

struct mc_pool_stats mc_pool_stats(const struct mc_pool *p)
{
	return p->stats;
}

static int entry_check(const struct mc_pool *p, uint32_t e, struct mc_err *err)
{
	const struct entry *it = &p->entry.at[e], *up;
	const struct mc_holder *h = mc_index_at(p->ix, it->slot, p->node);

	if (!h || h->entry != e || h->resident != it->resident)
		return mc_err_set(err, MC_FAIL, "pool %u: the index disagrees about entry %u", p->node, e);
	if (!it->pins && !it->resident)
		return mc_err_set(err, MC_FAIL, "pool %u: entry %u is promised by nobody", p->node, e);
	if (it->parent == MC_NONE)
		return 0;
	up = &p->entry.at[it->parent];
	if (it->parent >= p->entry.n || up->slot == MC_NONE)
		return mc_err_set(err, MC_FAIL, "pool %u: entry %u outlived its prefix", p->node, e);
	if (it->resident && !up->resident)
		return mc_err_set(err, MC_FAIL, "pool %u: entry %u is resident after a promised one", p->node,
				  e);
	return 0;
}

/* What the children of every entry add up to. */
struct sum {
	uint32_t children;
	uint64_t pins;
};

static int sums_check(const struct mc_pool *p, const struct sum *sum, struct mc_err *err)
{
	for (size_t e = 0; e < p->entry.n; e++) {
		const struct entry *it = &p->entry.at[e];

		if (it->slot != MC_NONE && (it->children != sum[e].children || it->pins < sum[e].pins))
			return mc_err_set(err, MC_FAIL,
					  "pool %u: entry %zu has %u children, %u pins; found %u, %llu",
					  p->node, e, it->children, (uint32_t)it->pins, sum[e].children,
					  (unsigned long long)sum[e].pins);
	}
	return 0;
}

static int counts_check(const struct mc_pool *p, struct mc_err *err)
{
	struct mc_pool_stats s = p->stats;
	uint32_t present = 0, resident = 0, pinned = 0, unused = 0;

	for (size_t e = 0; e < p->entry.n; e++) {
		if (p->entry.at[e].slot == MC_NONE)
			continue;
		present++;
		resident += p->entry.at[e].resident;
		pinned += p->entry.at[e].pins > 0;
	}
	for (uint32_t e = p->free; e != MC_NONE; e = p->entry.at[e].parent)
		unused++;
	if (present != s.present || resident != s.resident || pinned != s.pinned || present > s.capacity ||
	    present + unused != p->entry.n || s.inserted != present + s.evicted + s.dropped)
		return mc_err_set(
		    err, MC_FAIL,
		    "pool %u: %u present, %u resident, %u pinned, %u free entries; counted %u, %u, %u, %zu",
		    p->node, present, resident, pinned, unused, s.present, s.resident, s.pinned,
		    p->entry.n - s.present);
	return 0;
}

int mc_pool_check(const struct mc_pool *p, struct mc_err *err)
{
	struct sum *sum = mc_xcalloc(p->entry.n, sizeof *sum);
	int rc = counts_check(p, err);

	for (uint32_t e = 0; !rc && e < p->entry.n; e++) {
		const struct entry *it = &p->entry.at[e];

		if (it->slot == MC_NONE)
			continue;
		rc = entry_check(p, e, err);
		if (!rc && it->parent != MC_NONE) {
			sum[it->parent].children++;
			sum[it->parent].pins += it->pins;
		}
	}
	rc = rc ? rc : sums_check(p, sum, err);
	free(sum);
	return rc;
}
