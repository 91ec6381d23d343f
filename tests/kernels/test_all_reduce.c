/*
 * All-reduce of every backend: 1 to 8 ranks, as far as devices exist (where one device can't have two ranks,
 * the backend says MC_NOHW, and the test ends there).
 */
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>

#include "tests/kernels/rig.h"

/* GUARD: poison before and after a buffer. CUDA's border between its two algorithms: bytes of a buffer,
 * times the ranks (kernels/cuda/all_reduce.cu). */
enum { RANKS = 8, GUARD = 256, POISON = 0x5a, BORDER = 2 << 20 };

struct group {
	const struct mc_backend *be;
	enum mc_dtype dtype;
	enum mc_stream_kind kind;
	int ranks;
	size_t count; /* of a buffer */
	struct mc_comm *comm;
	struct mc_device *dev[RANKS];
	struct mc_stream *s[RANKS];
	unsigned char *base[RANKS]; /* guard, buffer, guard */
	float *x[RANKS];            /* what the buffer held at first */
	unsigned char *y[RANKS];    /* guards and buffer after */
};

static void fine(int rc, const struct mc_err *err)
{
	if (rc)
		ck_abort_msg("%s", err->text);
}

static size_t bytes_of(const struct group *g)
{
	return g->count * mc_dtype_bytes(g->dtype);
}

static void move(struct group *g, int i, void *to, const void *from)
{
	struct mc_copy a = {.to = to, .from = from, .bytes = bytes_of(g) + 2 * GUARD, .rows = 1};
	struct mc_err err = {0};

	g->be->copy(g->s[i], &a);
	fine(g->be->stream_sync(g->s[i], &err), &err);
}

/* Before group_open: x is filled, y is room. */
static void rank_open(struct group *g, int i)
{
	struct mc_err err = {0};

	fine(g->be->stream_open(&g->s[i], g->dev[i], g->kind, &err), &err);
	g->base[i] = g->be->alloc(g->dev[i], MC_DEVICE, bytes_of(g) + 2 * GUARD, &err);
	fine(!g->base[i], &err);
	g->y[i] = malloc(bytes_of(g) + 2 * GUARD);
	memset(g->y[i], POISON, bytes_of(g) + 2 * GUARD);
	for (size_t k = 0; k < g->count; k++)
		mc_dtype_put(g->dtype, g->y[i] + GUARD, k, g->x[i][k]);
	move(g, i, g->base[i], g->y[i]);
}

static void group_close(struct group *g)
{
	g->be->comm_close(g->comm);
	for (int i = 0; i < g->ranks; i++) {
		if (g->base[i])
			g->be->release(g->dev[i], MC_DEVICE, g->base[i]);
		g->be->stream_close(g->s[i]);
		g->be->device_close(g->dev[i]);
		free(g->x[i]);
		free(g->y[i]);
	}
}

/* be, dtype, ranks, count and x are set. False, all freed, where the machine has no such group. */
static bool group_open(struct group *g)
{
	struct mc_err err = {0};
	int n, rc;

	fine(g->be->count(&n, &err), &err);
	for (int i = 0; i < g->ranks; i++) {
		struct mc_device_want want = {.index = i % n, .threads = 1};

		fine(g->be->device_open(&g->dev[i], &want, &err), &err);
	}
	rc = g->be->comm_open(&g->comm, g->dev, g->ranks, bytes_of(g), &err);
	if (rc == MC_NOHW) {
		ck_assert_int_gt(g->ranks, 1);
		ck_assert_ptr_null(g->comm);
		ck_assert_str_ne(err.text, "");
		group_close(g);
		return false;
	}
	fine(rc, &err);
	for (int i = 0; i < g->ranks; i++)
		rank_open(g, i);
	return true;
}

static void queue(struct group *g, size_t from, size_t count)
{
	void *buffer[RANKS];
	struct mc_all_reduce a = {.stream = g->s, .buffer = buffer, .count = count, .dtype = g->dtype};

	for (int i = 0; i < g->ranks; i++)
		buffer[i] = g->base[i] + GUARD + from * mc_dtype_bytes(g->dtype);
	g->be->all_reduce(g->comm, &a);
}

