#include "kv/pool.h"

#include <assert.h>
#include <string.h>

#include "base/vec.h"
#include "kv/run.h"

/* The pool's copy of a run. */
struct entry {
	uint32_t run;      /* MC_NONE: free */
	uint32_t parent;   /* entry of the run before it, always whole; MC_NONE: first of a prompt. Free: the
			      next free */
	uint32_t children; /* entries that are chained to it */
	uint32_t pins;
	uint32_t noted; /* number of the last lease that noted its blocks (mc_pool_note_evicted) */
};

struct mc_pool {
	struct mc_tree *tree;
	const struct mc_evictor *evictor;
	void *order; /* the evictor's state */
	const struct mc_future *future;
	struct {
		MC_VEC(struct entry)
	} entry;
	uint32_t free;             /* head of the free list */
	struct mc_chains *evicted; /* NULL: nobody asks */
	uint32_t leases;           /* counted where somebody asks for `evicted` */
	uint32_t node;
	struct mc_pool_stats stats;
};

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

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static struct mc_run *run_of(const struct mc_pool *p, uint32_t e)
{
	return &p->tree->run.at[p->entry.at[e].run];
}

static struct mc_copy *copy_of(const struct mc_pool *p, uint32_t e)
{
	struct mc_copy *c = mc_run_copy(run_of(p, e), p->node);

	assert(c && c->entry == e);
	return c;
}

static void tell(const struct mc_pool *p, enum mc_news_of of, uint32_t run, uint32_t depth)
{
	mc_tree_tell(p->tree, &(struct mc_news){of, p->node, run, depth});
}

static uint32_t entry_new(struct mc_pool *p, const struct entry *it)
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
	struct entry *it = &p->entry.at[e];
	uint32_t parent = it->parent;

	assert(!it->pins && !it->children);
	p->evictor->remove(p->order, e);
	mc_run_copy_remove(p->tree, it->run, p->node);
	*it = (struct entry){.run = MC_NONE, .parent = p->free};
	p->free = e;
	if (parent != MC_NONE) {
		p->entry.at[parent].children--;
		entry_settle(p, parent);
	}
}

/* Its last n blocks go: evicted, or never came. */
static void entry_cut(struct mc_pool *p, uint32_t e, uint32_t n, bool evicted)
{
	struct mc_copy *c = copy_of(p, e);
	uint32_t held = c->held - n;

	tell(p, MC_NEWS_CUT, p->entry.at[e].run, run_of(p, e)->first + held);
	if (p->evictor->cut)
		p->evictor->cut(p->order, e, evicted ? run_of(p, e)->id + held : NULL, n);
	if (held)
		mc_run_copy_set(p->tree, run_of(p, e), c, held, least(c->resident, held));
	else
		entry_drop(p, e);
}

uint32_t mc_pool_entry_split(struct mc_pool *p, uint32_t e, uint32_t first)
{
	struct entry *it = &p->entry.at[e];
	uint32_t lead = entry_new(p, &(struct entry){first, it->parent, 1, it->pins, 0});

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
		struct entry *it;

		if (!c)
			return;
		k = least(mc_run_common(&t->run.at[run], id + w->depth, n - w->depth), c->held);
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
	uint32_t n = run_of(p, e)->first + copy_of(p, e)->held;
	size_t from = to->id.n;

	if (p->entry.at[e].noted == p->leases)
		return;
	mc_vec_reserve(&to->id, from + n);
	to->id.n += n;
	for (; e != MC_NONE; e = p->entry.at[e].parent) {
		const struct mc_run *r = run_of(p, e);
		uint32_t held = copy_of(p, e)->held;

		memcpy(to->id.at + from + r->first, r->id, held * sizeof *r->id);
		p->entry.at[e].noted = p->leases;
	}
	mc_vec_push(&to->end, (uint32_t)to->id.n);
}

/* Evict from the tails of the evictor's choice until `need` blocks fit, if possible; returns how many fit, at
 * most need. */
static uint32_t make_room(struct mc_pool *p, uint32_t need)
{
	struct mc_pool_stats *s = &p->stats;

	p->leases += p->evicted != NULL;
	while (s->capacity - s->present < need) {
		uint32_t most = UINT32_MAX, v = p->evictor->victim(p->order, &most), take;
		struct mc_copy *c;

		if (v == MC_NONE)
			return s->capacity - s->present;
		c = copy_of(p, v);
		assert(!p->entry.at[v].pins && !p->entry.at[v].children && c->resident == c->held);
		if (p->evicted)
			note(p, v);
		take = least(least(need - (s->capacity - s->present), c->held), most);
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
	uint32_t room = make_room(p, n - w->depth), end = w->depth + room, from = w->entry;

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
		e = entry_new(p, &(struct entry){run, w->entry, 0, 1, 0});
		if (w->entry != MC_NONE)
			p->entry.at[w->entry].children++;
		mc_run_copy_add(t, run, &(struct mc_copy){p->node, e, k, 0});
		*w = (struct walk){w->depth + k, run, e};
	}
	if (room)
		tell(p, MC_NEWS_HELD, w->run, w->depth);
	for (uint32_t e = w->entry; e != from; e = p->entry.at[e].parent) {
		const struct mc_run *r = run_of(p, e);

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
		uint32_t resident = copy_of(p, e)->resident;

		if (resident) /* then so is all before it */
			return run_of(p, e)->first + resident;
	}
	return 0;
}

