/* What the lanes of a warp do together, and asynchronous copies. Source: PTX ISA, "shfl.sync", "ldmatrix",
 * "mma.m16n8k16", "cp.async". */
#include "tests/shim/shim.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/dtype.h"

void shim_work_sync(void *const x[SHIM_WARP], unsigned mask)
{
	(void)x;
	(void)mask;
}

void shim_work_shuffle(void *const x[SHIM_WARP], unsigned mask)
{
	for (int lane = 0; lane < SHIM_WARP; lane++) {
		struct shim_shuffle *s = x[lane];
		int from, base;

		if (!(mask >> lane & 1))
			continue;
		base = lane & ~(s->width - 1);
		switch (s->order) {
		case SHIM_XOR:
			from = lane ^ s->arg;
			if (from >= base + s->width)
				from = lane;
			break;
		case SHIM_DOWN:
			from = lane + s->arg < base + s->width ? lane + s->arg : lane;
			break;
		case SHIM_UP:
			from = lane - s->arg >= base ? lane - s->arg : lane;
			break;
		default:
			from = base + (s->arg & (s->width - 1));
		}
		/* A lane that isn't there gives nothing sensible. */
		s->got = mask >> from & 1 ? ((struct shim_shuffle *)x[from])->value : UINT64_MAX;
	}
}

void shim_work_ballot(void *const x[SHIM_WARP], unsigned mask)
{
	unsigned got = 0;

	for (int lane = 0; lane < SHIM_WARP; lane++)
		if (mask >> lane & 1 && ((struct shim_ballot *)x[lane])->bit)
			got |= 1u << lane;
	for (int lane = 0; lane < SHIM_WARP; lane++)
		if (mask >> lane & 1)
			((struct shim_ballot *)x[lane])->got = got;
}

static void want_all(unsigned mask, const char *what)
{
	if (mask != 0xffffffffu)
		shim_fail("%s with lanes %08x only; expected all 32", what, mask);
}

static void ldmatrix(void *const x[SHIM_WARP], unsigned mask, bool trans)
{
	want_all(mask, "ldmatrix");
	for (int i = 0; i < 4; i++) {
		uint16_t m[8][8];

		for (int row = 0; row < 8; row++)
			memcpy(m[row], ((struct shim_matrix *)x[i * 8 + row])->row, sizeof m[row]);
		for (int lane = 0; lane < SHIM_WARP; lane++) {
			int g = lane / 4, t = lane % 4 * 2;
			uint32_t lo = trans ? m[t][g] : m[g][t], hi = trans ? m[t + 1][g] : m[g][t + 1];

			((struct shim_matrix *)x[lane])->r[i] = lo | hi << 16;
		}
	}
}

void shim_work_ldmatrix(void *const x[SHIM_WARP], unsigned mask)
{
	ldmatrix(x, mask, false);
}

void shim_work_ldmatrix_trans(void *const x[SHIM_WARP], unsigned mask)
{
	ldmatrix(x, mask, true);
}

static inline float from_bf16(uint32_t h)
{
	uint32_t u = h << 16;
	float x;

	memcpy(&x, &u, sizeof x);
	return x;
}

static inline float from_f16(uint32_t h)
{
	return mc_f16_value((uint16_t)h);
}

typedef float row8 __attribute__((vector_size(32)));

/* c[16][8] += a[16][16] b[16][8]; the fragments are those of mc_mma_16x8x16. */
static inline __attribute__((always_inline)) void mma(void *const x[SHIM_WARP], unsigned mask,
						      float (*value)(uint32_t))
{
	float a[16][16];
	row8 b[16], c[16];

	want_all(mask, "mma");
	for (int lane = 0; lane < SHIM_WARP; lane++) {
		const struct shim_mma *m = x[lane];
		int g = lane / 4, t = lane % 4 * 2;

		for (int i = 0; i < 4; i++) {
			float *to = &a[g + i % 2 * 8][t + i / 2 * 8];

			to[0] = value(m->a[i] & 0xffff);
			to[1] = value(m->a[i] >> 16);
		}
		for (int i = 0; i < 2; i++) {
			b[t + i * 8][g] = value(m->b[i] & 0xffff);
			b[t + i * 8 + 1][g] = value(m->b[i] >> 16);
			c[g + i * 8][t] = m->c[i * 2];
			c[g + i * 8][t + 1] = m->c[i * 2 + 1];
		}
	}
	for (int i = 0; i < 16; i++) {
		row8 sum = c[i];

		for (int k = 0; k < 16; k++)
			sum += a[i][k] * b[k];
		c[i] = sum;
	}
	for (int lane = 0; lane < SHIM_WARP; lane++) {
		const struct shim_mma *m = x[lane];
		int g = lane / 4, t = lane % 4 * 2;

		for (int i = 0; i < 4; i++)
			m->c[i] = c[g + i / 2 * 8][t + i % 2];
	}
}

void shim_work_mma_bf16(void *const x[SHIM_WARP], unsigned mask)
{
	mma(x, mask, from_bf16);
}

void shim_work_mma_f16(void *const x[SHIM_WARP], unsigned mask)
{
	mma(x, mask, from_f16);
}

/* Until the wait that covers it, the target of a copy holds nothing. */
void shim_async_copy(void *to, const void *from, bool valid)
{
	struct shim_thread *t = shim_now;

	shim_check_shared(to, 16, "cp.async");
	if ((uintptr_t)from % 16)
		shim_fail("cp.async from %p, which is not aligned to 16 bytes", from);
	if (valid && !shim_memory_has(from, 16))
		shim_fail("cp.async from %p, where the device has no memory", from);
	if (t->asyncs == t->async_room) {
		t->async_room = t->async_room ? 2 * t->async_room : 32;
		t->async = realloc(t->async, (size_t)t->async_room * sizeof *t->async);
	}
	memset(to, 0xff, 16);
	t->async[t->asyncs++] = (struct shim_async){to, valid ? from : NULL, t->group};
}

void shim_async_commit(void)
{
	shim_now->group++;
}

void shim_async_wait(unsigned left)
{
	struct shim_thread *t = shim_now;
	int n = 0;

	while (n < t->asyncs && t->async[n].group + left < t->group) {
		if (t->async[n].from)
			memcpy(t->async[n].to, t->async[n].from, 16);
		else
			memset(t->async[n].to, 0, 16);
		n++;
	}
	if (!n) /* and perhaps no list yet */
		return;
	t->asyncs -= n;
	if (t->asyncs)
		memmove(t->async, t->async + n, (size_t)t->asyncs * sizeof *t->async);
}
