/* One pop and one push at a constant number of pending events (the "hold" model), random increments. */
#include <stdio.h>

#include "base/hash.h"
#include "base/vec.h"
#include "bench.h"
#include "des/loop.h"

static uint64_t draw;

static void hold(struct mc_loop *loop, struct mc_event *ev)
{
	mc_loop_at(loop, ev, loop->now + (mc_time)(mc_hash_u64(draw++) >> 40));
}

static void measure(size_t pending, size_t events)
{
	struct mc_event *ev = mc_xcalloc(pending, sizeof *ev);
	struct mc_loop loop;
	double begin;

	mc_loop_init(&loop);
	for (size_t i = 0; i < pending; i++) {
		mc_event_init(&ev[i], 0, hold);
		hold(&loop, &ev[i]);
	}
	for (size_t i = 0; i < pending; i++)
		mc_loop_step(&loop);
	begin = bench_s();
	for (size_t i = 0; i < events; i++)
		mc_loop_step(&loop);
	printf("%7zu pending: %6.1f ns a pop and push\n", pending,
	       (bench_s() - begin) / (double)events * 1e9);
	mc_loop_fini(&loop);
	free(ev);
}

int main(void)
{
	measure(16, 5000000);
	measure(1000, 5000000);
	measure(100000, 3000000);
	measure(1000000, 2000000);
	return 0;
}
