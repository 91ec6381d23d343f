#include "calib/copies.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* Copies of so many bytes are queued together: a short one would be timed with what queuing and waiting take.
 */
static const size_t together = 8u << 20;

static void fill(char *p, size_t n, uint64_t seed)
{
	for (size_t i = 0; i + 8 <= n; i += 8) {
		uint64_t w = mc_hash_u64(seed + i);

		memcpy(p + i, &w, 8);
	}
}

int mc_copies_init(struct mc_copies *c, const struct mc_copies_want *want, struct mc_err *err)
{
	const struct mc_backend *b = want->backend;
	size_t pool = want->pool;

	*c = (struct mc_copies){.backend = b, .devices = want->devices, .pool = pool};
	for (int i = 0; i < c->devices; i++) {
		const struct mc_device_want one = {.index = i, .threads = want->threads};
		int rc = b->device_open(&c->device[i], &one, err);

		if (!rc)
			rc = b->stream_open(&c->stream[i], c->device[i], MC_COMPUTE, err);
		if (rc)
			return rc;
		c->near[i] = b->alloc(c->device[i], MC_DEVICE, pool, err);
		c->pinned[i] = c->near[i] ? b->alloc(c->device[i], MC_PINNED, pool, err) : NULL;
		c->pageable[i] = c->pinned[i] ? malloc(pool) : NULL;
		if (!c->pageable[i])
			return mc_err_set(err, MC_FAIL, "no memory for copies of %zu bytes", pool);
		fill(c->pageable[i], pool, (uint64_t)i);
		memcpy(c->pinned[i], c->pageable[i], pool);
	}
	return 0;
}

void mc_copies_fini(struct mc_copies *c)
{
	const struct mc_backend *b = c->backend;

	for (int i = 0; i < c->devices && c->device[i]; i++) {
		if (c->stream[i])
			b->stream_sync(c->stream[i], NULL);
		if (c->near[i])
			b->release(c->device[i], MC_DEVICE, c->near[i]);
		if (c->pinned[i])
			b->release(c->device[i], MC_PINNED, c->pinned[i]);
		free(c->pageable[i]);
		b->stream_close(c->stream[i]);
		b->device_close(c->device[i]);
	}
}

struct copying {
	struct mc_copies *c;
	enum mc_op op;
	size_t bytes, places, next; /* places of the pool; the one of the next copy */
	size_t last;                /* byte of the pool where the last copy was */
};

static void ends(const struct copying *k, int i, char **from, char **to)
{
	const struct mc_copies *c = k->c;
	bool pageable = k->op == MC_OP_COPY_H2D_PAGEABLE || k->op == MC_OP_COPY_D2H_PAGEABLE;
	char *host = pageable ? c->pageable[i] : c->pinned[i];

	*from = host;
	*to = c->near[i];
	if (k->op == MC_OP_COPY_D2H || k->op == MC_OP_COPY_D2H_PAGEABLE) {
		*from = c->near[i];
		*to = host;
	} else if (k->op == MC_OP_COPY_HOST) {
		*from = c->pageable[i];
		*to = c->pinned[i];
	}
}

static void queue(struct copying *k, size_t at)
{
	for (int i = 0; i < k->c->devices; i++) {
		char *from, *to;

		ends(k, i, &from, &to);
		k->c->backend->copy(
		    k->c->stream[i],
		    &(struct mc_copy){.to = to + at, .from = from + at, .bytes = k->bytes, .rows = 1});
	}
}

static int sync_all(struct mc_copies *c, struct mc_err *err)
{
	int rc = 0;

	for (int i = 0; i < c->devices && !rc; i++)
		rc = c->backend->stream_sync(c->stream[i], err);
	return rc;
}

static int once(void *arg, double *seconds, struct mc_err *err)
{
	struct copying *k = arg;
	size_t n = k->bytes < together ? together / k->bytes : 1;
	double from = mc_calib_clock.wall(mc_calib_clock.arg);
	int rc;

	for (size_t i = 0; i < n; i++) {
		k->last = k->next * k->bytes;
		k->next = (k->next + 1) % k->places;
		queue(k, k->last);
	}
	rc = sync_all(k->c, err);
	*seconds = (mc_calib_clock.wall(mc_calib_clock.arg) - from) / (double)n;
	return rc;
}

/* Another copy to where the last one went, of bytes that were not there: they must arrive. */
static int verify(struct copying *k, struct mc_err *err)
{
	struct mc_copies *c = k->c;
	char *is = malloc(k->bytes), *want = malloc(k->bytes);
	int rc = is && want ? 0 : mc_err_set(err, MC_FAIL, "no memory for %zu bytes", k->bytes);

	for (int i = 0; i < c->devices && !rc; i++) {
		char *from, *to;

		ends(k, i, &from, &to);
		fill(want, k->bytes, (uint64_t)i + k->last);
		/* The source anew, wherever it is; then the copy; then its target. */
		c->backend->copy(c->stream[i], &(struct mc_copy){from + k->last, want, k->bytes, 1, 0, 0});
		c->backend->fill(c->stream[i], to + k->last, 0, k->bytes);
		c->backend->copy(c->stream[i],
				 &(struct mc_copy){to + k->last, from + k->last, k->bytes, 1, 0, 0});
		c->backend->copy(c->stream[i], &(struct mc_copy){is, to + k->last, k->bytes, 1, 0, 0});
		rc = c->backend->stream_sync(c->stream[i], err);
		if (!rc && memcmp(is, want, k->bytes))
			rc = mc_err_set(err, MC_FAIL, "%s of %zu bytes: what arrived is not what was sent",
					mc_op_names[k->op], k->bytes);
	}
	free(is);
	free(want);
	return rc;
}

int mc_copies_measure(struct mc_copies *c, const struct mc_copies_task *task, struct mc_calib_result *out,
		      struct mc_err *err)
{
	struct copying k = {.c = c, .op = task->op, .bytes = task->bytes, .places = c->pool / task->bytes};
	const struct mc_calib_task t = {once, NULL, &k};
	int rc = mc_calib_measure(&task->goal, &t, out, err);

	return rc || out->stopped ? rc : verify(&k, err);
}