static void sync_all(struct group *g)
{
	for (int i = 0; i < g->ranks; i++) {
		struct mc_err err = {0};

		fine(g->be->stream_sync(g->s[i], &err), &err);
	}
}

/* Wait and fetch; guards are whole. */
static void fetch(struct group *g)
{
	size_t bytes = bytes_of(g);

	sync_all(g);
	for (int i = 0; i < g->ranks; i++) {
		move(g, i, g->y[i], g->base[i]);
		for (size_t k = 0; k < GUARD; k++)
			if (g->y[i][k] != POISON || g->y[i][GUARD + bytes + k] != POISON)
				ck_abort_msg("written outside of rank %d's buffer", i);
	}
}

/* All ranks hold the same bytes. */
static void check_same(const struct group *g)
{
	for (int i = 1; i < g->ranks; i++)
		ck_assert_msg(!memcmp(g->y[i] + GUARD, g->y[0] + GUARD, bytes_of(g)),
			      "ranks 0 and %d of %d hold other bytes", i, g->ranks);
}

/*
 * Numbers up to 2, of either sign; in one place of four two ranks have large ones that cancel, so that
 * another order of the additions gives another sum.
 */
static void values(struct group *g, struct rig_random *rnd)
{
	for (int i = 0; i < g->ranks; i++) {
		g->x[i] = malloc(g->count * sizeof(float) + 1);
		for (size_t k = 0; k < g->count; k++)
			g->x[i][k] =
			    rig_rounded(g->dtype, ((float)rig_below(rnd, 1 << 20) - 0x1p19f) * 0x1p-18f);
	}
	for (size_t k = 0; g->ranks > 2 && k < g->count; k += 4) {
		uint32_t n = (uint32_t)g->ranks, i = rig_below(rnd, n),
			 j = (i + 1 + rig_below(rnd, n - 1)) % n;

		g->x[i][k] = rig_rounded(g->dtype, 32768 + (float)rig_below(rnd, 20000));
		g->x[j][k] = -g->x[i][k];
	}
}

/* Ranks - 1 additions in f32 of what was exact, each off by half a unit of at most the sum of sizes; one
 * rounding. */
static void check_sums(const struct group *g)
{
	check_same(g);
	for (size_t k = 0; k < g->count; k++) {
		double sum = 0, size = 0, bound;

		for (int i = 0; i < g->ranks; i++) {
			sum += g->x[i][k];
			size += fabs(g->x[i][k]);
		}
		bound = 0x1p-24 * (g->ranks - 1) * size;
		rig_close_to(mc_dtype_get(g->dtype, g->y[0] + GUARD, k), sum,
			     bound + mc_dtype_epsilon(g->dtype) / 2 * (fabs(sum) + bound), "all-reduce", k);
	}
}

static struct group group_of(int pair, int ranks, size_t count)
{
	struct rig r;
	struct group g = {.ranks = ranks, .count = count};

	rig_open(&r, pair);
	g.be = r.be;
	g.dtype = r.dtype;
	rig_close(&r);
	return g;
}

/* Part after part of the buffers, each call alone. The last three: the largest buffer of CUDA's one
 * algorithm, the smallest of the next, a larger one that no number of ranks divides. */
START_TEST(sums)
{
	struct rig_random rnd = {11};

	for (int ranks = 1; ranks <= RANKS; ranks++) {
		size_t border = BORDER / 16 / (size_t)ranks;
		size_t chunks[] = {1, 3, 125, 511, 512, 513, 5000, border, border + 1, border + 1003};
		/* All of them with 2, 3 and 8 ranks, the small ones with any. */
		size_t parts = ranks == 2 || ranks == 3 || ranks == 8 ? 10 : 7, all = 0, from = 0;

		for (size_t c = 0; c < parts; c++)
			all += 8 * chunks[c];
		struct group g = group_of(_i, ranks, all);

		values(&g, &rnd);
		if (!group_open(&g))
			return;
		for (size_t c = 0; c < parts; c++) {
			queue(&g, from, 8 * chunks[c]);
			sync_all(&g);
			from += 8 * chunks[c];
		}
		fetch(&g);
		check_sums(&g);
		group_close(&g);
	}
}
END_TEST

