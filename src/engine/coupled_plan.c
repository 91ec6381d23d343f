/* What a coupled node does next: who starts, who is thrown out. */
#include <assert.h>

#include "engine/coupled_state.h"

static uint32_t made(const struct mc_coupled *n, const struct mc_coupled_job *job)
{
	return job->output - (uint32_t)(job->leave_at - n->iterations);
}

/* Off the batch, of which it is the last. */
static void leave_batch(struct mc_coupled *n, struct mc_coupled_job *job)
{
	job->made = made(n, job);
	job->lost = job->tokens + job->made - 1;
	n->batch.n--;
	n->batch_counted -= job->counted;
	n->context -= job->lost;
	if (n->newcomers) { /* its latest token is from before */
		n->newcomers--;
		return;
	}
	job->stay.to = n->segments.n;
	mc_vec_push(&job->stays, job->stay);
	job->last = n->segment_start - n->lead;
}

static struct mc_coupled_job *throw_out_newest(struct mc_coupled *n)
{
	struct mc_coupled_job *job = n->partial.tail;

	mc_coupled_close(n);
	if (job) {
		mc_coupled_list_take(&n->partial, job);
		job->lost = job->done;
	} else {
		job = n->batch.at[n->batch.n - 1];
		leave_batch(n, job);
	}
	n->preemptions++;
	mc_vram_release(&n->vram, &job->hold);
	mc_coupled_list_push_head(&n->waiting, job);
	n->expected_wait += job->expected;
	return job;
}

bool mc_coupled_grow(struct mc_coupled *n)
{
	uint64_t now = n->iterations + n->cursor;
	bool thrown = false;

	for (size_t i = 0; i < n->batch.n; i++) {
		struct mc_coupled_job *job = n->batch.at[i], *gone = NULL;

		assert(job->grow_at >= now);
		if (job->grow_at > now)
			continue;
		while (gone != job && !mc_vram_grow(&n->vram, &job->hold)) {
			gone = throw_out_newest(n);
			thrown = true;
		}
		job->grow_at += (uint64_t)n->vram.block_tokens;
	}
	return thrown;
}

/* The most requests that hold blocks. */
static int64_t limit(const struct mc_coupled *n)
{
	const struct mc_coupled_params *p = &n->params;

	return p->max_batch && p->max_batch < p->max_batched_tokens ? p->max_batch : p->max_batched_tokens;
}

/* hit: blocks of it that are there, cached: tokens. */
static void start(struct mc_coupled *n, const struct mc_vram_ask *ask, uint32_t hit, uint32_t cached)
{
	struct mc_coupled_job *job = mc_coupled_list_take(&n->waiting, n->waiting.head);

	n->expected_wait -= job->expected;
	job->goal = (uint32_t)ask->tokens;
	job->hit = hit;
	job->done = cached;
	job->hold = mc_vram_acquire(&n->vram, ask);
	mc_coupled_list_push(&n->partial, job);
	n->recomputed += job->lost > cached ? job->lost - cached : 0;
	job->lost = 0;
	if (job->start >= 0)
		return;
	job->start = n->loop->now;
	job->cached = cached;
	n->ops.started(n->ops.arg, job);
}

/* The first of those that wait, if it fits and has at most that many new tokens (`any`: or more). Returns how
 * many, 0: it has to wait. */
static int64_t start_head(struct mc_coupled *n, int64_t budget, bool any)
{
	struct mc_coupled_job *job = n->waiting.head;
	struct mc_vram_ask ask;
	uint32_t hit;
	int64_t cached;

	if (!job || budget <= 0 || (int64_t)n->batch.n + n->partial.n >= limit(n))
		return 0;
	ask = (struct mc_vram_ask){job->block, job->n_blocks, (int64_t)job->tokens + job->made};
	if (!mc_vram_fits(&n->vram, &ask, &hit))
		return 0;
	cached = hit * n->vram.block_tokens;
	cached = cached < ask.tokens ? cached : ask.tokens - 1; /* the last token is always computed */
	if (!any && ask.tokens - cached > budget)
		return 0;
	start(n, &ask, hit, (uint32_t)cached);
	return ask.tokens - cached;
}

/* What it computes of its blocks is there for those that start after it. */
static int64_t give(struct mc_coupled *n, struct mc_coupled_job *job, int64_t budget)
{
	int64_t left = (int64_t)job->goal - job->done, whole;

	job->slice = (uint32_t)(left < budget ? left : budget);
	whole = ((int64_t)job->done + job->slice) / n->vram.block_tokens;
	whole = whole < job->n_blocks ? whole : job->n_blocks;
	if (whole > job->hit)
		mc_pool_commit(n->vram.pool, &job->hold.lease, job->hit, (uint32_t)whole);
	return job->slice;
}

bool mc_coupled_give_slices(struct mc_coupled *n, bool may_start)
{
	bool chunked = n->params.chunked;
	int64_t budget = n->params.max_batched_tokens - (chunked ? (int64_t)n->batch.n : 0), tokens;

	assert(chunked || !n->partial.n);
	for (struct mc_coupled_job *job = n->partial.head; job; job = job->next)
		budget -= give(n, job, budget);
	while (may_start && (tokens = start_head(n, budget, chunked || !n->partial.n)))
		budget -= give(n, n->partial.tail, chunked ? budget : tokens);
	return n->partial.n > 0;
}
