/* Invariants of a run (run.check): conservation laws that no bug in any room may break unseen. */
#include <math.h>

#include "cluster/state.h"

static void fail(struct mc_cluster *c, const char *what, uint32_t i)
{
	mc_err_set(c->err, MC_FAIL, "invariant broken at %.9f s: %s (instance %u)", mc_time_to_s(c->loop.now),
		   what, i);
	c->loop.stop = true;
}

static void check_decode(struct mc_cluster *c, uint32_t i)
{
	const struct mc_decode *d = &c->decode[i];
	int64_t context = 0, reserved = 0;

	for (size_t k = 0; k < d->batch.n; k++) {
		const struct mc_decode_job *job = d->batch.at[k];

		reserved += (int64_t)job->context + job->remaining;
		context += (int64_t)job->context + job->remaining - (int64_t)(job->leave_at - d->iterations);
		if (job->leave_at <= d->iterations + (d->cursor_time <= c->loop.now ? d->cursor : 0) &&
		    !d->halted && mc_loop_when(&c->loop, &d->step) > c->loop.now)
			fail(c, "a request stays in the batch after its last token", i);
	}
	for (const struct mc_decode_job *job = d->ready.head; job; job = job->next)
		reserved += (int64_t)job->context + job->remaining;
	if (context != d->context)
		fail(c, "context of the batch is not the sum of its members", i);
	if (reserved > d->reserved || (!d->loading && !d->arriving && reserved != d->reserved))
		fail(c, "reserved VRAM is not the sum of its requests", i);
	if (d->reserved > d->params.kv_tokens)
		fail(c, "more KV than VRAM", i);
	if (d->busy > c->loop.now)
		fail(c, "busier than time went by", i);
}

static void check_ssd(struct mc_cluster *c, uint32_t i)
{
	const struct mc_ssd *s = &c->ssd[i];
	uint64_t staged = 0;

	if (!s->pool)
		return;
	if (mc_pool_check(s->pool, c->err))
		c->loop.stop = true;
	for (size_t k = s->done; k < s->write.n; k++)
		staged += s->write.at[k].lease.held - s->write.at[k].from;
	if (!c->err->rc && (staged != s->staged || staged > s->staging))
		fail(c, "blocks that wait for the SSD are not those of its writes", i);
}

static void check_coupled(struct mc_cluster *c, uint32_t i)
{
	const char *what = mc_coupled_check(&c->coupled[i]);

	if (!what && !c->stale && !c->coupled[i].waiting.n && !c->coupled[i].partial.n &&
	    c->view.prefill[i].free_at != mc_coupled_free_at(&c->coupled[i]))
		what = "the view's free_at is stale";
	if (what)
		fail(c, what, i);
}

void mc_cluster_check(struct mc_cluster *c)
{
	const char *stale;

	for (uint32_t i = 0; i < mc_cluster_nodes(c) && !c->err->rc; i++) {
		if (!c->pool[i])
			continue;
		if (mc_pool_check(c->pool[i], c->err))
			c->loop.stop = true;
		if (mc_pool_stats(c->pool[i]).present > mc_pool_stats(c->pool[i]).capacity)
			fail(c, "pool over its capacity", i);
	}
	for (uint32_t i = 0; c->ssd && i < mc_cluster_nodes(c) && !c->err->rc; i++)
		check_ssd(c, i);
	for (uint32_t i = 0; i < mc_cluster_nodes(c) && !c->err->rc; i++)
		if (mc_cluster_at_rest(c, i) && !mc_cluster_rests(c, i))
			fail(c, "an instance is at work that has no node", i);
	for (uint32_t i = 0; i < c->view.n_prefill && c->coupled && !c->err->rc; i++)
		check_coupled(c, i);
	for (uint32_t i = 0; i < c->view.n_prefill && c->prefill && !c->err->rc; i++) {
		if ((double)c->prefill[i].busy > 1e3 + (double)c->loop.now * (1 + 1e-9) * c->view.group)
			fail(c, "busier than time went by", i);
		if (!c->stale && c->view.prefill[i].free_at != mc_prefill_free_at(&c->prefill[i]) &&
		    !c->prefill[i].current && !c->prefill[i].halted)
			fail(c, "the view's free_at is stale", i);
	}
	for (uint32_t i = 0; i < c->view.n_decode && c->decode && !c->err->rc; i++)
		check_decode(c, i);
	if (!c->err->rc && (stale = mc_cluster_stale_check(c)))
		fail(c, stale, 0);
	if (!c->err->rc && mc_tree_check(c->tree, c->err))
		c->loop.stop = true;
	if (!c->err->rc && mc_fabric_check(c->fabric, c->err))
		c->loop.stop = true;
}

void mc_cluster_check_launch(struct mc_cluster *c, const struct mc_flight *f)
{
	uint32_t there = f->local < f->lease.held ? f->local : f->lease.held;

	/* Prompts ahead in a group may still be at work on what they promised. */
	if (c->view.group == 1 && mc_pool_resident(c->pool[f->row->prefill], &f->lease) < there)
		fail(c, "a prompt starts without blocks that it counts on", f->row->prefill);
}

