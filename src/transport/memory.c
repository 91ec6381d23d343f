#define _GNU_SOURCE /* memfd_create */
#include "transport/memory.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int mc_memory_alloc(struct mc_memory *m, size_t bytes, const char *place, struct mc_err *err)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	*m = (struct mc_memory){.fd = -1};
	if (!bytes || bytes > SIZE_MAX / 2)
		return mc_err_set(err, MC_USAGE, "a memory of %zu bytes; expected 1 or more", bytes);
	m->bytes = (bytes + page - 1) / page * page;
	snprintf(m->place, sizeof m->place, "%s", place ? place : "");
	m->fd = memfd_create("mooncake", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (m->fd < 0)
		return mc_err_errno(err, MC_FAIL, "cannot make a memory that can be shared");
	/* Sealed: who maps it can rely on its size, and is never killed for touching it. */
	if (ftruncate(m->fd, (off_t)m->bytes) || fcntl(m->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW)) {
		mc_err_errno(err, MC_FAIL, "cannot make a memory of %zu bytes", m->bytes);
		mc_memory_free(m);
		return MC_FAIL;
	}
	m->base = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, m->fd, 0);
	if (m->base == MAP_FAILED) {
		m->base = NULL;
		mc_err_errno(err, MC_FAIL, "cannot map a memory of %zu bytes", m->bytes);
		mc_memory_free(m);
		return MC_FAIL;
	}
	madvise(m->base, m->bytes, MADV_HUGEPAGE); /* where the kernel has them for shared memory */
	return 0;
}

void mc_memory_free(struct mc_memory *m)
{
	if (m->base)
		munmap(m->base, m->bytes);
	if (m->fd >= 0 && m->bytes)
		close(m->fd);
	*m = (struct mc_memory){.fd = -1};
}
