/* The threads of a block as fibers: who runs next, barriers, the end. */
#define _GNU_SOURCE
#include "tests/shim/shim.h"

#include <link.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

enum { GUARD = 1024, GUARD_BYTE = 0xa5 };

struct shim_thread *shim_now;
static struct shim_fiber outside;        /* the host's thread */
static struct shim_block *statics_owner; /* whose static shared memory is in place */

/* Static shared memory: __shared__ is thread_local in the shim, and nothing else here or in the tests is, so
 * it is all of the program's own thread-local storage. */
struct image {
	unsigned char *at;
	size_t bytes;
};

static int find_image(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct image *out = arg;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			*out = (struct image){info->dlpi_tls_data, info->dlpi_phdr[i].p_memsz};
	return 1; /* the program comes first */
}

static struct image statics(void)
{
	struct image s = {0};

	dl_iterate_phdr(find_image, &s);
	return s;
}

static void statics_bring(struct shim_block *b)
{
	struct image s;

	if (statics_owner == b)
		return;
	s = statics();
	if (statics_owner && s.bytes) {
		if (!statics_owner->statics)
			statics_owner->statics = malloc(s.bytes);
		memcpy(statics_owner->statics, s.at, s.bytes);
	}
	if (b->statics)
		memcpy(s.at, b->statics, s.bytes);
	else
		memset(s.at, 0xff, s.bytes);
	statics_owner = b;
}

static void push(struct shim_block *b, struct shim_thread *t, bool first)
{
	if (first) {
		b->ready_head = b->ready_head ? b->ready_head - 1 : b->threads - 1;
		b->ready[b->ready_head] = t->at;
	} else {
		int i = b->ready_head + b->readies;

		b->ready[i < b->threads ? i : i - b->threads] = t->at;
	}
	b->readies++;
	t->state = SHIM_READY;
}

static struct shim_thread *pop(struct shim_block *b)
{
	struct shim_thread *t = &b->thread[b->ready[b->ready_head]];

	b->ready_head = b->ready_head + 1 < b->threads ? b->ready_head + 1 : 0;
	b->readies--;
	return t;
}

/* The running thread stops here until it is ready again; in the end it stops for good. */
static void next_thread(bool ends)
{
	struct shim_thread *t = shim_now;
	struct shim_block *b = t->block;
	struct shim_thread *n = b->readies && !b->failed ? pop(b) : NULL;

	if (n == t)
		return;
	shim_now = n;
	shim_fiber_switch(&t->fiber, n ? &n->fiber : &outside, ends);
}

/* Shared memory of the running block? */
static bool is_shared(const unsigned char *p, size_t bytes)
{
	const struct shim_block *b = shim_now->block;
	static struct image s;

	if (p >= b->dynamic && p + bytes <= b->dynamic + b->dynamic_bytes)
		return true;
	if (!s.at)
		s = statics();
	return p >= s.at && p + bytes <= s.at + s.bytes;
}

void shim_check_shared(const void *p, size_t bytes, const char *what)
{
	if ((uintptr_t)p % bytes)
		shim_fail("%s at %p in shared memory, which is not aligned to %zu bytes", what, p, bytes);
	if (!is_shared(p, bytes))
		shim_fail("%s at %p, which is not in shared memory", what, p);
}

static void describe(char *out, size_t room, const struct shim_block *b, const char *format, va_list ap)
{
	const char *file = strrchr(b->kernel->file, '/');
	int n = snprintf(out, room, "%s:%d: %s, block (%u,%u,%u)", file ? file + 1 : b->kernel->file,
			 b->kernel->line, b->kernel->what, b->idx.x, b->idx.y, b->idx.z);

	if (shim_now)
		n += snprintf(out + n, room - (size_t)n, ", thread (%u,%u,%u)", shim_now->idx.x,
			      shim_now->idx.y, shim_now->idx.z);
	n += snprintf(out + n, room - (size_t)n, ": ");
	vsnprintf(out + n, room - (size_t)n, format, ap);
}

__attribute__((format(printf, 2, 3))) static void block_fail(struct shim_block *b, const char *format, ...)
{
	char text[512];
	va_list ap;

	if (b->failed)
		return;
	va_start(ap, format);
	describe(text, sizeof text, b, format, ap);
	va_end(ap);
	b->failed = true;
	shim_device_fail(shim_running(), "%s", text);
}

void shim_fail(const char *format, ...)
{
	char text[384];
	va_list ap;

	va_start(ap, format);
	vsnprintf(text, sizeof text, format, ap);
	va_end(ap);
	block_fail(shim_now->block, "%s", text);
	next_thread(true);
	abort();
}

void shim_trap(void)
{
	shim_fail("trap");
}

static void release(struct shim_block *b)
{
	b->arrived = 0;
	if (b->ahead)
		for (int i = b->threads; i-- > 0;) {
			struct shim_thread *t = &b->thread[b->order[i]];

			if (t->state == SHIM_BARRIER)
				push(b, t, true);
		}
	else
		for (int i = 0; i < b->threads; i++) {
			struct shim_thread *t = &b->thread[b->order[i]];

			if (t->state == SHIM_BARRIER)
				push(b, t, false);
		}
}

