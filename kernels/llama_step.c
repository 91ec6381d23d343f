/* A step: check it, lay out what the kernels must know of it, send that to every rank, run. */
#include <assert.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "kernels/llama_internal.h"

/* Arrays of metadata begin at such addresses, as operators want it. */
enum { ALIGN = 16 };

static size_t place(size_t *at, size_t n, size_t size)
{
	size_t here = *at;

	*at += (n * size + ALIGN - 1) / ALIGN * ALIGN;
	return here;
}

/* Places of the arrays of part, tables `stride` wide. */
static void place_part(struct mc_llama_batch *part, int stride, size_t *at)
{
	size_t rows = (size_t)part->rows, seqs = (size_t)part->seqs;

	part->row_start = place(at, seqs + 1, sizeof(int32_t));
	part->context = place(at, seqs, sizeof(int32_t));
	part->row_seq = place(at, rows, sizeof(int32_t));
	part->position = place(at, rows, sizeof(int32_t));
	part->table = place(at, seqs * (size_t)stride, sizeof(int32_t));
}

/* All places. Decodes are the first sequences of all, so their arrays are the beginnings of those. */
static void place_all(struct mc_llama_plan *p)
{
	size_t at = 0, picks = (size_t)p->picks;

	p->token = place(&at, (size_t)p->all.rows, sizeof(int32_t));
	p->pick = place(&at, picks, sizeof(int32_t));
	p->temperature = place(&at, picks, sizeof(float));
	p->seed = place(&at, picks, sizeof(uint64_t));
	place_part(&p->all, p->table_stride, &at);
	p->decode.row_start = p->all.row_start;
	p->decode.context = p->all.context;
	p->decode.row_seq = p->all.row_seq;
	p->decode.position = p->all.position;
	p->decode.table = p->all.table;
	place_part(&p->prefill, p->table_stride, &at);
	p->bytes = at;
}

/* Blocks of a sequence, in steps of an aligned row of the table. */
static int stride_of(int tokens, int block_tokens)
{
	return ((tokens + block_tokens - 1) / block_tokens + 3) / 4 * 4;
}

size_t mc_llama_meta_bytes(const struct mc_llama_want *w)
{
	struct mc_llama_plan p = {.all = {.seqs = w->max_seqs, .rows = w->max_rows},
				  .table_stride = stride_of(w->max_tokens, w->block_tokens),
				  .picks = w->max_logits};

	p.prefill = p.all;
	place_all(&p);
	return p.bytes;
}

static int check_seq(const struct mc_llama *m, const struct mc_llama_seq *q, int i, struct mc_err *err)
{
	const struct mc_llama_want *w = &m->want;
	int blocks;

	if (q->tokens < 1 || q->context < 0 || q->context > w->max_tokens ||
	    q->tokens > w->max_tokens - q->context)
		return mc_err_set(err, MC_USAGE,
				  "sequence %d has %d tokens after %d; expected 1 or more, %d in all at most",
				  i, q->tokens, q->context, w->max_tokens);
	blocks = (q->context + q->tokens + w->block_tokens - 1) / w->block_tokens;
	if (q->blocks < blocks)
		return mc_err_set(err, MC_USAGE, "sequence %d has %d blocks; expected %d for %d tokens", i,
				  q->blocks, blocks, q->context + q->tokens);
	for (int b = 0; b < blocks; b++)
		if (q->block[b] < 0 || q->block[b] >= w->blocks)
			return mc_err_set(err, MC_USAGE, "sequence %d has block %d; expected 0 to %d", i,
					  q->block[b], w->blocks - 1);
	for (int t = 0; t < q->tokens; t++)
		if (q->token[t] < 0 || q->token[t] >= w->shape.vocab)
			return mc_err_set(err, MC_USAGE, "sequence %d has token %d; expected 0 to %d", i,
					  q->token[t], w->shape.vocab - 1);
	if (!(q->temperature >= 0 && isfinite(q->temperature)))
		return mc_err_set(err, MC_USAGE, "sequence %d has the temperature %g; expected 0 or more", i,
				  (double)q->temperature);
	return 0;
}

static int picks_of(const struct mc_llama_seq *q)
{
	return q->logits == MC_LLAMA_ALL ? q->tokens : q->logits == MC_LLAMA_LAST;
}

static void add_to(struct mc_llama_batch *part, const struct mc_llama_seq *q)
{
	part->seqs++;
	part->rows += q->tokens;
	if (q->tokens > part->max_rows)
		part->max_rows = q->tokens;
	if (q->context + q->tokens > part->max_tokens)
		part->max_tokens = q->context + q->tokens;
}

/* Sizes of the step, and the order of its sequences. */
static int plan(struct mc_llama *m, const struct mc_llama_step *step, struct mc_llama_plan *p,
		struct mc_err *err)
{
	const struct mc_llama_want *w = &m->want;
	int64_t rows = 0, picks = 0;
	int at = 0;

