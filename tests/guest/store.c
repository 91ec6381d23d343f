/* Memory in a memfd, so that the process that checks a peer's memory sees what is really there. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/vec.h"
#include "guest.h"

enum { GUARD_BYTE = 0xa5 };

void store_open(struct store *s, size_t bytes, int fd)
{
	bool fresh = fd < 0;
	uint8_t *all;

	if (fresh)
		fd = memfd_create("store", 0);
	if (fd < 0 || (fresh && ftruncate(fd, (off_t)(bytes + 2 * GUARD)))) {
		perror("memfd");
		exit(1);
	}
	all = mmap(NULL, bytes + 2 * GUARD, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (all == MAP_FAILED) {
		perror("mmap");
		exit(1);
	}
	*s = (struct store){.at = all + GUARD, .bytes = bytes, .fd = fd};
	s->base = (uintptr_t)s->at;
	if (!fresh)
		return;
	memset(all, GUARD_BYTE, GUARD);
	memset(all + GUARD + bytes, GUARD_BYTE, GUARD);
	s->model = mc_xcalloc(bytes, 1);
	s->next = mc_xcalloc(bytes, 1);
	s->spare = mc_xcalloc(bytes, 1);
}

void store_close(struct store *s)
{
	munmap(s->at - GUARD, s->bytes + 2 * GUARD);
	close(s->fd);
	free(s->model);
	free(s->next);
	free(s->spare);
}

void store_fill(struct store *s, uint64_t *rng)
{
	for (size_t i = 0; i + 8 <= s->bytes; i += 8) {
		*rng = mc_hash_u64(*rng);
		memcpy(s->model + i, rng, 8);
	}
	memcpy(s->next, s->model, s->bytes);
	memcpy(s->at, s->model, s->bytes);
}

bool store_guards(const struct store *s, size_t *at)
{
	for (size_t i = 0; i < GUARD; i++)
		if (s->at[s->bytes + i] != GUARD_BYTE || *(s->at - GUARD + i) != GUARD_BYTE) {
			*at = s->bytes + i;
			return false;
		}
	return true;
}

bool store_check(struct store *s, bool mixed, size_t *at)
{
	const uint8_t *want = mixed ? s->model : s->next;

	if (memcmp(s->at, want, s->bytes) != 0)
		for (size_t i = 0; i < s->bytes; i++)
			if (s->at[i] != want[i] && (!mixed || s->at[i] != s->next[i])) {
				*at = i;
				return false;
			}
	memcpy(s->model, s->at, s->bytes);
	memcpy(s->next, s->at, s->bytes);
	return store_guards(s, at);
}
