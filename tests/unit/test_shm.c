/* Shared memory: what test_transport doesn't ask of every transport. */
#define _GNU_SOURCE /* memfd_create, F_ADD_SEALS */
#include <fcntl.h>
#include <sys/mman.h>

#include "shm_world.h"
#include "unit.h"

struct two {
	struct mc_port_want want;
	struct mc_port *owner, *asker;
	struct mc_endpoint *ep;
	struct mc_memory m;
	uint8_t *local;
	uint64_t key;
};

static void two_open(struct two *t, unsigned access)
{
	t->want = shm_want();
	t->owner = shm_open_port(&t->want);
	t->asker = shm_open_port(&t->want);
	t->ep = shm_join(t->asker, shm()->port_address(t->owner), 77);
	ck_assert_int_eq(mc_memory_alloc(&t->m, SHM_BYTES, "cpu:0", NULL), 0);
	memset(t->m.base, 3, SHM_BYTES);
	t->local = mc_xcalloc(1, SHM_BYTES);
	ck_assert_int_eq(shm()->memory_register(t->owner, &t->m, access, &t->key, NULL), 0);
}

static void two_close(struct two *t)
{
	shm()->disconnect(t->ep);
	shm()->port_close(t->asker);
	shm()->port_close(t->owner);
	mc_memory_free(&t->m);
	free(t->local);
}

static struct mc_slice two_slice(const struct two *t, enum mc_direction op, uint64_t at)
{
	return (struct mc_slice){.op = op,
				 .bytes = SHM_SLICE,
				 .local = t->local + at,
				 .remote = (uintptr_t)t->m.base + at,
				 .remote_key = t->key};
}

/* All of the memory by slices: which is too much for post() to copy itself. */
static enum mc_wire two_all(struct two *t, enum mc_direction op)
{
	struct mc_slice s[SHM_BYTES / SHM_SLICE];

	for (size_t i = 0; i < SHM_BYTES / SHM_SLICE; i++)
		s[i] = two_slice(t, op, i * SHM_SLICE);
	return shm_do(t->asker, t->ep, s, SHM_BYTES / SHM_SLICE).status;
}

START_TEST(unregistered_is_unmapped)
{
	struct two t;
	struct mc_slice s;

	two_open(&t, BOTH);
	ck_assert_int_eq(shm_mappings(), 1);
	ck_assert_int_eq(two_all(&t, MC_OP_READ), MC_WIRE_OK);
	ck_assert_mem_eq(t.local, t.m.base, SHM_BYTES);
	ck_assert_int_eq(shm_mappings(), 2);
	memset(t.local, 5, SHM_BYTES);
	ck_assert_int_eq(two_all(&t, MC_OP_WRITE), MC_WIRE_OK);
	ck_assert_mem_eq(t.local, t.m.base, SHM_BYTES);
	ck_assert_int_eq(shm()->memory_unregister(t.owner, t.key, NULL), 0);
	ck_assert_int_eq(shm_mappings(), 1);
	s = two_slice(&t, MC_OP_READ, 0);
	ck_assert_int_eq(shm_do(t.asker, t.ep, &s, 1).status, MC_WIRE_REFUSED);
	/* Registered again it has another key, and the endpoint is as good as before. */
	ck_assert_int_eq(shm()->memory_register(t.owner, &t.m, BOTH, &t.key, NULL), 0);
	s.remote_key = t.key;
	ck_assert_int_eq(shm_do(t.asker, t.ep, &s, 1).status, MC_WIRE_OK);
	two_close(&t);
	ck_assert_int_eq(shm_mappings(), 0);
}
END_TEST

/* Small and large, by post() itself and by copiers, at both ends of the memory, and one byte beyond. */
START_TEST(bounds)
{
	struct two t;
	struct mc_slice s;

	two_open(&t, BOTH);
	for (uint32_t bytes = 1; bytes <= SHM_SLICE; bytes *= 2) {
		s = two_slice(&t, MC_OP_WRITE, SHM_BYTES - bytes);
		s.bytes = bytes;
		memset(s.local, (int)bytes % 251, bytes);
		ck_assert_int_eq(shm_do(t.asker, t.ep, &s, 1).status, MC_WIRE_OK);
		ck_assert_mem_eq((uint8_t *)t.m.base + SHM_BYTES - bytes, s.local, bytes);
		s.remote++;
		ck_assert_int_eq(shm_do(t.asker, t.ep, &s, 1).status, MC_WIRE_REFUSED);
		s.remote = (uintptr_t)t.m.base - 1;
		ck_assert_int_eq(shm_do(t.asker, t.ep, &s, 1).status, MC_WIRE_REFUSED);
		s.remote = UINT64_MAX - bytes / 2;
		ck_assert_int_eq(shm_do(t.asker, t.ep, &s, 1).status, MC_WIRE_REFUSED);
	}
	two_close(&t);
}
END_TEST