int64_t mc_cluster_stage_bytes(const struct mc_cluster *c, const struct mc_row *r)
{
	int64_t computed = (int64_t)r->input - mc_row_hit(r);

	return computed * c->cost->hop_bytes * (c->scenario->cluster.prefill_group - 1);
}

/* Sums over the rows against what the parts counted on their own. */
static void check_rows(struct mc_cluster *c)
{
	int64_t unfinished = 0, tokens = 0, iterated = 0, crossed = 0, crossing = 0, stages = 0;
	double gpu = 0, begun = 0, busy = 0, slack = 1e-6 + 1e-9 * (double)c->result->n_rows;

	for (int64_t i = 0; i < c->result->n_rows; i++) {
		const struct mc_row *r = &c->result->row[i];

		if (r->outcome == MC_UNFINISHED && r->decided >= 0)
			unfinished++;
		if (r->outcome == MC_COMPLETED && r->output > 1)
			tokens += r->output - 1;
		if (r->prefill_start >= 0) {
			begun += r->compute_s + r->load_s;
			crossing += mc_cluster_stage_bytes(c, r);
		}
		if (r->prefill_end >= 0) {
			gpu += r->compute_s + r->load_s;
			crossed += mc_cluster_stage_bytes(c, r);
		}
		if (r->outcome == MC_COMPLETED && (r->prefill_end < r->prefill_start ||
						   r->end < r->prefill_end || r->prefill_start < r->decided))
			fail(c, "times of a request run backwards", (uint32_t)i);
	}
	if (unfinished != c->open)
		fail(c, "open requests are not those without an end", 0);
	if (c->coupled) {
		const char *what = mc_cluster_coupled_check_end(c);

		if (what)
			fail(c, what, 0);
		return;
	}
	for (uint32_t i = 0; i < c->view.n_decode; i++)
		for (size_t k = 0; k < c->decode[i].segments.n; k++)
			iterated +=
			    (int64_t)c->decode[i].segments.at[k].count * c->decode[i].segments.at[k].batch;
	tokens += c->result->outages.lost_tokens;
	if (c->open ? iterated < tokens : iterated != tokens)
		fail(c, "tokens of the iterations are not those of the requests", 0);
	for (uint32_t i = 0; i < c->view.n_prefill; i++) {
		busy += mc_time_to_s(c->prefill[i].busy);
		stages += c->prefill[i].stage_bytes;
	}
	gpu += c->lost_ended_s;
	begun += c->lost_begun_s;
	crossed += c->lost_crossed;
	crossing += c->lost_crossing;
	if (busy < gpu - slack || busy > begun + slack)
		fail(c, "engine time of the instances is not that of the requests", 0);
	if (stages < crossed || stages > crossing || (!c->open && crossed == crossing && stages != crossed))
		fail(c, "bytes between the nodes of groups are not those of the requests", 0);
}

void mc_cluster_check_end(struct mc_cluster *c)
{
	/* What came of a transfer that failed is known to a byte, piece by piece. What is resent crosses NICs
	 * and, from another node's SSD, that. */
	double resent = mc_fabric_resent(c->fabric), links = -resent, again = c->ssd ? resent : 0,
	       slack = 1 + 64 * (double)c->broken;

	mc_cluster_hear(c, MC_NONE);
	mc_cluster_check(c);
	check_rows(c);
	for (uint32_t i = 0; i < mc_cluster_nodes(c); i++)
		links += mc_fabric_bytes_in(c->fabric, i);
	for (uint32_t l = c->result->n_net_links; l < c->result->n_links; l++)
		links += mc_fabric_link_bytes(c->fabric, l);
	/* What was cut off is still on its way, and so may be what no request waits for. */
	if (links > c->crossed * (1 + 1e-6) + slack + again ||
	    (!c->open && !c->background && links < c->crossed * (1 - 1e-6) - slack))
		fail(c, "bytes of the links are not those of the transfers", 0);
	for (uint32_t i = 0; !c->open && i < mc_cluster_nodes(c); i++) {
		if (c->pool[i] && mc_pool_stats(c->pool[i]).pinned)
			fail(c, "blocks are still pinned after the last request", i);
		if (c->pool[i] && mc_pool_stats(c->pool[i]).dropped && !c->outage && !c->coupled &&
		    !c->result->wasted_prefills)
			fail(c, "blocks that were promised never came", i);
		if (c->view.node[i].sends || c->view.node[i].reads || c->view.node[i].streams ||
		    c->view.node[i].stream_bytes_per_s)
			fail(c, "a send that never ended", i);
		if (c->ssd && c->ssd[i].pool && !c->ssd[i].write.n && mc_pool_stats(c->ssd[i].pool).pinned)
			fail(c, "blocks of an SSD are pinned, and nobody reads or writes", i);
	}
	for (uint32_t i = 0; !c->open && i < c->view.n_decode; i++)
		if (c->view.decode[i].batch || c->view.decode[i].context ||
		    (c->decode && c->decode[i].reserved) || c->view.decode[i].running || c->view.decode[i].kv)
			fail(c, "a decode node is not empty after the last request", i);
}
