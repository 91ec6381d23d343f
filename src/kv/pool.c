#include "kv/pool.h"

#include <assert.h>
#include <string.h>

#include "kv/pool_state.h"

/* As far as a lease has come along its prompt. */
struct walk {
	uint32_t depth; /* blocks */
	uint32_t run, entry;
};

struct mc_pool *mc_pool_new(struct mc_tree *tree, uint32_t node, uint32_t capacity,
			    const struct mc_evictor *evictor)
{
	struct mc_pool *p = mc_xcalloc(1, sizeof *p);

	assert(capacity && capacity <= MC_NONE / 2);
	p->tree = tree;
	p->node = node;
	p->free = MC_NONE;
	p->stats.capacity = capacity;
	p->evictor = evictor;
	p->order = evictor->create(capacity);
	while (tree->pool.n <= node)
		mc_vec_push(&tree->pool, NULL);
	tree->pool.at[node] = p;
	return p;
}

void mc_pool_foresee(struct mc_pool *p, const struct mc_future *future)
{
	p->future = future;
	if (p->evictor->foresee)
		p->evictor->foresee(p->order, future);
}

void mc_pool_note_evicted(struct mc_pool *p, struct mc_chains *chains)
{
	p->evicted = chains;
}

void mc_pool_free(struct mc_pool *p)
{
	if (!p)
		return;
	p->evictor->destroy(p->order);
	mc_vec_fini(&p->entry);
	free(p);
}

static void tell(const struct mc_pool *p, enum mc_news_of of, uint32_t run, uint32_t depth)
{
	mc_tree_tell(p->tree, &(struct mc_news){of, p->node, run, depth});
}

static uint32_t entry_new(struct mc_pool *p, const struct mc_pool_entry *it)
{
	uint32_t e = p->free;

	if (e == MC_NONE) {
		e = (uint32_t)p->entry.n;
		mc_vec_push(&p->entry, *it);
	} else {
		p->free = p->entry.at[e].parent;
		p->entry.at[e] = *it;
	}
	return e;
}

/* It was released or lost a child: can it go? */
static void entry_settle(struct mc_pool *p, uint32_t e)
{
	if (p->evictor->ready && !p->entry.at[e].pins && !p->entry.at[e].children)
		p->evictor->ready(p->order, e);
}

/* The pool gives up an unpinned entry without children. */
static void entry_drop(struct mc_pool *p, uint32_t e)
{
	struct mc_pool_entry *it = &p->entry.at[e];
	uint32_t parent = it->parent;

	assert(!it->pins && !it->children);
	p->evictor->remove(p->order, e);
	mc_run_copy_remove(p->tree, it->run, p->node);
	*it = (struct mc_pool_entry){.run = MC_NONE, .parent = p->free};
	p->free = e;
	if (parent != MC_NONE) {
		p->entry.at[parent].children--;
		entry_settle(p, parent);
	}
}

/* Its last n blocks go: evicted, or never came. */
static void entry_cut(struct mc_pool *p, uint32_t e, uint32_t n, bool evicted)
{
	struct mc_copy *c = mc_pool_copy(p, e);
	uint32_t held = c->held - n;

	tell(p, MC_NEWS_CUT, p->entry.at[e].run, mc_pool_run(p, e)->first + held);
	if (p->evictor->cut)
		p->evictor->cut(p->order, e, evicted ? mc_pool_run(p, e)->id + held : NULL, n);
	if (held)
		mc_run_copy_set(p->tree, mc_pool_run(p, e), c, held, mc_pool_least(c->resident, held));
	else
		entry_drop(p, e);
}

uint32_t mc_pool_entry_split(struct mc_pool *p, uint32_t e, uint32_t first)
{
	struct mc_pool_entry *it = &p->entry.at[e];
	uint32_t lead = entry_new(p, &(struct mc_pool_entry){first, it->parent, 1, it->pins, 0});

	it = &p->entry.at[e]; /* the table may have moved */
	it->parent = lead;
	p->evictor->split(p->order, lead, e, p->tree->run.at[first].n, !it->pins);
	return lead;
}

void mc_pool_entry_move(struct mc_pool *p, uint32_t e, uint32_t run)
{
	p->entry.at[e].run = run;
}

