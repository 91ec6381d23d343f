/* Shared memory with peers that take as much as they can: time, files, or memory that is wanted back. */
#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>

#include "shm_world.h"
#include "unit.h"

/* One who gives nothing back is waited for once, not for each memory; what it gives back in the end is free.
 */
START_TEST(asker_keeps_all)
{
	enum { MEMORIES = 20 };

	struct mc_port_want w = shm_want();
	struct mc_memory m[MEMORIES];
	struct mc_shm_frame f;
	struct mc_port *owner;
	uint64_t key[MEMORIES];
	int64_t begin;
	int fd, file;

	w.timeout_ns = 400 * MS;
	owner = shm_open_port(&w);
	fd = shm_by_hand(owner, &w, 3);
	for (int i = 0; i < MEMORIES; i++) {
		ck_assert_int_eq(mc_memory_alloc(&m[i], 4096, "", NULL), 0);
		ck_assert_int_eq(shm()->memory_register(owner, &m[i], BOTH, &key[i], NULL), 0);
		ck_assert_int_eq(shm_ask(fd, key[i], &f, &file), MC_SHM_HEARD);
		ck_assert_int_eq(f.status, MC_WIRE_OK);
		close(file);
	}
	begin = mc_clock_ns();
	for (int i = 0; i < MEMORIES; i++)
		ck_assert_int_eq(shm()->memory_unregister(owner, key[i], NULL), MC_FAIL);
	ck_assert_int_ge(mc_clock_ns() - begin, w.timeout_ns);
	ck_assert_int_lt(mc_clock_ns() - begin, MEMORIES / 2 * w.timeout_ns);
	for (int i = 0; i < MEMORIES; i++) {
		f = (struct mc_shm_frame){.kind = MC_SHM_RETURN, .key = key[i]};
		ck_assert(mc_shm_send(fd, &f, -1));
	}
	for (int i = 0; i < MEMORIES; i++) {
		int rc = MC_FAIL;

		for (int k = 0; k < 10000 && rc; k++) {
			rc = shm()->memory_unregister(owner, key[i], NULL);
			usleep(rc ? 1000 : 0); /* it is heard a moment later */
		}
		ck_assert_int_eq(rc, 0);
		mc_memory_free(&m[i]);
	}
	close(fd);
	shm()->port_close(owner);
}
END_TEST

/* Two files in one message are none too many for the space of one: what nobody asked for is closed. */
START_TEST(asker_sends_two_files)
{
	struct mc_port_want w = shm_want();
	struct mc_port *owner = shm_open_port(&w);
	int files = shm_files();

	for (uint64_t round = 0; round < 20; round++) {
		int fd = shm_by_hand(owner, &w, round), two[2] = {STDOUT_FILENO, STDOUT_FILENO};
		uint8_t text[MC_SHM_FRAME] = {MC_SHM_RETURN};
		union {
			char bytes[CMSG_SPACE(sizeof two)];
			struct cmsghdr head;
		} c = {.head = {.cmsg_len = CMSG_LEN(sizeof two),
				.cmsg_level = SOL_SOCKET,
				.cmsg_type = SCM_RIGHTS}};
		struct iovec v = {text, sizeof text};
		struct msghdr m = {
		    .msg_iov = &v, .msg_iovlen = 1, .msg_control = c.bytes, .msg_controllen = sizeof c.bytes};

		memcpy(CMSG_DATA(&c.head), two, sizeof two);
		ck_assert_int_eq(sendmsg(fd, &m, MSG_NOSIGNAL), MC_SHM_FRAME);
		close(fd);
		ck_assert_int_eq(shm()->fence(owner, round, NULL), 0);
	}
	for (int i = 0; i < 2000 && shm_files() > files; i++)
		usleep(1000);
	ck_assert_int_eq(shm_files(), files);
	shm()->port_close(owner);
}
END_TEST

/* Messages of one kind without end, as fast as they are taken; what comes back is thrown away. */
struct flood {
	pthread_t thread;
	int fd;
	uint8_t kind;
	_Atomic bool over;
	_Atomic uint64_t sent;
};

static void *drain(void *flood)
{
	struct flood *f = flood;
	uint8_t sink[1 << 14];

	while (!f->over && recv(f->fd, sink, sizeof sink, 0) > 0)
		;
	return NULL;
}