/* The file of a memory that peers may only read: whatever they try, it isn't written. */
START_TEST(read_only_is_read_only)
{
	struct two t;
	struct mc_slice s;
	struct mc_shm_frame f;
	char path[64];
	int fd, file, again;
	void *at;

	two_open(&t, MC_ACCESS_READ);
	s = two_slice(&t, MC_OP_WRITE, 0);
	ck_assert_int_eq(shm_do(t.asker, t.ep, &s, 1).status, MC_WIRE_REFUSED);
	s.op = MC_OP_READ;
	ck_assert_int_eq(shm_do(t.asker, t.ep, &s, 1).status, MC_WIRE_OK);
	fd = shm_by_hand(t.owner, &t.want, 5);
	ck_assert_int_eq(shm_ask(fd, t.key, &f, &file), MC_SHM_HEARD);
	ck_assert_int_eq(f.status, MC_WIRE_OK);
	ck_assert_int_ge(file, 0);
	ck_assert_ptr_eq(mmap(NULL, SHM_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0), MAP_FAILED);
	at = mmap(NULL, SHM_BYTES, PROT_READ, MAP_SHARED, file, 0);
	ck_assert_ptr_ne(at, MAP_FAILED);
	ck_assert_int_eq(mprotect(at, SHM_BYTES, PROT_READ | PROT_WRITE), -1);
	ck_assert_int_eq(pwrite(file, "x", 1, 0), -1);
	ck_assert_int_eq(ftruncate(file, 0), -1);
	ck_assert_int_eq(fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096), -1);
	snprintf(path, sizeof path, "/proc/self/fd/%d", file);
	again = open(path, O_RDWR);
	if (again >= 0) {
		ck_assert_ptr_eq(mmap(NULL, SHM_BYTES, PROT_WRITE, MAP_SHARED, again, 0), MAP_FAILED);
		ck_assert_int_eq(pwrite(again, "x", 1, 0), -1);
		close(again);
	}
	/* Its owner does as it likes. */
	((uint8_t *)t.m.base)[9] = 42;
	ck_assert_int_eq(((uint8_t *)at)[9], 42);
	munmap(at, SHM_BYTES);
	close(file);
	close(fd);
	two_close(&t);
}
END_TEST

