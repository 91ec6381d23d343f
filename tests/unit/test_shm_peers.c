/* Shared memory with peers that are strangers, die, stand still, or don't speak as they should. */
#define _GNU_SOURCE /* memfd_create, F_ADD_SEALS */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "shm_world.h"
#include "unit.h"

/* Until the other side hangs up: it sends nothing that has a file. */
static void nothing_comes(int fd)
{
	struct mc_shm_frame f;
	enum mc_shm_heard h;
	int file = -1;

	while ((h = shm_next(fd, &f, &file)) == MC_SHM_HEARD)
		ck_assert_int_eq(file, -1);
	ck_assert_int_eq(file, -1);
	ck_assert_int_eq(h, MC_SHM_HUNG_UP);
}

START_TEST(stranger)
{
	struct mc_port_want w = shm_want();
	struct mc_port *p;
	struct mc_memory m;
	struct mc_shm_frame ask = {.kind = MC_SHM_MAP, .key = 1};
	struct mc_token other;
	const char *address;
	uint64_t key;
	int fd;

	w.timeout_ns = 300 * MS;
	p = shm_open_port(&w);
	ck_assert_int_eq(mc_memory_alloc(&m, SHM_BYTES, "", NULL), 0);
	ck_assert_int_eq(shm()->memory_register(p, &m, BOTH, &key, NULL), 0);
	ask.key = key;
	address = shm()->port_address(p);
	/* One who asks at once. */
	ck_assert_int_eq(mc_sock_connect(&fd, address, NULL, mc_clock_ns() + 1000 * MS, NULL), 0);
	for (int i = 0; i < 4; i++)
		mc_shm_send(fd, &ask, -1);
	nothing_comes(fd);
	close(fd);
	/* And one with another token. */
	ck_assert_int_eq(mc_token_set(&other, "another token than that", NULL), 0);
	ck_assert_int_eq(mc_sock_connect(&fd, address, NULL, mc_clock_ns() + 1000 * MS, NULL), 0);
	ck_assert_int_eq(mc_auth_connect(fd, &other, MC_PURPOSE_SHM, mc_clock_ns() + 1000 * MS, NULL),
			 MC_FAIL);
	mc_shm_send(fd, &ask, -1);
	nothing_comes(fd);
	close(fd);
	shm()->port_close(p);
	mc_memory_free(&m);
}
END_TEST

START_TEST(no_more_than_so_many)
{
	struct mc_port_want w = shm_want();
	struct mc_connect_want to = {.id = 9, .timeout_ns = 500 * MS};
	struct mc_port *owner, *asker;
	struct mc_endpoint *ep[2], *more;

	w.limits.connections = 2;
	owner = shm_open_port(&w);
	asker = shm_open_port(&w);
	to.address = shm()->port_address(owner);
	for (uint64_t i = 0; i < 2; i++)
		ep[i] = shm_join(asker, to.address, i);
	ck_assert_int_eq(shm()->connect(&more, asker, &to, NULL), MC_FAIL);
	shm()->disconnect(ep[0]);
	ck_assert_int_eq(shm()->fence(owner, 0, NULL), 0); /* it is known to be gone */
	ck_assert_int_eq(shm()->connect(&more, asker, &to, NULL), 0);
	shm()->disconnect(more);
	shm()->disconnect(ep[1]);
	shm()->port_close(asker);
	shm()->port_close(owner);
}
END_TEST

/* A process that writes to the memory without end. */
static void write_on(const char *address, uint64_t base, uint64_t key)
{
	struct mc_port_want w = shm_want();
	struct mc_port *p = shm_open_port(&w);
	struct mc_endpoint *ep = shm_join(p, address, 7);
	struct mc_slice s[8];
	uint8_t *from = mc_xcalloc(1, SHM_SLICE);

	for (unsigned round = 1;; round++) {
		memset(from, (int)(round & 0xff) | 1, SHM_SLICE);
		for (size_t i = 0; i < 8; i++)
			s[i] = (struct mc_slice){.op = MC_OP_WRITE,
						 .bytes = SHM_SLICE,
						 .local = from,
						 .remote = base + i * SHM_SLICE,
						 .remote_key = key};
		shm_do(p, ep, s, 8);
	}
}

struct written {
	struct mc_port *owner;
	struct mc_memory m;
	uint64_t key;
	pid_t child;
};

