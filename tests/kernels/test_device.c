/* Devices, memory, streams, events and copies of every backend. */
#include "tests/unit/unit.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "tests/kernels/rig.h"

static void fine(int rc, const struct mc_err *err)
{
	if (rc)
		ck_abort_msg("%s", err->text);
}

static void *get(struct rig *r, enum mc_place place, size_t bytes)
{
	struct mc_err err = {0};
	void *p = r->be->alloc(r->dev, place, bytes, &err);

	fine(!p, &err);
	ck_assert_msg((uintptr_t)p % 256 == 0, "memory is not aligned to 256 bytes: %p", p);
	return p;
}

static void copy(struct rig *r, struct mc_stream *s, void *to, const void *from, size_t bytes)
{
	struct mc_copy a = {.to = to, .from = from, .bytes = bytes, .rows = 1};

	r->be->copy(s, &a);
}

static void sync(struct rig *r, struct mc_stream *s)
{
	struct mc_err err = {0};

	fine(r->be->stream_sync(s, &err), &err);
}

static struct mc_stream *stream(struct rig *r, enum mc_stream_kind kind)
{
	struct mc_stream *s;
	struct mc_err err = {0};

	fine(r->be->stream_open(&s, r->dev, kind, &err), &err);
	return s;
}

static struct mc_event *event(struct rig *r)
{
	struct mc_event *e;
	struct mc_err err = {0};

	fine(r->be->event_open(&e, r->dev, &err), &err);
	return e;
}

static void all_bytes(const unsigned char *p, int byte, size_t n, const char *what)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != byte)
			ck_abort_msg("%s: byte %zu is %d, not %d", what, i, p[i], byte);
}

START_TEST(devices)
{
	struct mc_device_info info;
	struct rig r;
	int n, outside[2] = {-1, 0};

	rig_open(&r, _i);
	ck_assert_int_eq(r.be->count(&n, NULL), 0);
	ck_assert_int_gt(n, 0);
	memset(&info, 0xff, sizeof info);
	r.be->device_info(r.dev, &info);
	ck_assert_ptr_nonnull(memchr(info.name, 0, sizeof info.name));
	ck_assert_ptr_nonnull(memchr(info.software, 0, sizeof info.software));
	ck_assert_str_ne(info.name, "");
	ck_assert_int_gt(info.units, 0);
	ck_assert(info.memory_bytes > 0 && info.matrix_flops >= 0 && info.bandwidth >= 0);
	ck_assert_int_eq(r.be->peer_enable(r.dev, r.dev, NULL), 0);
	outside[1] = n;
	for (int i = 0; i < 2; i++) {
		struct mc_device_want want = {.index = outside[i]};
		struct mc_device *d = r.dev;
		struct mc_err err = {0};

		ck_assert_int_ne(r.be->device_open(&d, &want, &err), 0);
		ck_assert_int_ne(err.rc, 0);
		ck_assert_ptr_null(d);
	}
	r.be->release(r.dev, MC_DEVICE, NULL);
	r.be->release(r.dev, MC_PINNED, NULL);
	r.be->event_close(NULL);
	r.be->stream_close(NULL);
	r.be->comm_close(NULL);
	r.be->device_close(NULL);
	rig_close(&r);
}
END_TEST

START_TEST(memory)
{
	static const size_t sizes[] = {0, 1, 255, 256, 4097, 1 << 20};
	static const enum mc_place places[] = {MC_DEVICE, MC_PINNED};
	struct rig r;

	rig_open(&r, _i);
	for (int k = 0; k < 2; k++) {
		struct mc_err err = {0};
		void *p[6];

		for (int i = 0; i < 6; i++) {
			p[i] = get(&r, places[k], sizes[i]);
			r.be->fill(r.s, p[i], i, sizes[i]);
		}
		for (int i = 0; i < 6; i++) {
			unsigned char *host = malloc(sizes[i] + 1);

			copy(&r, r.s, host, p[i], sizes[i]);
			sync(&r, r.s);
			all_bytes(host, i, sizes[i], "filled");
			free(host);
			r.be->release(r.dev, places[k], p[i]);
		}
		ck_assert_ptr_null(r.be->alloc(r.dev, places[k], (size_t)1 << 62, &err));
		ck_assert_int_eq(err.rc, MC_FAIL);
		ck_assert_str_ne(err.text, "");
		/* Which leaves nothing behind. */
		r.be->release(r.dev, places[k], get(&r, places[k], 16));
	}
	rig_close(&r);
}
END_TEST