/* No file is given out for what shared memory can't keep to. */
START_TEST(what_is_not_shared)
{
	struct two t;
	struct mc_memory m[4] = {{0}};
	struct mc_shm_frame f;
	uint64_t key;
	int fd, file;

	two_open(&t, MC_ACCESS_READ);
	fd = shm_by_hand(t.owner, &t.want, 5);
	m[0] = (struct mc_memory){.base = t.local, .bytes = SHM_BYTES, .fd = -1}; /* no file */
	m[1] = t.m;                                                               /* half of it */
	m[1].bytes /= 2;
	m[2] = t.m; /* can't be cut off, but is not to be read */
	m[3] = t.m; /* could be cut off */
	m[3].fd = memfd_create("mooncake", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	ck_assert_int_eq(ftruncate(m[3].fd, SHM_BYTES), 0);
	for (int i = 0; i < 5; i++) {
		unsigned access = i == 2 ? MC_ACCESS_WRITE : i == 4 ? BOTH : MC_ACCESS_READ;

		/* The last: sealed against writers when it was to be read only. */
		ck_assert_int_eq(shm()->memory_register(t.owner, i == 4 ? &t.m : &m[i], access, &key, NULL),
				 0);
		ck_assert(key & MC_KEY_LOCAL);
		for (int k = 0; k < 2; k++) {
			ck_assert_int_eq(shm_ask(fd, k ? key : key & ~MC_KEY_LOCAL, &f, &file), MC_SHM_HEARD);
			ck_assert_int_eq(f.status, MC_WIRE_REFUSED);
			ck_assert_int_eq(file, -1);
		}
		ck_assert_int_eq(shm()->memory_unregister(t.owner, key, NULL), 0);
	}
	m[0] = (struct mc_memory){.base = t.local, .bytes = SHM_BYTES, .fd = -1, .place = "cuda:0"};
	ck_assert_int_eq(shm()->memory_register(t.owner, &m[0], 0, &key, NULL), MC_NOHW);
	close(m[3].fd);
	close(fd);
	two_close(&t);
}
END_TEST

START_TEST(fenced)
{
	struct two t;
	struct mc_slice s;

	two_open(&t, BOTH);
	ck_assert_int_eq(two_all(&t, MC_OP_WRITE), MC_WIRE_OK);
	ck_assert_int_eq(shm()->fence(t.owner, 78, NULL), 0); /* another one */
	ck_assert_int_eq(shm_mappings(), 2);
	ck_assert_int_eq(shm()->fence(t.owner, 77, NULL), 0);
	ck_assert_int_eq(shm_mappings(), 1);
	s = two_slice(&t, MC_OP_WRITE, 0);
	ck_assert_int_eq(shm_do(t.asker, t.ep, &s, 1).status, MC_WIRE_LOST);
	ck_assert_int_eq(shm()->memory_unregister(t.owner, t.key, NULL), 0);
	two_close(&t);
}
END_TEST

/* In the middle of it: nothing is reported, nothing is touched after. */
START_TEST(disconnected)
{
	struct two t;
	struct mc_slice s[SHM_BYTES / SHM_SLICE], *list[SHM_BYTES / SHM_SLICE];
	struct mc_completion c;

	two_open(&t, BOTH);
	for (unsigned round = 0; round < 20; round++) {
		for (size_t i = 0; i < SHM_BYTES / SHM_SLICE; i++) {
			s[i] = two_slice(&t, MC_OP_READ, i * SHM_SLICE);
			list[i] = &s[i];
		}
		shm()->post(t.ep, list, SHM_BYTES / SHM_SLICE);
		usleep(round * 20);
		shm()->disconnect(t.ep);
		memset(t.local, '\t', SHM_BYTES);
		t.local[SHM_BYTES - 1] = 0;
		ck_assert_uint_eq(shm()->poll(t.asker, &c, 1), 0);
		ck_assert_int_eq(shm_mappings(), 1);
		usleep(100);
		ck_assert_uint_eq(strspn((char *)t.local, "\t"), SHM_BYTES - 1);
		t.ep = shm_join(t.asker, shm()->port_address(t.owner), round);
	}
	two_close(&t);
}
END_TEST

START_TEST(which_host)
{
	struct mc_port_want w = shm_want();
	struct mc_port *a = shm_open_port(&w), *b = shm_open_port(&w);
	char other[MC_PORT_ADDRESS];
	char *boot, *net;

	snprintf(other, sizeof other, "%s", shm()->port_address(b));
	boot = strchr(other, '/') + 1;
	net = strchr(boot, '/') + 1;
	ck_assert(shm()->reaches(a, other));
	boot[0] ^= 1; /* booted once more, or another machine */
	ck_assert(!shm()->reaches(a, other));
	boot[0] ^= 1;
	net[0] ^= 1; /* another network namespace: its abstract sockets are others */
	ck_assert(!shm()->reaches(a, other));
	ck_assert(!shm()->reaches(a, "@mooncake-1"));
	ck_assert(!shm()->reaches(a, "127.0.0.1:80"));
	shm()->port_close(a);
	shm()->port_close(b);
}
END_TEST

/* An engine with both transports: what has a file goes by it, and what hasn't over TCP. */
START_TEST(private_memory_goes_over_tcp)
{
	struct mc_engine_port port[2] = {{shm(), ""}, {mc_transport_find("tcp", NULL), ""}};
	struct pair p = {.want = world_want()};
	struct world_memory secret;
	struct mc_engine_stats st;
	struct mc_request r;

	p.want.port = port;
	p.want.ports = 2;
	ck_assert_int_eq(mc_engine_open(&p.a, &p.want, NULL), 0);
	ck_assert_int_eq(mc_engine_open(&p.b, &p.want, NULL), 0);
	world_alloc(&secret, SHM_BYTES / 2, "cpu:0", false);
	world_fill(&secret, 3);
	ck_assert_int_eq(mc_engine_register(p.b, &secret.m, BOTH, NULL), 0);
	pair_meet(&p, SHM_BYTES, true);
	r = world_request(MC_OP_WRITE, p.peer, &p.local, &p.remote);
	world_must(p.a, &r);
	world_apply(&r, &p.local, &p.remote);
	mc_engine_stats(p.a, &st);
	ck_assert_uint_eq(st.port_bytes[0], SHM_BYTES);
	ck_assert_uint_eq(st.port_bytes[1], 0);
	r = world_request(MC_OP_READ, p.peer, &p.local, &secret);
	world_must(p.a, &r);
	world_apply(&r, &p.local, &secret);
	mc_engine_stats(p.a, &st);
	ck_assert_uint_eq(st.port_bytes[0], SHM_BYTES);
	ck_assert_uint_eq(st.port_bytes[1], SHM_BYTES / 2);
	ck_assert_uint_eq(st.resent, 0);
	world_check(&secret);
	pair_close(&p);
	world_free(&secret);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("shm");
	TCase *c = tcase_create("shm");

	tcase_add_test(c, unregistered_is_unmapped);
	tcase_add_test(c, bounds);
	tcase_add_test(c, read_only_is_read_only);
	tcase_add_test(c, what_is_not_shared);
	tcase_add_test(c, fenced);
	tcase_add_test(c, disconnected);
	tcase_add_test(c, which_host);
	tcase_add_test(c, private_memory_goes_over_tcp);
	suite_add_tcase(s, c);
	return s;
}

UNIT_MAIN
