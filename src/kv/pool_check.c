/* Invariants of a pool, counted anew from its entries. */
#include <stdlib.h>

#include "kv/pool_state.h"

/* What is found of an entry's children. */
struct sum {
	uint32_t children;
	uint64_t pins;
};

static const char *entry_check(const struct mc_pool *p, uint32_t e)
{
	const struct mc_pool_entry *it = &p->entry.at[e];
	struct mc_run *r = mc_pool_run(p, e);
	const struct mc_copy *c = r->id ? mc_run_copy(r, p->node) : NULL;

	if (!c || c->entry != e)
		return "is not known to the tree";
	if (!it->pins && c->resident != c->held)
		return "is promised and has no lease";
	if (it->parent == MC_NONE)
		return r->parent == MC_NONE ? NULL : "has lost its parent";
	if (p->entry.at[it->parent].run != r->parent)
		return "has another parent than its run";
	if (mc_pool_copy(p, it->parent)->held != mc_pool_run(p, it->parent)->n)
		return "hangs on a parent that is not whole";
	if (c->resident && mc_pool_copy(p, it->parent)->resident != mc_pool_run(p, it->parent)->n)
		return "is resident before its parent";
	return NULL;
}

static int sums_check(const struct mc_pool *p, const struct sum *sum, struct mc_err *err)
{
	for (size_t e = 0; e < p->entry.n; e++) {
		const struct mc_pool_entry *it = &p->entry.at[e];

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
		present += mc_pool_copy(p, e)->held;
		resident += mc_pool_copy(p, e)->resident;
		pinned += p->entry.at[e].pins ? mc_pool_copy(p, e)->held : 0;
	}
	if (present != s->present || resident != s->resident || pinned != s->pinned ||
	    (uint64_t)present + s->taken > s->capacity ||
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
		const struct mc_pool_entry *it = &p->entry.at[e];
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