/* Pin what is here of the prompt; runs are cut where this lease leaves them. */
static void pin_present(struct mc_pool *p, const uint64_t *id, uint32_t n, struct walk *w)
{
	struct mc_tree *t = p->tree;

	while (w->depth < n) {
		uint32_t run = mc_run_find(t, id[w->depth]), k;
		struct mc_copy *c = run == MC_NONE ? NULL : mc_run_copy(&t->run.at[run], p->node);
		struct mc_pool_entry *it;

		if (!c)
			return;
		k = mc_pool_least(mc_run_common(&t->run.at[run], id + w->depth, n - w->depth), c->held);
		if (k < t->run.at[run].n) {
			run = mc_run_split(t, run, k);
			c = mc_run_copy(&t->run.at[run], p->node);
		}
		it = &p->entry.at[c->entry];
		if (!it->pins++) {
			p->evictor->pin(p->order, c->entry);
			p->stats.pinned += k;
		}
		if (p->evictor->hit)
			p->evictor->hit(p->order, c->entry);
		*w = (struct walk){w->depth + k, run, c->entry};
	}
}

/* The prompt up to the entry's last block, unless this lease has evicted from the entry or behind it before:
 * some policies go back and forth between prompts, a block at a time. */
static void note(struct mc_pool *p, uint32_t e)
{
	struct mc_chains *to = p->evicted;
	uint32_t n = mc_pool_run(p, e)->first + mc_pool_copy(p, e)->held;
	size_t from = to->id.n;

	if (p->entry.at[e].noted == p->leases)
		return;
	mc_vec_reserve(&to->id, from + n);
	to->id.n += n;
	for (; e != MC_NONE; e = p->entry.at[e].parent) {
		const struct mc_run *r = mc_pool_run(p, e);
		uint32_t held = mc_pool_copy(p, e)->held;

		memcpy(to->id.at + from + r->first, r->id, held * sizeof *r->id);
		p->entry.at[e].noted = p->leases;
	}
	mc_vec_push(&to->end, (uint32_t)to->id.n);
}

uint32_t mc_pool_make_room(struct mc_pool *p, uint32_t need)
{
	struct mc_pool_stats *s = &p->stats;

	p->leases += p->evicted != NULL;
	while (mc_pool_unused(p) < need) {
		uint32_t most = UINT32_MAX, v = p->evictor->victim(p->order, &most), take;
		struct mc_copy *c;

		if (v == MC_NONE)
			return mc_pool_unused(p);
		c = mc_pool_copy(p, v);
		assert(!p->entry.at[v].pins && !p->entry.at[v].children && c->resident == c->held);
		if (p->evicted)
			note(p, v);
		take = mc_pool_least(mc_pool_least(need - mc_pool_unused(p), c->held), most);
		s->present -= take;
		s->resident -= take;
		s->evicted += take;
		entry_cut(p, v, take, true);
	}
	return need;
}

/* Promise the prompt's blocks from where the walk stands, as far as there is room for them. */
static void promise(struct mc_pool *p, const uint64_t *id, uint32_t n, struct walk *w)
{
	struct mc_tree *t = p->tree;
	uint32_t room = mc_pool_make_room(p, n - w->depth), end = w->depth + room, from = w->entry;

	p->stats.refused += n - end;
	p->stats.present += room;
	p->stats.pinned += room;
	p->stats.inserted += room;
	while (w->depth < end) {
		uint32_t run = mc_run_find(t, id[w->depth]), k = end - w->depth, e;

		if (p->evictor->alike)
			k = p->evictor->alike(p->order, id + w->depth, k);
		if (run == MC_NONE) {
			run = mc_run_add(t, w->run, id + w->depth, k);
		} else {
			k = mc_run_common(&t->run.at[run], id + w->depth, k);
			if (k < t->run.at[run].n)
				run = mc_run_split(t, run, k);
		}
		e = entry_new(p, &(struct mc_pool_entry){run, w->entry, 0, 1, 0});
		if (w->entry != MC_NONE)
			p->entry.at[w->entry].children++;
		mc_run_copy_add(t, run, &(struct mc_copy){p->node, e, k, 0});
		*w = (struct walk){w->depth + k, run, e};
	}
	if (room)
		tell(p, MC_NEWS_HELD, w->run, w->depth);
	for (uint32_t e = w->entry; e != from; e = p->entry.at[e].parent) {
		const struct mc_run *r = mc_pool_run(p, e);

		p->evictor->insert(p->order, e, &(struct mc_blocks){r->id, r->n, r->first});
	}
}

struct mc_lease mc_pool_acquire(struct mc_pool *p, const uint64_t *id, uint32_t n)
{
	struct walk w = {0, MC_NONE, MC_NONE};