/* Where another thread waits at a barrier now. */
static const struct shim_site *barrier_site(const struct shim_block *b)
{
	for (int i = 0; i < b->threads; i++)
		if (b->thread[i].state == SHIM_BARRIER)
			return b->thread[i].site;
	return NULL;
}

void shim_barrier(const struct shim_site *site)
{
	struct shim_thread *t = shim_now;
	struct shim_block *b = t->block;

	if (b->arrived) {
		const struct shim_site *other = b->thread[b->order[0]].state == SHIM_BARRIER
						    ? b->thread[b->order[0]].site
						    : barrier_site(b);

		if (other->line != site->line || strcmp(other->file, site->file) != 0)
			shim_fail(
			    "waits at the barrier of line %d while another thread waits at that of line %d",
			    site->line, other->line);
	}
	if (shim_fiber_overrun(&t->fiber))
		shim_fail("the shim's stacks are too small for this kernel");
	t->state = SHIM_BARRIER;
	t->site = site;
	b->progressed = true;
	b->spins = 0;
	if (++b->arrived == b->live)
		release(b);
	next_thread(false);
}

/* Are all lanes there that can come? Then do it, and all but the running one are ready. */
static bool slot_complete(struct shim_thread *t, struct shim_slot *slot)
{
	struct shim_warp *w = &t->block->warp[t->warp];
	unsigned arrived = slot->arrived;

	if (arrived != (slot->mask & w->live))
		return false;
	slot->work(w->x, arrived);
	slot->arrived = 0;
	for (int i = 0; i < SHIM_WARP; i++) {
		int lane = t->block->ahead ? SHIM_WARP - 1 - i : i;
		struct shim_thread *o = t - t->lane + lane;

		if (arrived >> lane & 1 && o != t)
			push(t->block, o, t->block->ahead);
	}
	return true;
}

static struct shim_slot *slot_find(struct shim_thread *t, unsigned mask, shim_warp_work *work,
				   const struct shim_site *site)
{
	struct shim_warp *w = &t->block->warp[t->warp];
	struct shim_slot *unused = NULL;

	for (int i = 0; i < SHIM_SLOTS; i++) {
		struct shim_slot *s = &w->slot[i];

		if (!s->arrived)
			unused = s;
		else if (s->mask == mask && s->work == work)
			return s;
		else if (s->mask & mask)
			shim_fail("comes to %s of line %d with mask %08x while lanes of its warp wait at "
				  "another operation or with mask %08x",
				  site->what, site->line, mask, s->mask);
	}
	*unused = (struct shim_slot){.mask = mask, .work = work};
	return unused;
}

void shim_warp_do(unsigned mask, shim_warp_work *work, void *x, const struct shim_site *site)
{
	struct shim_thread *t = shim_now;
	struct shim_warp *w = &t->block->warp[t->warp];
	struct shim_slot *slot;

	if (!(mask >> t->lane & 1))
		shim_fail("%s of line %d with mask %08x, in which its lane %d is not", site->what, site->line,
			  mask, t->lane);
	slot = slot_find(t, mask, work, site);
	slot->arrived |= 1u << t->lane;
	w->x[t->lane] = x;
	t->site = site;
	t->block->progressed = true;
	t->block->spins = 0;
	if (slot_complete(t, slot))
		return;
	t->state = SHIM_LANES;
	next_thread(false);
}

/* Other blocks go on before any thread of this one. */
static void leave(struct shim_thread *t)
{
	t->block->spins = 0;
	shim_now = NULL;
	shim_fiber_switch(&t->fiber, &outside, false);
}

void shim_progress(void)
{
	struct shim_thread *t = shim_now;

	t->block->progressed = true;
	t->block->spins = 0;
	/* Who waited for the flag may see it while other threads of this block are still behind. */
	if (shim_random() & 1) {
		push(t->block, t, false);
		leave(t);
	}
}

void shim_spin(void)
{
	struct shim_thread *t = shim_now;
	struct shim_block *b = t->block;

	push(b, t, false);
	if (++b->spins < b->readies)
		next_thread(false);
	else
		leave(t);
}

static void thread_main(void)
{
	struct shim_thread *t = shim_now;
	struct shim_block *b = t->block;
	struct shim_warp *w = &b->warp[t->warp];

	shim_fiber_entered();
	b->call(b->args);
	t->state = SHIM_ENDED;
	b->progressed = true;
	b->spins = 0;
	b->live--;
	w->live &= ~(1u << t->lane);
	for (int i = 0; i < SHIM_SLOTS; i++)
		if (w->slot[i].arrived)
			slot_complete(t, &w->slot[i]);
	if (b->arrived && b->arrived == b->live)
		release(b);
	next_thread(true);
}