/* Is this block of the lease resident? */
static bool is_resident(const struct mc_pool *p, const struct mc_lease *lease, uint32_t block)
{
	uint32_t e = lease->tail;

	while (run_of(p, e)->first > block)
		e = p->entry.at[e].parent;
	return block - run_of(p, e)->first < copy_of(p, e)->resident;
}

void mc_pool_commit(struct mc_pool *p, const struct mc_lease *lease, uint32_t from, uint32_t depth)
{
	bool told = false;

	assert(from <= depth && depth <= lease->held);
	if (from == depth || (from && !is_resident(p, lease, from - 1)))
		return;
	for (uint32_t e = lease->tail; e != MC_NONE; e = p->entry.at[e].parent) {
		struct mc_run *r = run_of(p, e);
		struct mc_copy *c;
		uint32_t upto;

		if (r->first + r->n <=
		    from) /* the common beginning, which thousands may hold, is not looked up */
			break;
		c = copy_of(p, e);
		upto = depth > r->first ? least(depth - r->first, c->held) : 0;
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
		struct entry *it = &p->entry.at[e];
		uint32_t kept, lost = 0;

		parent = it->parent;
		if (--it->pins)
			continue;
		if (it->children) { /* unpinned like this one, hence resident, hence so is all that is before
				       them */
			kept = run_of(p, e)->n;
		} else {
			kept = copy_of(p, e)->resident;
			lost = copy_of(p, e)->held - kept;
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
	p->stats.present = p->stats.resident = p->stats.pinned = 0;
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

/* What is found of an entry's children. */
struct sum {
	uint32_t children;
	uint64_t pins;
};

static const char *entry_check(const struct mc_pool *p, uint32_t e)
{
	const struct entry *it = &p->entry.at[e];
	struct mc_run *r = run_of(p, e);
	const struct mc_copy *c = r->id ? mc_run_copy(r, p->node) : NULL;

	if (!c || c->entry != e)
		return "is not known to the tree";
	if (!it->pins && c->resident != c->held)
		return "is promised and has no lease";
	if (it->parent == MC_NONE)
		return r->parent == MC_NONE ? NULL : "has lost its parent";
	if (p->entry.at[it->parent].run != r->parent)
		return "has another parent than its run";
	if (copy_of(p, it->parent)->held != run_of(p, it->parent)->n)
		return "hangs on a parent that is not whole";
	if (c->resident && copy_of(p, it->parent)->resident != run_of(p, it->parent)->n)
		return "is resident before its parent";
	return NULL;
}

static int sums_check(const struct mc_pool *p, const struct sum *sum, struct mc_err *err)
{
	for (size_t e = 0; e < p->entry.n; e++) {
		const struct entry *it = &p->entry.at[e];

		if (it->run != MC_NONE && (it->children != sum[e].children || it->pins < sum[e].pins))
			return mc_err_set(err, MC_FAIL,
					  "pool %u: entry %zu has %u children, %u pins; found %u, %llu",
					  p->node, e, it->children, it->pins, sum[e].children,
					  (unsigned long long)sum[e].pins);
	}
	return 0;
}

static int counts_check(const struct mc_pool *p, struct mc_err *err)
{
	const struct mc_pool_stats *s = &p->stats;
	uint32_t present = 0, resident = 0, pinned = 0;

	for (uint32_t e = 0; e < p->entry.n; e++) {
		if (p->entry.at[e].run == MC_NONE)
			continue;
		present += copy_of(p, e)->held;
		resident += copy_of(p, e)->resident;
		pinned += p->entry.at[e].pins ? copy_of(p, e)->held : 0;
	}
	if (present != s->present || resident != s->resident || pinned != s->pinned ||
	    present > s->capacity ||
	    s->inserted != present + s->evicted + s->dropped + s->lost + s->discarded)
		return mc_err_set(err, MC_FAIL,
				  "pool %u: %u present, %u resident, %u pinned; counted %u, %u, %u", p->node,
				  present, resident, pinned, s->present, s->resident, s->pinned);
	return 0;
}

int mc_pool_check(const struct mc_pool *p, struct mc_err *err)
{
	struct sum *sum = mc_xcalloc(p->entry.n, sizeof *sum);
	int rc = 0;

	for (uint32_t e = 0; !rc && e < p->entry.n; e++) {
		const struct entry *it = &p->entry.at[e];
		const char *bad = it->run == MC_NONE ? NULL : entry_check(p, e);

		if (bad)
			rc = mc_err_set(err, MC_FAIL, "pool %u: entry %u %s", p->node, e, bad);
		else if (it->run != MC_NONE && it->parent != MC_NONE) {
			sum[it->parent].children++;
			sum[it->parent].pins += it->pins;
		}
	}
	rc = rc ? rc : counts_check(p, err);
	rc = rc ? rc : sums_check(p, sum, err);
	free(sum);
	return rc;
}
