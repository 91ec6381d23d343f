/*
 * The file that disks are measured with. It has no name, so it is gone with the process, however that ends;
 * it is opened with O_DIRECT, past the page cache. What it holds tells where and when it was written:
 *
 * block b of MC_DISK_BLOCK bytes, written the g-th time, is a table of random words, each combined with one
 * that is a hash of (seed, b, g). So no two blocks are alike (drives that look for equal ones find none),
 * nothing in one can be compressed, and a block that was lost, torn or went elsewhere shows.
 */
#ifndef MC_CALIB_DISKFILE_H
#define MC_CALIB_DISKFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

enum {
	MC_DISK_BLOCK = 4096, /* the smallest request; O_DIRECT's alignment of offsets, sizes and memory */
	MC_DISK_WORDS = MC_DISK_BLOCK / 8,
};

struct mc_diskfile {
	int fd;
	int64_t bytes;        /* a multiple of MC_DISK_BLOCK */
	uint16_t *generation; /* of each block; 0: not written yet */
	uint64_t seed;
	uint64_t table[MC_DISK_WORDS];
	char where[256];    /* "ext4 on /dev/nvme0n1p1 (maker's name)", as far as it is known */
	int64_t free_bytes; /* of the file system, before */
	bool memory;        /* a file system in memory: no disk at all */
};

/*
 * In that folder, of bytes, but at most half of what is free. MC_USAGE: no such folder; MC_FAIL: it can't be
 * written, or less than `least` bytes would be left of the file; MC_NOHW: the file system has no O_DIRECT. *f
 * needs _close only on success.
 */
int mc_diskfile_open(struct mc_diskfile *f, const char *folder, int64_t bytes, int64_t least,
		     struct mc_err *err);
void mc_diskfile_close(struct mc_diskfile *f);
/* Shorter, to what was written. */
int mc_diskfile_cut(struct mc_diskfile *f, int64_t bytes, struct mc_err *err);

/* What a range of blocks will hold once it is written again, counted as written: to buffer. */
void mc_diskfile_next(struct mc_diskfile *f, int64_t offset, size_t bytes, void *buffer);
/* Is buffer what the range holds? With `all`, each byte is looked at, else the first and last word of each
 * block. */
bool mc_diskfile_holds(const struct mc_diskfile *f, int64_t offset, size_t bytes, const void *buffer,
		       bool all);

#endif