/* Where an array is: what copies are made between. */
enum place { PAGED, PINNED, DEVICE, PLACES };

static unsigned char *place_get(struct rig *r, enum place p, size_t bytes)
{
	return p == PAGED ? malloc(bytes) : get(r, p == PINNED ? MC_PINNED : MC_DEVICE, bytes);
}

static void place_free(struct rig *r, enum place p, void *a)
{
	if (p == PAGED)
		free(a);
	else
		r->be->release(r->dev, p == PINNED ? MC_PINNED : MC_DEVICE, a);
}

/* The copy on host arrays, byte by byte. */
static void copied(unsigned char *to, const unsigned char *from, const struct mc_copy *a)
{
	for (size_t i = 0; i < a->rows; i++)
		for (size_t k = 0; k < a->bytes; k++)
			to[i * a->to_pitch + k] = from[i * a->from_pitch + k];
}

static void copy_case(struct rig *r, struct mc_stream *s, const enum place *where, struct mc_copy a)
{
	size_t nt = a.rows * a.to_pitch + a.bytes + 8, nf = a.rows * a.from_pitch + a.bytes + 8;
	unsigned char *from = malloc(nf), *to = malloc(nt), *got = malloc(nt);
	unsigned char *f = place_get(r, where[0], nf), *t = place_get(r, where[1], nt);

	for (size_t i = 0; i < nf; i++)
		from[i] = (unsigned char)(i * 37 + i / 251);
	memset(to, 0x5a, nt);
	copy(r, s, f, from, nf);
	copy(r, s, t, to, nt);
	a.from = f + 3;
	a.to = t + 5;
	r->be->copy(s, &a);
	copy(r, s, got, t, nt);
	sync(r, s);
	copied(to + 5, from + 3, &a);
	for (size_t i = 0; i < nt; i++)
		if (got[i] != to[i])
			ck_abort_msg("%d to %d, %zu rows of %zu (pitch %zu, %zu): byte %zu is %d, not %d",
				     where[0], where[1], a.rows, a.bytes, a.from_pitch, a.to_pitch, i, got[i],
				     to[i]);
	place_free(r, where[0], f);
	place_free(r, where[1], t);
	free(from);
	free(to);
	free(got);
}

START_TEST(copies)
{
	static const enum mc_stream_kind kinds[] = {MC_COMPUTE, MC_COPY};
	struct rig_random g = {3};
	struct rig r;

	rig_open(&r, _i);
	for (int k = 0; k < 2; k++) {
		struct mc_stream *s = stream(&r, kinds[k]);

		for (int i = 0; i < PLACES * PLACES * 12; i++) {
			enum place where[2] = {(enum place)(i % PLACES), (enum place)(i / PLACES % PLACES)};
			struct mc_copy a = {.bytes = rig_below(&g, i % 5 ? 300 : 40000),
					    .rows = i % 4 ? rig_below(&g, 20) : 1};

			/* With one row a pitch says nothing. */
			if (a.rows != 1 || i % 8) {
				a.to_pitch = a.bytes + (i % 3 ? rig_below(&g, 100) : 0);
				a.from_pitch = a.bytes + (i % 3 ? rig_below(&g, 100) : 0);
			}
			copy_case(&r, s, where, a);
		}
		r.be->stream_close(s);
	}
	rig_close(&r);
}
END_TEST