/* Until the child's writes are seen. */
static void written_open(struct written *x, int64_t timeout_ns)
{
	struct mc_port_want w = shm_want();
	int pipe_fd[2];

	w.timeout_ns = timeout_ns;
	ck_assert_int_eq(pipe(pipe_fd), 0);
	ck_assert_int_eq(mc_memory_alloc(&x->m, SHM_BYTES, "", NULL), 0);
	x->child = fork(); /* before there are threads */
	ck_assert_int_ge(x->child, 0);
	if (!x->child) {
		struct {
			char address[MC_PORT_ADDRESS];
			uint64_t base, key;
		} told;

		/* What it has of the memory by being a child isn't what is tested. */
		mc_memory_free(&x->m);
		if (read(pipe_fd[0], &told, sizeof told) == sizeof told)
			write_on(told.address, told.base, told.key);
		_exit(1);
	}
	struct {
		char address[MC_PORT_ADDRESS];
		uint64_t base, key;
	} tell = {.base = (uintptr_t)x->m.base};

	x->owner = shm_open_port(&w);
	ck_assert_int_eq(shm()->memory_register(x->owner, &x->m, BOTH, &x->key, NULL), 0);
	tell.key = x->key;
	snprintf(tell.address, sizeof tell.address, "%s", shm()->port_address(x->owner));
	ck_assert_int_eq(write(pipe_fd[1], &tell, sizeof tell), sizeof tell);
	close(pipe_fd[0]);
	close(pipe_fd[1]);
	for (int i = 0; !((volatile uint8_t *)x->m.base)[0]; i++) {
		ck_assert_int_lt(i, 200000);
		usleep(50);
	}
}

static void written_close(struct written *x)
{
	int status;

	kill(x->child, SIGKILL);
	ck_assert_int_eq(waitpid(x->child, &status, 0), x->child);
	shm()->port_close(x->owner);
	mc_memory_free(&x->m);
}

/* Nothing writes there any more. */
static void stays(struct written *x)
{
	size_t i = 0;

	memset(x->m.base, 0, SHM_BYTES);
	usleep(20000);
	while (i < SHM_BYTES && !((volatile uint8_t *)x->m.base)[i])
		i++;
	ck_assert_uint_eq(i, SHM_BYTES);
}

START_TEST(asker_is_killed)
{
	struct written x;

	written_open(&x, 5000 * MS);
	kill(x.child, SIGKILL);
	ck_assert_int_eq(_i ? shm()->memory_unregister(x.owner, x.key, NULL) : shm()->fence(x.owner, 7, NULL),
			 0);
	stays(&x);
	written_close(&x);
}
END_TEST

START_TEST(asker_gives_back)
{
	struct written x;

	written_open(&x, 5000 * MS);
	ck_assert_int_eq(_i ? shm()->memory_unregister(x.owner, x.key, NULL) : shm()->fence(x.owner, 7, NULL),
			 0);
	stays(&x);
	written_close(&x);
}
END_TEST

/* It doesn't answer: that is told, in bounded time; and when it goes on, it gives back. */
START_TEST(asker_stands_still)
{
	struct written x;
	struct mc_err err = {0};
	int64_t begin;
	int rc = MC_FAIL, status;

	written_open(&x, 200 * MS);
	kill(x.child, SIGSTOP);
	ck_assert_int_eq(waitpid(x.child, &status, WUNTRACED), x.child); /* all of its threads */
	ck_assert(WIFSTOPPED(status));
	begin = mc_clock_ns();
	ck_assert_int_eq(shm()->memory_unregister(x.owner, x.key, &err), MC_FAIL);
	ck_assert_ptr_nonnull(strstr(err.text, "does not give it back"));
	ck_assert_int_eq(shm()->fence(x.owner, 7, NULL), MC_FAIL);
	ck_assert_int_lt(mc_clock_ns() - begin, 20 * 200 * MS);
	kill(x.child, SIGCONT);
	for (int i = 0; i < 50 && rc; i++)
		rc = shm()->fence(x.owner, 7, NULL);
	ck_assert_int_eq(rc, 0);
	stays(&x);
	written_close(&x);
}
END_TEST

/* Random messages, some with files: the owner goes on, and serves others. */
START_TEST(asker_raves)
{
	struct mc_port_want w = shm_want();
	struct mc_port *owner = shm_open_port(&w), *asker = shm_open_port(&w);
	struct mc_memory m;
	struct mc_slice s = {.op = MC_OP_READ, .bytes = 4096};
	uint8_t local[4096];
	uint64_t rng = 3;
	int files;

	ck_assert_int_eq(mc_memory_alloc(&m, SHM_BYTES, "", NULL), 0);
	ck_assert_int_eq(shm()->memory_register(owner, &m, BOTH, &s.remote_key, NULL), 0);
	files = shm_files();
	for (int round = 0; round < 40; round++) {
		int fd = shm_by_hand(owner, &w, (uint64_t)round);

		for (int i = 0; i < 60; i++) {
			struct mc_shm_frame f;

			rng = mc_hash_u64(rng);
			f = (struct mc_shm_frame){.kind = (uint8_t)(rng % 16 ? 1 + rng % 3 : rng >> 8),
						  .status = (uint8_t)(rng >> 16),
						  .key = rng >> 24 & 7 ? rng >> 28 & 3 : rng,
						  .base = rng,
						  .bytes = rng};
			if (!mc_shm_send(fd, &f, rng >> 40 & 31 ? -1 : STDOUT_FILENO))
				break;
			if (!(rng >> 50 & 31) && write(fd, &rng, rng >> 60 & 7) < 0)
				break; /* and out of step */
		}
		close(fd);
		ck_assert_int_eq(shm()->fence(owner, (uint64_t)round, NULL), 0);
	}
	for (int i = 0; i < 2000 && shm_files() > files; i++)
		usleep(1000); /* the listener has the last one for a moment longer */
	ck_assert_int_eq(shm_files(), files);
	s.local = local;
	s.remote = (uintptr_t)m.base;
	struct mc_endpoint *ep = shm_join(asker, shm()->port_address(owner), 1);

	ck_assert_int_eq(shm_do(asker, ep, &s, 1).status, MC_WIRE_OK);
	shm()->disconnect(ep);
	ck_assert_int_eq(shm()->memory_unregister(owner, s.remote_key, NULL), 0);
	shm()->port_close(asker);
	shm()->port_close(owner);
	mc_memory_free(&m);
}
END_TEST