static void pour(struct flood *f)
{
	uint8_t many[64 * MC_SHM_FRAME] = {0};
	pthread_t drainer;
	size_t at = 0;
	ssize_t n = 1;

	fcntl(f->fd, F_SETFL, fcntl(f->fd, F_GETFL) & ~O_NONBLOCK);
	ck_assert_int_eq(pthread_create(&drainer, NULL, drain, f), 0);
	for (size_t i = 0; i < 64; i++) {
		many[i * MC_SHM_FRAME] = f->kind;
		many[i * MC_SHM_FRAME + 8] = 99;
	}
	for (; !f->over && n > 0; at = n > 0 ? (at + (size_t)n) % sizeof many : at)
		f->sent += (uint64_t)(n = send(f->fd, many + at, sizeof many - at, MSG_NOSIGNAL));
	shutdown(f->fd, SHUT_RDWR);
	pthread_join(drainer, NULL);
}

static void *pour_on(void *flood)
{
	pour(flood);
	return NULL;
}

static bool flood_asker(void *flood, int fd, int64_t deadline)
{
	struct flood *f = flood;
	const struct mc_shm_frame welcome = {.kind = MC_SHM_WELCOME};
	uint8_t id[8];

	if (!mc_sock_recv(fd, id, sizeof id, deadline, NULL) && mc_shm_send(fd, &welcome, -1)) {
		f->fd = fd;
		pour(f);
	}
	return false;
}

/* A port that a peer floods serves others, and its user. 0: it is asked; 1: it asks. */
START_TEST(floods)
{
	struct mc_port_want w = shm_want();
	struct mc_port *owner = shm_open_port(&w), *flooded = shm_open_port(&w);
	struct flood f = {.kind = _i ? MC_SHM_RETURN : MC_SHM_MAP};
	struct mc_slice s = {.op = MC_OP_READ, .bytes = 4096};
	struct mc_listener_want lw = {.token = w.token,
				      .purpose = MC_PURPOSE_SHM,
				      .pending = 4,
				      .timeout_ns = 20000 * MS,
				      .accepted = flood_asker,
				      .arg = &f};
	struct mc_listener *l = NULL;
	struct mc_endpoint *ep, *wet = NULL;
	char address[MC_PORT_ADDRESS];
	struct mc_memory m;
	uint8_t local[4096];
	unsigned served;
	int64_t begin;

	snprintf(address, sizeof address, "@mooncake-flood-%d", (int)getpid());
	lw.address = address;
	ck_assert_int_eq(mc_memory_alloc(&m, SHM_BYTES, "", NULL), 0);
	ck_assert_int_eq(shm()->memory_register(owner, &m, BOTH, &s.remote_key, NULL), 0);
	s.local = local;
	s.remote = (uintptr_t)m.base;
	if (_i) {
		ck_assert_int_eq(mc_listener_open(&l, &lw, NULL), 0);
		wet = shm_join(flooded, address, 2);
	} else {
		f.fd = shm_by_hand(flooded, &w, 2);
		ck_assert_int_eq(pthread_create(&f.thread, NULL, pour_on, &f), 0);
	}
	while (!f.sent)
		usleep(100);
	ep = shm_join(flooded, shm()->port_address(owner), 1);
	begin = mc_clock_ns();
	for (served = 0; served < 100 || mc_clock_ns() - begin < 100 * MS; served++)
		ck_assert_int_eq(shm_do(flooded, ep, &s, 1).status, MC_WIRE_OK);
	shm()->disconnect(ep);
	if (getenv("MC_TEST_VERBOSE"))
		fprintf(stderr, "# %lu messages, %u slices in %lu us\n", (unsigned long)f.sent / MC_SHM_FRAME,
			served, (unsigned long)(mc_clock_ns() - begin) / 1000);
	f.over = true;
	shutdown(f.fd, SHUT_RDWR);
	if (_i) {
		shm()->disconnect(wet);
		mc_listener_close(l);
	} else {
		pthread_join(f.thread, NULL);
		close(f.fd);
	}
	shm()->port_close(flooded);
	shm()->port_close(owner);
	mc_memory_free(&m);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("shm_greedy");
	TCase *c = tcase_create("peers");

	tcase_set_timeout(c, 60);
	tcase_add_test(c, asker_keeps_all);
	tcase_add_test(c, asker_sends_two_files);
	tcase_add_loop_test(c, floods, 0, 2);
	suite_add_tcase(s, c);
	return s;
}

UNIT_MAIN