/* Order of the threads, and who goes first of those that are ready. */
static void choose_order(struct shim_block *b)
{
	uint32_t kind = shim_below(3);

	for (int i = 0; i < b->threads; i++)
		b->order[i] = kind == 1 ? b->threads - 1 - i : i;
	if (kind == 2)
		for (int i = b->threads - 1; i > 0; i--) {
			int j = (int)shim_below((uint32_t)i + 1), o = b->order[i];

			b->order[i] = b->order[j];
			b->order[j] = o;
		}
	b->ahead = shim_below(2);
}

static unsigned char *dynamic_new(size_t bytes)
{
	unsigned char *p = aligned_alloc(128, (bytes + 2 * GUARD + 127) / 128 * 128);

	memset(p, GUARD_BYTE, GUARD);
	memset(p + GUARD, 0xff, bytes);
	memset(p + GUARD + bytes, GUARD_BYTE, GUARD);
	ASAN_POISON_MEMORY_REGION(p, GUARD);
	ASAN_POISON_MEMORY_REGION(p + GUARD + bytes, GUARD);
	return p + GUARD;
}

static void guards_open(struct shim_block *b)
{
	ASAN_UNPOISON_MEMORY_REGION(b->dynamic - GUARD, GUARD);
	ASAN_UNPOISON_MEMORY_REGION(b->dynamic + b->dynamic_bytes, GUARD);
}

static void guards_check(struct shim_block *b)
{
	const unsigned char *p = b->dynamic - GUARD, *q = b->dynamic + b->dynamic_bytes;

	guards_open(b);
	for (int i = 0; i < GUARD; i++) {
		if (p[i] != GUARD_BYTE)
			block_fail(b, "wrote before its dynamic shared memory (%d bytes before it)",
				   GUARD - i);
		if (q[i] != GUARD_BYTE)
			block_fail(b, "wrote behind its %zu bytes of dynamic shared memory (at byte %zu)",
				   b->dynamic_bytes, b->dynamic_bytes + (size_t)i);
	}
}

struct shim_block *shim_block_new(const struct shim_shape *shape, const struct shim_site *kernel,
				  uint64_t number)
{
	struct shim_block *b = calloc(1, sizeof *b);
	struct dim3 g = shape->grid, d = shape->block;

	*b = (struct shim_block){.dim = d, .grid = g, .kernel = kernel, .dynamic_bytes = shape->shared};
	b->idx = (struct uint3){(unsigned)(number % g.x), (unsigned)(number / g.x % g.y),
				(unsigned)(number / g.x / g.y)};
	b->threads = b->live = (int)(d.x * d.y * d.z);
	b->thread = calloc((size_t)b->threads, sizeof *b->thread);
	b->warp = calloc((size_t)b->threads / SHIM_WARP + 1, sizeof *b->warp);
	b->order = malloc((size_t)b->threads * sizeof *b->order);
	b->ready = malloc((size_t)b->threads * sizeof *b->ready);
	b->dynamic = dynamic_new(shape->shared);
	choose_order(b);
	for (int i = 0; i < b->threads; i++) {
		struct shim_thread *t = &b->thread[i];
		unsigned u = (unsigned)i;

		t->idx = (struct uint3){u % d.x, u / d.x % d.y, u / d.x / d.y};
		t->block = b;
		t->at = i;
		t->lane = i % SHIM_WARP;
		t->warp = i / SHIM_WARP;
		b->warp[t->warp].live |= 1u << t->lane;
		shim_fiber_init(&t->fiber, thread_main);
	}
	for (int i = 0; i < b->threads; i++)
		push(b, &b->thread[b->order[i]], false);
	return b;
}

void shim_block_free(struct shim_block *b)
{
	guards_open(b);
	if (statics_owner == b)
		statics_owner = NULL;
	for (int i = 0; i < b->threads; i++) {
		shim_fiber_fini(&b->thread[i].fiber);
		free(b->thread[i].async);
	}
	free(b->dynamic - GUARD);
	free(b->statics);
	free(b->thread);
	free(b->warp);
	free(b->order);
	free(b->ready);
	free(b);
}

/* Nobody can go on: say who waits for what. */
static void deadlock(struct shim_block *b)
{
	for (int i = 0; i < b->threads; i++) {
		const struct shim_thread *t = &b->thread[i];

		if (t->state == SHIM_LANES) {
			block_fail(b, "thread (%u,%u,%u) waits at %s of line %d for lanes that don't come",
				   t->idx.x, t->idx.y, t->idx.z, t->site->what, t->site->line);
			return;
		}
	}
	block_fail(b, "%d of %d live threads wait at the barrier of line %d, the others never come",
		   b->arrived, b->live, barrier_site(b)->line);
}

enum shim_result shim_block_run(struct shim_block *b)
{
	b->progressed = false;
	statics_bring(b);
	if (b->readies) {
		shim_now = pop(b);
		shim_fiber_switch(&outside, &shim_now->fiber, false);
		shim_now = NULL;
	}
	if (!b->failed && b->live && !b->readies)
		deadlock(b);
	if (!b->live)
		guards_check(b);
	if (b->failed)
		return SHIM_FAILED;
	return b->live ? SHIM_STALLED : SHIM_DONE;
}
