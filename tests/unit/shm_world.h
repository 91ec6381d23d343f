/* Ports of the shared-memory transport by themselves, and the other end of a connection by hand. */
#ifndef MC_TESTS_SHM_WORLD_H
#define MC_TESTS_SHM_WORLD_H

#include <dirent.h>
#include <unistd.h>

#include "engine_world.h"
#include "transport/shm_state.h"
#include "transport/wire.h"

enum { SHM_BYTES = 1 << 20, SHM_SLICE = 65536 };

static inline const struct mc_transport *shm(void)
{
	return mc_transport_find("shm", NULL);
}

static inline void shm_wake(void *arg)
{
	(void)arg;
}

static inline struct mc_port_want shm_want(void)
{
	struct mc_port_want w = {.name = "",
				 .timeout_ns = 2000 * MS,
				 .wake = shm_wake,
				 .lanes = 2,
				 .limits = {SHM_SLICE, 64, 64, 8}};

	ck_assert_int_eq(mc_token_set(&w.token, "a token of the tests", NULL), 0);
	return w;
}

static inline struct mc_port *shm_open_port(const struct mc_port_want *w)
{
	struct mc_port *p;
	struct mc_err err = {0};

	ck_assert_msg(!shm()->port_open(&p, w, &err), "%s", err.text);
	return p;
}

static inline struct mc_endpoint *shm_join(struct mc_port *from, const char *to, uint64_t id)
{
	struct mc_connect_want want = {.address = to, .id = id, .timeout_ns = 2000 * MS};
	struct mc_endpoint *ep;
	struct mc_err err = {0};

	ck_assert_msg(!shm()->connect(&ep, from, &want, &err), "%s", err.text);
	return ep;
}

/* Post n slices and wait for them all; the last one's status. */
static inline struct mc_completion shm_do(struct mc_port *p, struct mc_endpoint *ep, struct mc_slice *s,
					  size_t n)
{
	struct mc_slice *list[64];
	struct mc_completion c[64] = {{0}};
	size_t got = 0;
	int64_t end = mc_clock_ns() + 10000 * MS;

	ck_assert_uint_le(n, 64);
	for (size_t i = 0; i < n; i++)
		list[i] = &s[i];
	shm()->post(ep, list, n);
	while (got < n) {
		got += shm()->poll(p, c, 64);
		ck_assert_int_lt(mc_clock_ns(), end);
		usleep(got < n ? 50 : 0);
	}
	return c[0];
}

/* How often memory of mc_memory_alloc is mapped here. */
static inline int shm_mappings(void)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[512];
	int n = 0;

	ck_assert_ptr_nonnull(f);
	while (fgets(line, sizeof line, f))
		n += strstr(line, "memfd:mooncake") != NULL;
	fclose(f);
	return n;
}

static inline int shm_files(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	ck_assert_ptr_nonnull(d);
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

/* A socket to a port, with the token, as an endpoint of that id. */
static inline int shm_by_hand(const struct mc_port *p, const struct mc_port_want *w, uint64_t id)
{
	int64_t end = mc_clock_ns() + 2000 * MS;
	uint8_t text[MC_SHM_FRAME];
	int fd;

	ck_assert_int_eq(mc_sock_connect(&fd, shm()->port_address(p), NULL, end, NULL), 0);
	ck_assert_int_eq(mc_auth_connect(fd, &w->token, MC_PURPOSE_SHM, end, NULL), 0);
	mc_wire_set(text, id, 8);
	ck_assert_int_eq(mc_sock_send(fd, text, 8, end, NULL), 0);
	ck_assert_int_eq(mc_sock_recv(fd, text, sizeof text, end, NULL), 0);
	ck_assert_int_eq(text[0], MC_SHM_WELCOME);
	return fd;
}

/* The next message, and the file that came with it (to be closed) or -1. */
static inline enum mc_shm_heard shm_next(int fd, struct mc_shm_frame *f, int *file)
{
	struct mc_shm_sock s = {.fd = fd, .file = -1};
	enum mc_shm_heard h = MC_SHM_NOTHING;

	for (int i = 0; i < 40000 && h == MC_SHM_NOTHING; i++) {
		h = mc_shm_hear(&s, f);
		usleep(h == MC_SHM_NOTHING ? 50 : 0);
	}
	*file = s.file;
	return h;
}

static inline enum mc_shm_heard shm_ask(int fd, uint64_t key, struct mc_shm_frame *f, int *file)
{
	struct mc_shm_frame ask = {.kind = MC_SHM_MAP, .key = key};

	ck_assert(mc_shm_send(fd, &ask, -1));
	return shm_next(fd, f, file);
}

#endif