/* What is queued on one stream runs in order: each copy sees the fill before it, none sees the one after. */
START_TEST(order)
{
	enum { STEPS = 100, BYTES = 5000 };
	static const enum mc_stream_kind kinds[] = {MC_COMPUTE, MC_COPY};
	struct rig r;

	rig_open(&r, _i);
	for (int k = 0; k < 2; k++) {
		struct mc_stream *s = stream(&r, kinds[k]);
		unsigned char *a = get(&r, MC_DEVICE, BYTES), *b = get(&r, MC_DEVICE, STEPS * BYTES),
			      *host = get(&r, MC_PINNED, STEPS * BYTES);

		for (int i = 0; i < STEPS; i++) {
			r.be->fill(s, a, i, BYTES);
			copy(&r, s, b + i * BYTES, a, BYTES);
		}
		copy(&r, s, host, b, STEPS * BYTES);
		sync(&r, s);
		for (int i = 0; i < STEPS; i++)
			all_bytes(host + i * BYTES, i, BYTES, "step");
		r.be->release(r.dev, MC_DEVICE, a);
		r.be->release(r.dev, MC_DEVICE, b);
		r.be->release(r.dev, MC_PINNED, host);
		r.be->stream_close(s);
	}
	rig_close(&r);
}
END_TEST

/*
 * A load, compute, store pipeline over one pair of device buffers: only events keep a copy stream from
 * overwriting what the compute stream still reads, and from fetching what isn't there yet.
 */
START_TEST(events_order_streams)
{
	enum { STEPS = 40, BYTES = 200000 };
	struct rig r;

	rig_open(&r, _i);
	struct mc_stream *c = stream(&r, MC_COPY);
	struct mc_event *loaded = event(&r), *computed = event(&r);
	unsigned char *in = get(&r, MC_PINNED, STEPS * BYTES), *out = get(&r, MC_PINNED, STEPS * BYTES);
	unsigned char *a = get(&r, MC_DEVICE, BYTES), *b = get(&r, MC_DEVICE, BYTES);

	memset(out, 0xff, STEPS * BYTES);
	for (int i = 0; i < STEPS; i++) {
		memset(in + i * BYTES, i, BYTES);
		copy(&r, c, a, in + i * BYTES, BYTES);
		r.be->event_record(loaded, c);
		r.be->event_wait(loaded, r.s);
		copy(&r, r.s, b, a, BYTES);
		r.be->event_record(computed, r.s);
		r.be->event_wait(computed, c);
		copy(&r, c, out + i * BYTES, b, BYTES);
	}
	sync(&r, c);
	for (int i = 0; i < STEPS; i++)
		all_bytes(out + i * BYTES, i, BYTES, "step");
	ck_assert_int_eq(r.be->event_done(loaded), 1);
	ck_assert_int_eq(r.be->event_done(computed), 1);
	r.be->release(r.dev, MC_PINNED, in);
	r.be->release(r.dev, MC_PINNED, out);
	r.be->release(r.dev, MC_DEVICE, a);
	r.be->release(r.dev, MC_DEVICE, b);
	r.be->event_close(loaded);
	r.be->event_close(computed);
	r.be->stream_close(c);
	rig_close(&r);
}
END_TEST