	if (step->seqs < 0 || step->seqs > w->max_seqs)
		return mc_err_set(err, MC_USAGE, "%d sequences; expected %d at most", step->seqs,
				  w->max_seqs);
	if (step->from < 0 || step->to > w->shape.layers || step->from > step->to)
		return mc_err_set(err, MC_USAGE, "layers %d to %d; expected some of 0 to %d", step->from,
				  step->to - 1, w->shape.layers - 1);
	p->from = step->from;
	p->to = step->to ? step->to : w->shape.layers;
	for (int i = 0; i < step->seqs; i++) {
		if (check_seq(m, &step->seq[i], i, err))
			return MC_USAGE;
		rows += step->seq[i].tokens;
		picks += p->to == w->shape.layers ? picks_of(&step->seq[i]) : 0;
	}
	if (rows > w->max_rows || picks > w->max_logits)
		return mc_err_set(err, MC_USAGE,
				  "%lld tokens and %lld rows of logits; expected %d and %d at most",
				  (long long)rows, (long long)picks, w->max_rows, w->max_logits);
	p->picks = (int)picks;
	for (int prefill = 0; prefill < 2; prefill++)
		for (int i = 0; i < step->seqs; i++)
			if ((step->seq[i].tokens > 1) == prefill) {
				add_to(&p->all, &step->seq[i]);
				add_to(prefill ? &p->prefill : &p->decode, &step->seq[i]);
				m->order[at++] = i;
			}
	p->table_stride = stride_of(p->all.max_tokens, w->block_tokens);
	place_all(p);
	assert(p->bytes <= m->meta_bytes);
	return 0;
}

/* The arrays of one part: sequences `first` and up of the order. */
static void write_part(const struct mc_llama *m, const struct mc_llama_step *step, int first,
		       const struct mc_llama_plan *p, const struct mc_llama_batch *part)
{
	char *to = m->pinned + (size_t)p->slot * m->meta_bytes;
	int32_t *row_start = (int32_t *)(to + part->row_start), *context = (int32_t *)(to + part->context);
	int32_t *row_seq = (int32_t *)(to + part->row_seq), *position = (int32_t *)(to + part->position);
	int32_t *table = (int32_t *)(to + part->table);
	int row = 0;

	for (int i = 0; i < part->seqs; i++) {
		const struct mc_llama_seq *q = &step->seq[m->order[first + i]];
		int blocks = (q->context + q->tokens + m->want.block_tokens - 1) / m->want.block_tokens;

		row_start[i] = row;
		context[i] = q->context;
		for (int t = 0; t < q->tokens; t++, row++) {
			row_seq[row] = i;
			position[row] = q->context + t;
		}
		memcpy(table + (size_t)i * (size_t)p->table_stride, q->block, (size_t)blocks * sizeof *table);
		memset(table + (size_t)i * (size_t)p->table_stride + blocks, 0xff,
		       (size_t)(p->table_stride - blocks) * sizeof *table);
	}
	row_start[part->seqs] = row;
}

/* Tokens, and the rows whose logits are wanted, with what samples from them. */
static void write_tokens(const struct mc_llama *m, struct mc_llama_step *step, const struct mc_llama_plan *p)
{
	char *to = m->pinned + (size_t)p->slot * m->meta_bytes;
	int32_t *token = (int32_t *)(to + p->token), *pick = (int32_t *)(to + p->pick);
	float *temperature = (float *)(to + p->temperature);
	uint64_t *seed = (uint64_t *)(to + p->seed);
	int row = 0, at = 0;

	for (int i = 0; i < step->seqs; i++) {
		struct mc_llama_seq *q = &step->seq[m->order[i]];
		int picks = p->picks ? picks_of(q) : 0;

		memcpy(token + row, q->token, (size_t)q->tokens * sizeof *token);
		row += q->tokens;
		q->row = picks ? at : -1;
		for (int k = picks; k > 0; k--, at++) {
			pick[at] = row - k;
			temperature[at] = q->temperature;
			seed[at] = mc_hash_pair(q->seed, (uint64_t)(q->context + q->tokens - k));
		}
	}
}

/* Until what was read from the slot's pinned memory is on all ranks. */
static void wait_for_slot(const struct mc_llama *m, int slot)
{
	for (int i = 0; i < m->want.ranks; i++)
		while (!m->be->event_done(m->rank[i].uploaded[slot])) {
			struct timespec pause = {0, 5000};

			nanosleep(&pause, NULL);
		}
}

int mc_llama_step(struct mc_llama *m, struct mc_llama_step *step, struct mc_llama_result *out,
		  struct mc_err *err)
{
	struct mc_llama_plan p = {.hooks = &step->hooks};
	const int32_t *token;

	if (out)
		*out = (struct mc_llama_result){0};
	if (plan(m, step, &p, err))
		return MC_USAGE;
	if (!step->seqs)
		return 0;
	p.slot = m->slot;
	m->slot = (m->slot + 1) % MC_LLAMA_SLOTS;
	wait_for_slot(m, p.slot);
	write_tokens(m, step, &p);
	write_part(m, step, 0, &p, &p.all);
	write_part(m, step, p.decode.seqs, &p, &p.prefill);
	mc_llama_run(m, &p);
	token = (const int32_t *)(m->pinned + MC_LLAMA_SLOTS * m->meta_bytes);
	if (out)
		*out = (struct mc_llama_result){p.picks, m->rank[0].logits,
						token + (size_t)p.slot * (size_t)m->want.max_logits};
	return 0;
}
