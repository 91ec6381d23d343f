#include "tests/kernels/rig.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GUARD = 256, GUARD_BYTE = 0x5a, PAIRS = 16 };

struct rig_array {
	struct rig_array *next;
	unsigned char *base;
	size_t bytes;
};

static int pairs(const struct mc_backend **be, enum mc_dtype *t)
{
	const char *only = getenv("MC_BACKEND");
	int n = 0;

	for (size_t i = 0; mc_backends[i]; i++) {
		int devices = 0;

		if ((only && strcmp(only, mc_backends[i]->name)) || mc_backends[i]->count(&devices, NULL) ||
		    !devices)
			continue;
		for (int d = MC_F32; d <= MC_F16 && n < PAIRS; d++)
			if (mc_backends[i]->dtypes >> d & 1) {
				be[n] = mc_backends[i];
				t[n++] = (enum mc_dtype)d;
			}
	}
	return n;
}

int rig_count(void)
{
	const struct mc_backend *be[PAIRS];
	enum mc_dtype t[PAIRS];

	return pairs(be, t);
}

const char *rig_name(int i)
{
	static char name[64];
	const struct mc_backend *be[PAIRS];
	enum mc_dtype t[PAIRS];

	ck_assert_int_lt(i, pairs(be, t));
	snprintf(name, sizeof name, "%s %s", be[i]->name, mc_dtype_name(t[i]));
	return name;
}

static void fine(int rc, const struct mc_err *err)
{
	if (rc)
		ck_abort_msg("%s", err->text);
}

void rig_open(struct rig *r, int i)
{
	const struct mc_backend *be[PAIRS];
	enum mc_dtype t[PAIRS];
	struct mc_device_want want = {0};
	struct mc_err err = {0};

	ck_assert_int_lt(i, pairs(be, t));
	*r = (struct rig){.be = be[i], .dtype = t[i]};
	fine(r->be->device_open(&r->dev, &want, &err), &err);
	fine(r->be->stream_open(&r->s, r->dev, MC_COMPUTE, &err), &err);
}

static void move(struct rig *r, void *to, const void *from, size_t bytes)
{
	struct mc_copy a = {.to = to, .from = from, .bytes = bytes, .rows = 1};
	struct mc_err err = {0};

	r->be->copy(r->s, &a);
	fine(r->be->stream_sync(r->s, &err), &err);
}

static void check_guards(struct rig *r)
{
	for (struct rig_array *a = r->arrays; a; a = a->next) {
		unsigned char g[2 * GUARD];

		move(r, g, a->base, GUARD);
		move(r, g + GUARD, a->base + GUARD + a->bytes, GUARD);
		for (size_t i = 0; i < sizeof g; i++)
			if (g[i] != GUARD_BYTE)
				ck_abort_msg("written outside of an array of %zu bytes: %zu bytes %s it",
					     a->bytes, i < GUARD ? GUARD - i : i - GUARD + 1,
					     i < GUARD ? "before" : "after");
	}
}

void rig_sync(struct rig *r)
{
	struct mc_err err = {0};

	fine(r->be->stream_sync(r->s, &err), &err);
	check_guards(r);
}

void rig_close(struct rig *r)
{
	rig_sync(r);
	while (r->arrays) {
		struct rig_array *a = r->arrays;

		r->arrays = a->next;
		r->be->release(r->dev, MC_DEVICE, a->base);
		free(a);
	}
	r->be->stream_close(r->s);
	r->be->device_close(r->dev);
}

void *rig_blank(struct rig *r, size_t bytes)
{
	struct rig_array *a = malloc(sizeof *a);
	struct mc_err err = {0};

	a->bytes = bytes;
	a->base = r->be->alloc(r->dev, MC_DEVICE, bytes + 2 * GUARD, &err);
	fine(a->base ? 0 : 1, &err);
	r->be->fill(r->s, a->base, GUARD_BYTE, bytes + 2 * GUARD);
	r->be->fill(r->s, a->base + GUARD, 0xff, bytes);
	a->next = r->arrays;
	r->arrays = a;
	return a->base + GUARD;
}

void *rig_put_bytes(struct rig *r, const void *x, size_t bytes)
{
	void *p = rig_blank(r, bytes);

	move(r, p, x, bytes);
	return p;
}

void *rig_put(struct rig *r, enum mc_dtype t, const float *x, size_t n)
{
	void *host = malloc(n * mc_dtype_bytes(t) + 1), *p;

	for (size_t i = 0; i < n; i++)
		mc_dtype_put(t, host, i, x[i]);
	p = rig_put_bytes(r, host, n * mc_dtype_bytes(t));
	free(host);
	return p;
}

void rig_get_bytes(struct rig *r, const void *p, void *x, size_t bytes)
{
	rig_sync(r);
	move(r, x, p, bytes);
}

void rig_get(struct rig *r, enum mc_dtype t, const void *p, float *x, size_t n)
{
	void *host = malloc(n * mc_dtype_bytes(t) + 1);

	rig_get_bytes(r, p, host, n * mc_dtype_bytes(t));
	for (size_t i = 0; i < n; i++)
		x[i] = mc_dtype_get(t, host, i);
	free(host);
}

static uint64_t next(struct rig_random *g)
{
	g->state = g->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return g->state ^ g->state >> 29;
}

uint32_t rig_below(struct rig_random *g, uint32_t n)
{
	return (uint32_t)((next(g) >> 32) * n >> 32);
}

/* Sum of twelve uniform numbers, less 6. */
float rig_normal(struct rig_random *g)
{
	float sum = -6;

	for (int i = 0; i < 12; i++)
		sum += (float)(next(g) >> 40) * 0x1p-24f;
	return sum;
}

float rig_rounded(enum mc_dtype t, float x)
{
	uint32_t bits;

	mc_dtype_put(t, &bits, 0, x);
	return mc_dtype_get(t, &bits, 0);
}

float *rig_normals(struct rig_random *g, enum mc_dtype t, size_t n, float scale)
{
	float *x = malloc(n * sizeof *x + 1);

	for (size_t i = 0; i < n; i++)
		x[i] = rig_rounded(t, rig_normal(g) * scale);
	return x;
}

void rig_close_to(double got, double want, double bound, const char *what, size_t at)
{
	if (!(fabs(got - want) <= bound))
		ck_abort_msg("%s[%zu] is %.9g, not %.9g (off by %.3g, more than %.3g)", what, at, got, want,
			     fabs(got - want), bound);
}
