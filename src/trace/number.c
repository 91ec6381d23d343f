#include "trace/number.h"

#include "base/map.h"
#include "base/vec.h"

void mc_trace_numbers_init(struct mc_trace_numbers *numbers, const struct mc_trace *t)
{
	struct mc_map map = {0};
	uint32_t n = 0;

	numbers->of = mc_xmalloc((size_t)t->first[t->n] * sizeof *numbers->of);
	for (uint64_t i = 0; i < t->first[t->n]; i++) {
		numbers->of[i] = mc_map_get(&map, t->block[i]);
		if (numbers->of[i] == MC_MAP_NONE) {
			numbers->of[i] = n;
			mc_map_put(&map, t->block[i], n++);
		}
	}
	mc_map_fini(&map);
	numbers->distinct = n;
}

void mc_trace_numbers_fini(struct mc_trace_numbers *numbers)
{
	free(numbers->of);
	numbers->of = NULL;
}
