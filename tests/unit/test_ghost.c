/* The ids evicted last, against a list of all that ever were. */
#include "unit.h"

#include <string.h>

#include "kv/ghost.h"
#include "kv_prompts.h"

enum { IDS = 16, STEPS = 4000 };

/* When each id was last pushed, counted from 1; 0: never, or back since. */
struct model {
	uint64_t pushed[IDS], pushes;
	uint32_t size;
};

static bool remembered(const struct model *m, uint64_t id)
{
	return m->pushed[id] && m->pushes - m->pushed[id] < m->size;
}

/* Up to max different ids. */
static uint32_t draw(struct rng *r, uint64_t *id, uint32_t max)
{
	uint32_t n = 1 + rng_below(r, max), first = rng_below(r, IDS);

	for (uint32_t k = 0; k < n; k++)
		id[k] = (first + 5 * k) % IDS; /* 5 and 16 have no common divisor */
	return n;
}

static void compare(const struct model *m, const struct mc_ghost *g, struct rng *r)
{
	uint64_t id[IDS];
	uint32_t n = draw(r, id, IDS), same = 1;

	for (uint64_t i = 0; i < IDS; i++)
		if (mc_ghost_has(g, i) != remembered(m, i))
			ck_abort_msg("size %u: id %d is %sremembered", m->size, (int)i,
				     mc_ghost_has(g, i) ? "" : "not ");
	while (same < n && remembered(m, id[same]) == remembered(m, id[0]))
		same++;
	if (mc_ghost_alike(g, id, n) != same)
		ck_assert_uint_eq(mc_ghost_alike(g, id, n), same);
}

START_TEST(equals_a_list_of_all)
{
	struct model m = {.size = (uint32_t)_i};
	struct rng r = {.at = (uint64_t)_i << 32};
	struct mc_ghost g;

	mc_ghost_init(&g, m.size);
	compare(&m, &g, &r);
	for (int step = 0; step < STEPS; step++) {
		uint64_t id[IDS];
		uint32_t n = draw(&r, id, rng_below(&r, 4) ? 3 : IDS);

		if (rng_below(&r, 3)) {
			mc_ghost_push(&g, id, n);
			while (n-- > 0)
				m.pushed[id[n]] = ++m.pushes;
		} else { /* also ids that are not there */
			mc_ghost_drop(&g, id, n);
			while (n-- > 0)
				m.pushed[id[n]] = 0;
		}
		compare(&m, &g, &r);
	}
	mc_ghost_fini(&g);
}
END_TEST

/* What comes back leaves a gap: it does not make room for an older one. */
START_TEST(a_gap_ages_like_an_id)
{
	struct mc_ghost g;

	mc_ghost_init(&g, 2);
	mc_ghost_push(&g, (const uint64_t[]){1, 2}, 2); /* 2 first */
	mc_ghost_drop(&g, (const uint64_t[]){1}, 1);
	mc_ghost_push(&g, (const uint64_t[]){3}, 1);
	ck_assert(!mc_ghost_has(&g, 1) && !mc_ghost_has(&g, 2) && mc_ghost_has(&g, 3));
	mc_ghost_push(&g, (const uint64_t[]){UINT64_MAX, 0}, 2); /* any id is one */
	ck_assert(!mc_ghost_has(&g, 3) && mc_ghost_has(&g, 0) && mc_ghost_has(&g, UINT64_MAX));
	mc_ghost_fini(&g);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("ghost");
	TCase *t = tcase_create("ghost");

	tcase_add_loop_test(t, equals_a_list_of_all, 1, 21);
	tcase_add_test(t, a_gap_ages_like_an_id);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