	pin_present(p, id, n, &w);
	promise(p, id, n, &w);
	return (struct mc_lease){w.entry, w.depth};
}

struct mc_lease mc_pool_pin(struct mc_pool *p, const uint64_t *id, uint32_t n)
{
	struct walk w = {0, MC_NONE, MC_NONE};

	pin_present(p, id, n, &w);
	assert(w.depth == n);
	return (struct mc_lease){w.entry, w.depth};
}

uint32_t mc_pool_resident(const struct mc_pool *p, const struct mc_lease *lease)
{
	for (uint32_t e = lease->tail; e != MC_NONE; e = p->entry.at[e].parent) {
		uint32_t resident = mc_pool_copy(p, e)->resident;

		if (resident) /* then so is all before it */
			return mc_pool_run(p, e)->first + resident;
	}
	return 0;
}

/* Is this block of the lease resident? */
static bool is_resident(const struct mc_pool *p, const struct mc_lease *lease, uint32_t block)
{
	uint32_t e = lease->tail;

	while (mc_pool_run(p, e)->first > block)
		e = p->entry.at[e].parent;
	return block - mc_pool_run(p, e)->first < mc_pool_copy(p, e)->resident;
}

void mc_pool_commit(struct mc_pool *p, const struct mc_lease *lease, uint32_t from, uint32_t depth)
{
	bool told = false;

	assert(from <= depth && depth <= lease->held);
	if (from == depth || (from && !is_resident(p, lease, from - 1)))
		return;
	for (uint32_t e = lease->tail; e != MC_NONE; e = p->entry.at[e].parent) {
		struct mc_run *r = mc_pool_run(p, e);
		struct mc_copy *c;
		uint32_t upto;

		if (r->first + r->n <=
		    from) /* the common beginning, which thousands may hold, is not looked up */
			break;
		c = mc_pool_copy(p, e);
		upto = depth > r->first ? mc_pool_least(depth - r->first, c->held) : 0;
		if (upto <= c->resident)
			continue;
		if (!told)
			tell(p, MC_NEWS_RESIDENT, p->entry.at[e].run, r->first + upto);
		told = true;
		p->stats.resident += upto - c->resident;
		mc_run_copy_set(p->tree, r, c, c->held, upto);
	}
}

void mc_pool_release(struct mc_pool *p, struct mc_lease *lease)
{
	uint32_t parent;

	for (uint32_t e = lease->tail; e != MC_NONE; e = parent) {
		struct mc_pool_entry *it = &p->entry.at[e];
		uint32_t kept, lost = 0;

		parent = it->parent;
		if (--it->pins)
			continue;
		if (it->children) { /* unpinned like this one, hence resident, hence so is all that is before
				       them */
			kept = mc_pool_run(p, e)->n;
		} else {
			kept = mc_pool_copy(p, e)->resident;
			lost = mc_pool_copy(p, e)->held - kept;
		}
		if (p->evictor->unpin)
			p->evictor->unpin(p->order, e);
		p->stats.pinned -= kept + lost;
		p->stats.present -= lost;
		p->stats.dropped += lost;
		if (lost)
			entry_cut(p, e, lost, false);
		if (kept)
			entry_settle(p, e);
	}
	*lease = (struct mc_lease){MC_NONE, 0};
}

void mc_pool_clear(struct mc_pool *p)
{
	tell(p, MC_NEWS_CLEARED, MC_NONE, 0);
	for (uint32_t e = 0; e < p->entry.n; e++)
		if (p->entry.at[e].run != MC_NONE)
			mc_run_copy_remove(p->tree, p->entry.at[e].run, p->node);
	p->entry.n = 0;
	p->free = MC_NONE;
	p->stats.lost += p->stats.present;
	p->stats.present = p->stats.resident = p->stats.pinned = p->stats.taken = 0;
	p->evictor->destroy(p->order);
	p->order = p->evictor->create(p->stats.capacity);
	if (p->future)
		mc_pool_foresee(p, p->future);
}

uint32_t mc_pool_discard(struct mc_pool *p, uint32_t run)
{
	const struct mc_copy *c = mc_run_copy(&p->tree->run.at[run], p->node);
	uint32_t n;

	if (!c || p->entry.at[c->entry].pins || p->entry.at[c->entry].children)
		return 0;
	n = c->held;
	p->stats.present -= n;
	p->stats.resident -= n;
	p->stats.discarded += n;
	entry_cut(p, c->entry, n, false);
	return n;
}

struct mc_pool_stats mc_pool_stats(const struct mc_pool *p)
{
	return p->stats;
}
