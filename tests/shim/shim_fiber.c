/* Stacks to switch between (x86-64, System V): what a call preserves is pushed, the stack pointer exchanged.
 * About 40 million switches a second on one core, with barriers and the making of blocks of 128 threads. */
#define _GNU_SOURCE
#include "tests/shim/shim.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__SANITIZE_ADDRESS__)
#define SHIM_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SHIM_ASAN 1
#endif
#endif

#ifdef SHIM_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
enum { STACK = 1 << 18 };
#else
enum { STACK = 1 << 16 };
#endif

/* Stacks don't start at the same place of a page, or they would all share a few sets of the caches. */
enum { STRIDE = STACK + 17 * 64, CHUNK = 64, LEAST = 16384 };

void shim_swap(void **save, void *to);
__asm__(".text\n"
	".globl shim_swap\n"
	".type shim_swap, @function\n"
	"shim_swap:\n"
	"	pushq %rbp\n"
	"	pushq %rbx\n"
	"	pushq %r12\n"
	"	pushq %r13\n"
	"	pushq %r14\n"
	"	pushq %r15\n"
	"	movq %rsp, (%rdi)\n"
	"	movq %rsi, %rsp\n"
	"	popq %r15\n"
	"	popq %r14\n"
	"	popq %r13\n"
	"	popq %r12\n"
	"	popq %rbx\n"
	"	popq %rbp\n"
	"	ret\n"
	".size shim_swap, .-shim_swap\n"
	".section .note.GNU-stack,\"\",@progbits\n"
	".text\n");

static unsigned char *
    *spare; /* stacks that nobody uses; the memory of those that were never used is untouched */
static size_t spares, room;

static unsigned char *stack_take(void)
{
	if (!spares) {
		unsigned char *p = mmap(NULL, (size_t)STRIDE * CHUNK, PROT_READ | PROT_WRITE,
					MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		room += CHUNK;
		spare = realloc(spare, room * sizeof *spare);
		if (p == MAP_FAILED || !spare)
			abort();
		for (int i = CHUNK; i-- > 0;)
			spare[spares++] = p + (size_t)i * STRIDE;
	}
	return spare[--spares];
}

void shim_fiber_init(struct shim_fiber *f, void (*entry)(void))
{
	void **top;

	f->stack = stack_take();
	f->bytes = STACK;
	f->fake = NULL;
	top = (void **)(void *)(f->stack + STACK);
	*--top = NULL; /* where `entry` would return to */
	*--top = *(void **)(void *)&entry;
	top -= 6;
	memset(top, 0, 6 * sizeof *top);
	f->sp = top;
}

void shim_fiber_fini(struct shim_fiber *f)
{
#ifdef SHIM_ASAN
	__asan_unpoison_memory_region(f->stack, f->bytes);
#endif
	spare[spares++] = f->stack;
	f->stack = NULL;
}

bool shim_fiber_overrun(const struct shim_fiber *f)
{
	return (unsigned char *)__builtin_frame_address(0) < f->stack + LEAST;
}

#ifdef SHIM_ASAN
static void thread_stack(const void **bottom, size_t *bytes)
{
	pthread_attr_t a;
	void *p;

	if (pthread_getattr_np(pthread_self(), &a))
		abort();
	pthread_attr_getstack(&a, &p, bytes);
	pthread_attr_destroy(&a);
	*bottom = p;
}

void shim_fiber_switch(struct shim_fiber *from, struct shim_fiber *to, bool last)
{
	const void *bottom = to->stack;
	size_t bytes = to->bytes;

	if (!bottom)
		thread_stack(&bottom, &bytes);
	__sanitizer_start_switch_fiber(last ? NULL : &from->fake, bottom, bytes);
	shim_swap(&from->sp, to->sp);
	__sanitizer_finish_switch_fiber(from->fake, NULL, NULL);
}

void shim_fiber_entered(void)
{
	__sanitizer_finish_switch_fiber(NULL, NULL, NULL);
}
#else
void shim_fiber_switch(struct shim_fiber *from, struct shim_fiber *to, bool last)
{
	(void)last;
	shim_swap(&from->sp, to->sp);
}

void shim_fiber_entered(void)
{
}
#endif
