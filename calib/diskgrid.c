#include "calib/diskgrid.h"

enum { STEPS = 7, LEVELS = 3 };

static const int64_t sizes[STEPS] = {4 << 10, 16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};
static const int64_t depths[STEPS] = {1, 2, 4, 8, 16, 32, 64};
/* The ends, the middle, the rest. */
static const int level[STEPS] = {0, 2, 2, 1, 2, 2, 0};

size_t mc_disk_grid(struct mc_disk_point *out, int64_t file_bytes, int64_t memory_bytes, bool writes)
{
	size_t n = 0;

	for (int l = 0; l <= 2 * (LEVELS - 1); l++)
		for (int s = 0; s < STEPS; s++)
			for (int d = 0; d < STEPS; d++) {
				int64_t under_way = sizes[s] * depths[d];

				if (level[s] + level[d] != l || under_way > file_bytes / 4 ||
				    under_way > memory_bytes / 2)
					continue;
				out[n++] = (struct mc_disk_point){false, sizes[s], depths[d]};
				if (writes)
					out[n++] = (struct mc_disk_point){true, sizes[s], depths[d]};
			}
	return n;
}