START_TEST(events)
{
	enum { BYTES = 1 << 20 };
	struct rig r;

	rig_open(&r, _i);
	struct mc_stream *c = stream(&r, MC_COPY);
	struct mc_event *e[3] = {event(&r), event(&r), event(&r)};
	unsigned char *p = get(&r, MC_DEVICE, BYTES), *host = get(&r, MC_PINNED, BYTES);

	/* Never recorded: it happened, and nobody waits for it. */
	ck_assert_int_eq(r.be->event_done(e[0]), 1);
	r.be->event_wait(e[0], c);
	sync(&r, c);
	for (int i = 0; i < 3; i++) {
		/* The second recording counts, not the first. */
		r.be->event_record(e[i], c);
		for (int k = 0; k <= 20; k++)
			r.be->fill(c, p, i * 50 + k, BYTES);
		r.be->event_record(e[i], c);
		r.be->event_wait(e[i], r.s);
		copy(&r, r.s, host, p, BYTES);
		sync(&r, r.s);
		all_bytes(host, i * 50 + 20, BYTES, "after the event");
		ck_assert_int_eq(r.be->event_done(e[i]), 1);
	}
	double ab = r.be->event_seconds(e[0], e[1]), bc = r.be->event_seconds(e[1], e[2]),
	       ac = r.be->event_seconds(e[0], e[2]);

	/* A GPU's clock has steps of half a microsecond, CUDA's figure is a float. */
	ck_assert(ab >= 0 && bc >= 0 && isfinite(ac));
	rig_close_to(ab + bc, ac, 4e-6 + 1e-5 * ac, "seconds", 0);
	ck_assert(r.be->event_seconds(e[0], e[0]) == 0);
	for (int i = 0; i < 3; i++)
		r.be->event_close(e[i]);
	r.be->release(r.dev, MC_DEVICE, p);
	r.be->release(r.dev, MC_PINNED, host);
	r.be->stream_close(c);
	rig_close(&r);
}
END_TEST

/* A sync waits for what is being done; an event that is recorded again hasn't happened before that. */
START_TEST(under_way)
{
	enum { BYTES = 4 << 20, TRIES = 12 };
	struct timespec pause = {0, 100000};
	int early = 0;
	struct rig r;

	rig_open(&r, _i);
	struct mc_stream *c = stream(&r, MC_COPY);
	struct mc_event *e = event(&r);
	unsigned char *from = get(&r, MC_PINNED, BYTES), *to = get(&r, MC_PINNED, BYTES);

	for (int i = 0; i < TRIES; i++) {
		memset(from, i, BYTES);
		copy(&r, c, to, from, BYTES);
		if (i % 2) /* else nothing is queued while the copy is made */
			r.be->event_record(e, c);
		early += i > 2 && !r.be->event_done(e);
		nanosleep(&pause, NULL); /* it has begun */
		sync(&r, c);
		all_bytes(to + BYTES - 64, i, 64, "after the sync");
	}
	ck_assert_int_gt(early, 0);
	r.be->event_close(e);
	r.be->release(r.dev, MC_PINNED, from);
	r.be->release(r.dev, MC_PINNED, to);
	r.be->stream_close(c);
	rig_close(&r);
}
END_TEST

/* A token of work that passes through many streams, twice around, each waiting for the one before. */
START_TEST(many_streams)
{
	enum { STREAMS = 24, BYTES = 30000, ROUNDS = 2, SLOTS = STREAMS * ROUNDS };
	struct mc_stream *s[STREAMS];
	struct mc_event *e[STREAMS];
	struct rig r;

	rig_open(&r, _i);
	unsigned char *p = get(&r, MC_DEVICE, (SLOTS + 1) * BYTES), *host = malloc((SLOTS + 1) * BYTES);

	for (int i = 0; i < STREAMS; i++) {
		s[i] = stream(&r, i % 6 ? MC_COPY : MC_COMPUTE);
		e[i] = event(&r);
	}
	r.be->fill(s[0], p, 0xff, (SLOTS + 1) * BYTES);
	r.be->fill(s[0], p, 77, BYTES);
	for (int k = 0; k < SLOTS; k++) {
		int i = k % STREAMS;

		if (k)
			r.be->event_wait(e[(k - 1) % STREAMS], s[i]);
		copy(&r, s[i], p + (k + 1) * BYTES, p + k * BYTES, BYTES);
		r.be->event_record(e[i], s[i]);
	}
	for (int i = STREAMS - 1; i >= 0; i--)
		sync(&r, s[i]);
	copy(&r, r.s, host, p, (SLOTS + 1) * BYTES);
	sync(&r, r.s);
	all_bytes(host, 77, (SLOTS + 1) * BYTES, "passed on");
	/* Closing waits for what is queued. */
	r.be->fill(s[1], p, 5, BYTES);
	for (int i = 0; i < STREAMS; i++) {
		r.be->event_close(e[i]);
		r.be->stream_close(s[i]);
	}
	copy(&r, r.s, host, p, BYTES);
	sync(&r, r.s);
	all_bytes(host, 5, BYTES, "queued before closing");
	free(host);
	r.be->release(r.dev, MC_DEVICE, p);
	rig_close(&r);
}
END_TEST