/* An owner made by hand, with files of which none is good; what it says hangs on the connection's id. */
struct false_owner {
	int file[4];
};

static bool rave(void *arg, int fd, int64_t deadline)
{
	const struct false_owner *o = arg;
	struct mc_shm_frame f = {.kind = MC_SHM_WELCOME};
	uint8_t id[8];
	uint64_t rng;
	int file;

	if (mc_sock_recv(fd, id, sizeof id, deadline, NULL) || !mc_shm_send(fd, &f, -1))
		return false;
	rng = mc_wire_get(id, 8);
	while (shm_next(fd, &f, &file) == MC_SHM_HEARD) {
		rng = mc_hash_u64(rng);
		if (!(rng & 7))
			return false;
		f.kind = (uint8_t)(rng >> 3 & 7 ? MC_SHM_MAP : rng >> 6 & 3);
		f.key ^= !(rng >> 8 & 7);
		f.status = rng >> 12 & 1;
		f.access = (uint8_t)(rng >> 13);
		f.base = 4096;
		f.bytes = rng >> 20 & 1 ? 8192 : rng >> 20;
		file = (int)(rng >> 16 & 7);
		mc_shm_send(fd, &f, file < 4 ? o->file[file] : -1);
	}
	return false;
}

START_TEST(owner_raves)
{
	struct mc_port_want w = shm_want();
	struct mc_port *asker = shm_open_port(&w);
	struct false_owner o;
	struct mc_listener_want lw = {.token = w.token,
				      .purpose = MC_PURPOSE_SHM,
				      .pending = 4,
				      .timeout_ns = 2000 * MS,
				      .accepted = rave,
				      .arg = &o};
	struct mc_listener *l;
	char address[MC_PORT_ADDRESS];
	uint8_t local[8192];
	int files, pipe_fd[2], refused = 0;

	snprintf(address, sizeof address, "@mooncake-test-%d", (int)getpid());
	lw.address = address;
	ck_assert_int_eq(pipe(pipe_fd), 0);
	o.file[0] = pipe_fd[0];
	o.file[1] = memfd_create("mooncake", MFD_CLOEXEC | MFD_ALLOW_SEALING); /* can be cut off */
	ck_assert_int_eq(ftruncate(o.file[1], 8192), 0);
	o.file[2] = memfd_create("mooncake", MFD_CLOEXEC | MFD_ALLOW_SEALING); /* too short */
	ck_assert_int_eq(ftruncate(o.file[2], 4096), 0);
	ck_assert_int_eq(fcntl(o.file[2], F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW), 0);
	o.file[3] = open("/dev/null", O_RDWR | O_CLOEXEC);
	ck_assert_int_eq(mc_listener_open(&l, &lw, NULL), 0);
	files = shm_files();
	for (int round = 0; round < 100; round++) {
		struct mc_endpoint *ep = shm_join(asker, address, (uint64_t)round + 1);
		struct mc_slice s[4];
		struct mc_completion c;

		for (int i = 0; i < 4; i++)
			s[i] = (struct mc_slice){.op = i & 1 ? MC_OP_READ : MC_OP_WRITE,
						 .bytes = 8192,
						 .local = local,
						 .remote = 4096,
						 .remote_key = (uint64_t)(10 + i)};
		c = shm_do(asker, ep, s, 4);
		ck_assert_int_ne(c.status, MC_WIRE_OK);
		refused += c.status == MC_WIRE_REFUSED;
		shm()->disconnect(ep);
	}
	ck_assert_int_gt(refused, 0);
	ck_assert_int_lt(refused, 100);
	mc_listener_close(l);
	ck_assert_int_le(shm_files(), files);
	shm()->port_close(asker);
	for (int i = 0; i < 4; i++)
		close(o.file[i]);
	close(pipe_fd[1]);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("shm_peers");
	TCase *c = tcase_create("peers");

	tcase_set_timeout(c, 30);
	tcase_add_test(c, stranger);
	tcase_add_test(c, no_more_than_so_many);
	tcase_add_loop_test(c, asker_is_killed, 0, 2);
	tcase_add_loop_test(c, asker_gives_back, 0, 2);
	tcase_add_test(c, asker_stands_still);
	tcase_add_test(c, asker_raves);
	tcase_add_test(c, owner_raves);
	suite_add_tcase(s, c);
	return s;
}

UNIT_MAIN
