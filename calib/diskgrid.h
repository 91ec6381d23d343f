/* What `mooncake-calib disk` measures, in the order in which it does: wherever it ends, the points so far are
 * spread over the grid. */
#ifndef MC_CALIB_DISKGRID_H
#define MC_CALIB_DISKGRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MC_DISK_POINTS = 7 * 7 * 2 }; /* at most */

struct mc_disk_point {
	bool write;
	int64_t bytes, depth;
};

/* Those whose requests under way fill at most a quarter of the file, and half of the memory that is there;
 * returns how many. */
size_t mc_disk_grid(struct mc_disk_point *out, int64_t file_bytes, int64_t memory_bytes, bool writes);

#endif
