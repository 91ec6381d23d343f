/* A fabric of a few nodes of four NICs of 25 GB/s, and transfers whose ends are noted. */
#ifndef MC_FABRIC_WORLD_H
#define MC_FABRIC_WORLD_H

#include "unit.h"

#include <math.h>

#include "net/fabric.h"

#define MS MC_NS_PER_MS
#define GB 1e9

enum { TRANSFERS = 32 };

static const double nic[8] = {25 * GB, 25 * GB, 25 * GB, 25 * GB, 25 * GB, 25 * GB, 25 * GB, 25 * GB};
static const struct mc_node four = {.nics = 4, .sockets = 2, .switches = 2, .nic_bytes_per_s = nic};

struct world {
	struct mc_loop loop;
	struct mc_fabric *f;
	mc_time end[TRANSFERS];
	int done[TRANSFERS], failed[TRANSFERS];
	uint32_t id[TRANSFERS];
};

struct token {
	struct world *w;
	unsigned n;
};
static struct token token[TRANSFERS];

static struct mc_fabric_params defaults(void)
{
	return (struct mc_fabric_params){.event_kind = 3,
					 .use = {{MC_MEMORY_STRIPED, 0}, false},
					 .slice_bytes = 1,
					 .failover = MS,
					 .oversubscription = 1};
}

static void setup(struct world *w, const struct mc_node *node, uint32_t n, struct mc_fabric_params params)
{
	static const char *const name[] = {"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"};
	struct mc_fabric_endpoint e[8];

	*w = (struct world){0};
	for (uint32_t i = 0; i < n; i++)
		e[i] = (struct mc_fabric_endpoint){name[i], 1, node};
	mc_loop_init(&w->loop);
	w->f = mc_fabric_new(&w->loop, &params, e, n);
}

static void teardown(struct world *w)
{
	mc_fabric_free(w->f);
	mc_loop_fini(&w->loop);
}

static void done(void *arg, uint32_t transfer)
{
	struct token *t = arg;

	ck_assert_uint_eq(t->w->id[t->n], transfer);
	t->w->end[t->n] = t->w->loop.now;
	t->w->done[t->n]++;
}

static void failed(void *arg, uint32_t transfer)
{
	struct token *t = arg;

	ck_assert_uint_eq(t->w->id[t->n], transfer);
	t->w->end[t->n] = t->w->loop.now;
	t->w->failed[t->n]++;
}

static void start(struct world *w, unsigned n, uint32_t from, uint32_t to, struct mc_transfer_spec spec)
{
	spec.from = from;
	spec.to = to;
	spec.done = done;
	spec.failed = failed;
	spec.arg = &token[n];
	token[n] = (struct token){w, n};
	w->id[n] = mc_fabric_start(w->f, &spec);
	ck_assert_int_eq(w->done[n] + w->failed[n], 0);
}

static inline void nop(struct mc_loop *loop, struct mc_event *ev)
{
	(void)loop;
	(void)ev;
}

static inline void run(struct world *w, mc_time until)
{
	struct mc_err err = {0};
	struct mc_event alarm;

	mc_event_init(&alarm, UINT16_MAX - 1, nop);
	if (until < MC_TIME_MAX)
		mc_loop_at(&w->loop, &alarm, until);
	mc_loop_run(&w->loop, until);
	ck_assert_msg(mc_fabric_check(w->f, &err) == 0, "%s", err.text);
}

static inline void scale(struct world *w, const char *link, double factor)
{
	uint32_t l = mc_fabric_link_find(w->f, link);

	ck_assert_msg(l != MC_FABRIC_NONE, "%s", link);
	mc_fabric_link_scale(w->f, l, factor);
}

#endif