/* Elements of call c: two calls are of the other algorithm. */
static size_t call_count(int c, int ranks)
{
	return c == 10 || c == 11 ? 8 * (BORDER / 16 / (size_t)ranks + 1) : 8 * (20 + (size_t)c);
}

/* Queued by each rank: a part of its buffer to another one. */
static void shift(struct group *g, size_t to, size_t from, size_t count)
{
	size_t bytes = mc_dtype_bytes(g->dtype);

	for (int i = 0; i < g->ranks; i++) {
		struct mc_copy a = {.to = g->base[i] + GUARD + to * bytes,
				    .from = g->base[i] + GUARD + from * bytes,
				    .bytes = count * bytes,
				    .rows = 1};

		g->be->copy(g->s[i], &a);
	}
}

/*
 * Calls follow each other without a wait, on one buffer that is filled before and read after each by its own
 * stream only: a rank that starts before a peer's input is there, or ends before a peer has taken its own or
 * brought what it owes, shows. The numbers are small integers, exact in all formats, and every seventh sum is
 * summed again. On streams that have threads of their own on a CPU, too.
 */
START_TEST(many_calls)
{
	enum { CALLS = 60 };
	struct rig_random rnd = {13};

	for (int ranks = 2; ranks <= RANKS; ranks += 3) {
		size_t start[CALLS + 1] = {0}, work = call_count(10, ranks), all;

		for (int c = 0; c < CALLS; c++)
			start[c + 1] = start[c] + call_count(c, ranks);
		/* The buffer, inputs, outputs. */
		all = start[CALLS];
		struct group g = group_of(_i, ranks, work + 2 * all);

		g.kind = MC_COPY;
		for (int i = 0; i < ranks; i++) {
			g.x[i] = malloc(g.count * sizeof(float));
			for (size_t k = 0; k < g.count; k++)
				g.x[i][k] = (float)rig_below(&rnd, 3) - 1;
		}
		if (!group_open(&g))
			return;
		for (int c = 0; c < CALLS; c++) {
			size_t count = call_count(c, ranks);

			shift(&g, 0, work + start[c], count);
			queue(&g, 0, count);
			if (c % 7 == 3)
				queue(&g, 0, count);
			shift(&g, work + all + start[c], 0, count);
		}
		fetch(&g);
		for (int c = 0; c < CALLS; c++)
			for (size_t k = start[c]; k < start[c + 1]; k++) {
				double sum = 0;

				for (int i = 0; i < ranks; i++)
					sum += g.x[i][work + k];
				for (int i = 0; i < ranks; i++)
					rig_close_to(mc_dtype_get(g.dtype, g.y[i] + GUARD, work + all + k),
						     c % 7 == 3 ? sum * ranks : sum, 0, "call", (size_t)c);
			}
		group_close(&g);
	}
}
END_TEST

/* A part of a buffer, and nothing: the rest stays as it was. */
START_TEST(part)
{
	struct rig_random rnd = {14};
	struct group g = group_of(_i, 2, 64);

	values(&g, &rnd);
	if (!group_open(&g))
		return;
	queue(&g, 0, 0);
	queue(&g, 16, 8);
	fetch(&g);
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < 64; k++)
			if (k < 16 || k >= 24)
				rig_close_to(mc_dtype_get(g.dtype, g.y[i] + GUARD, k), g.x[i][k], 0, "kept",
					     k);
	group_close(&g);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("all_reduce");
	TCase *t = tcase_create("all_reduce");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, sums, 0, rig_count());
	tcase_add_loop_test(t, many_calls, 0, rig_count());
	tcase_add_loop_test(t, part, 0, rig_count());
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