/* Two devices, where there are two: copies between them, with and without peer access, and an event across.
 */
START_TEST(peers)
{
	enum { BYTES = 300000 };
	struct mc_device_want want = {.index = 1};
	struct mc_err err = {0};
	struct rig a, b;
	int n, reach;

	rig_open(&a, _i);
	a.be->count(&n, NULL);
	if (n < 2) {
		rig_close(&a);
		return;
	}
	b = a;
	fine(a.be->device_open(&b.dev, &want, &err), &err);
	b.s = stream(&b, MC_COMPUTE);
	struct mc_event *filled = event(&a);
	unsigned char *p = get(&a, MC_DEVICE, BYTES), *q = get(&b, MC_DEVICE, BYTES), *host = malloc(BYTES);

	for (int i = 1; i < 3; i++) {
		a.be->fill(a.s, p, i, BYTES);
		a.be->event_record(filled, a.s);
		a.be->event_wait(filled, b.s);
		copy(&b, b.s, q, p, BYTES);
		copy(&b, b.s, host, q, BYTES);
		sync(&b, b.s);
		all_bytes(host, i, BYTES, "from the peer");
		reach = a.be->peer_enable(b.dev, a.dev, NULL);
		ck_assert(reach == 0 || reach == MC_NOHW);
		ck_assert_int_eq(a.be->peer_enable(b.dev, a.dev, NULL), reach);
	}
	free(host);
	a.be->release(a.dev, MC_DEVICE, p);
	a.be->release(b.dev, MC_DEVICE, q);
	a.be->event_close(filled);
	a.be->stream_close(b.s);
	a.be->device_close(b.dev);
	rig_close(&a);
}
END_TEST

/* CUDA refuses to fill nothing's memory; the first error stays until sync tells it, once. */
START_TEST(errors_stay)
{
	struct mc_err err = {0};
	struct rig r;

	rig_open(&r, _i);
	if (!strcmp(r.be->name, "cuda")) {
		struct mc_swiglu none = {.gate_up = NULL, .ffn = 8, .dtype = r.dtype};
		unsigned char *p = get(&r, MC_DEVICE, 64);

		r.be->fill(r.s, NULL, 0, 64);
		r.be->fill(r.s, p, 1, 64);
		r.be->copy(r.s, &(struct mc_copy){.to = p, .from = p + 32, .bytes = 16, .rows = 1});
		r.be->swiglu(r.s, &none);
		ck_assert_int_eq(r.be->stream_sync(r.s, &err), MC_FAIL);
		ck_assert_ptr_nonnull(strstr(err.text, "fill"));
		err = (struct mc_err){0};
		fine(r.be->stream_sync(r.s, &err), &err);
		r.be->release(r.dev, MC_DEVICE, p);
	}
	rig_close(&r);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("device");
	TCase *t = tcase_create("device");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, devices, 0, rig_count());
	tcase_add_loop_test(t, memory, 0, rig_count());
	tcase_add_loop_test(t, copies, 0, rig_count());
	tcase_add_loop_test(t, order, 0, rig_count());
	tcase_add_loop_test(t, events_order_streams, 0, rig_count());
	tcase_add_loop_test(t, events, 0, rig_count());
	tcase_add_loop_test(t, under_way, 0, rig_count());
	tcase_add_loop_test(t, many_streams, 0, rig_count());
	tcase_add_loop_test(t, peers, 0, rig_count());
	tcase_add_loop_test(t, errors_stay, 0, rig_count());
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
