/*
 * Memory that can be registered. Private memory (malloc, a device's) can be moved by a transport that copies
 * or maps it for a NIC; what is allocated here is backed by a memfd, so that processes of the same host can
 * map it.
 */
#ifndef MC_TRANSPORT_MEMORY_H
#define MC_TRANSPORT_MEMORY_H

#include <stddef.h>

#include "base/err.h"

#define MC_PLACE 16 /* bytes of a place's name with its NUL */

enum {
	MC_ACCESS_READ = 1,  /* peers may read it */
	MC_ACCESS_WRITE = 2, /* peers may write it */
};

struct mc_memory {
	void *base;
	size_t bytes;
	int fd; /* memfd that base maps from its start; -1: private memory */
	char
	    place[MC_PLACE]; /* where it is, in the terms of the topology: "cpu:0", "cuda:1"; "": not known */
};

/* Zeroed memory that other processes can map, of whole pages, huge ones where the kernel gives them; it can
 * neither shrink nor grow. place may be NULL. */
int mc_memory_alloc(struct mc_memory *m, size_t bytes, const char *place, struct mc_err *err);
/* Unregistered before. A memory that holds nothing is fine. */
void mc_memory_free(struct mc_memory *m);

#endif
