/* Requests through io_uring: the data of a file against an array, short results and errors as read and write
 * give them, waits that a signal ends, and what is said where there is no io_uring. */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/hash.h"
#include "calib/ring.h"
#include "unit.h"

enum { DEPTH = 8, CELLS = 64, CELL = 512 };

/* NULL where this machine has none: there is nothing to be tested then. */
static struct mc_ring *ring_of(unsigned depth)
{
	struct mc_err err = {0};
	struct mc_ring *r;
	int rc = mc_ring_new(&r, depth, &err);

	ck_assert_msg(rc == MC_OK || rc == MC_NOHW, "%d %s", rc, err.text);
	ck_assert(!rc == !!r);
	return r;
}

static int file_of(size_t bytes)
{
	char name[] = "test_ring.XXXXXX";
	int fd = mkstemp(name);

	ck_assert_int_ge(fd, 0);
	unlink(name);
	ck_assert_int_eq(ftruncate(fd, (off_t)bytes), 0);
	return fd;
}

static struct mc_ring_done one(struct mc_ring *r, const struct mc_ring_request *q)
{
	struct mc_ring_done d = {0};
	struct mc_err err = {0};

	mc_ring_queue(r, q);
	ck_assert_uint_eq(mc_ring_under_way(r), 1);
	ck_assert_int_eq(mc_ring_wait(r, 1, &err), 0);
	ck_assert(mc_ring_take(r, &d));
	ck_assert(!mc_ring_take(r, &d));
	ck_assert_uint_eq(mc_ring_under_way(r), 0);
	ck_assert_uint_eq(d.tag, q->tag);
	return d;
}

/* Cells of a file, each with one request under way at most. */
struct world {
	struct mc_ring *ring;
	int fd;
	unsigned char is[CELLS][CELL], buffer[CELLS][CELL];
	bool busy[CELLS], writes[CELLS];
	int ended;
};

static void take(struct world *w)
{
	struct mc_ring_done d;

	while (mc_ring_take(w->ring, &d)) {
		ck_assert_uint_lt(d.tag, CELLS);
		ck_assert(w->busy[d.tag]);
		ck_assert_int_eq(d.result, CELL);
		if (!w->writes[d.tag])
			ck_assert_int_eq(memcmp(w->buffer[d.tag], w->is[d.tag], CELL), 0);
		w->busy[d.tag] = false;
		w->ended++;
	}
}

START_TEST(data)
{
	static struct world w;
	struct mc_err err = {0};

	w = (struct world){.ring = ring_of(DEPTH)};
	if (!w.ring)
		return;
	w.fd = file_of(sizeof w.is);
	for (uint64_t i = 0, x = 1; i < 3000; i++) {
		uint64_t c = (x = mc_hash_u64(x)) % CELLS;

		if (!w.busy[c] && mc_ring_under_way(w.ring) < DEPTH) {
			w.busy[c] = true;
			w.writes[c] = x >> 32 & 1;
			if (w.writes[c]) {
				memset(w.is[c], (int)(x >> 40), CELL);
				memcpy(w.buffer[c], w.is[c], CELL);
			}
			mc_ring_queue(w.ring, &(struct mc_ring_request){w.fd, w.writes[c], w.buffer[c], CELL,
									(int64_t)c * CELL, c});
		}
		if (mc_ring_under_way(w.ring) == DEPTH || x >> 50 & 1)
			ck_assert_int_eq(mc_ring_wait(w.ring, mc_ring_under_way(w.ring) ? 1 : 0, &err), 0);
		take(&w);
	}
	ck_assert_int_eq(mc_ring_wait(w.ring, mc_ring_under_way(w.ring), &err), 0);
	take(&w);
	ck_assert_uint_eq(mc_ring_under_way(w.ring), 0);
	ck_assert_int_gt(w.ended, 1000);
	ck_assert_int_eq(pread(w.fd, w.buffer, sizeof w.buffer, 0), sizeof w.buffer);
	ck_assert_int_eq(memcmp(w.buffer, w.is, sizeof w.is), 0);
	close(w.fd);
	mc_ring_free(w.ring);
}
END_TEST

START_TEST(results)
{
	struct mc_ring *r = ring_of(2);
	char buffer[100];
	int fd, reads;

	if (!r)
		return;
	fd = file_of(1000);
	reads = open("/dev/null", O_RDONLY);
	ck_assert_int_eq(one(r, &(struct mc_ring_request){fd, false, buffer, 100, 0, 7}).result, 100);
	ck_assert_int_eq(one(r, &(struct mc_ring_request){fd, false, buffer, 100, 930, 8}).result, 70);
	ck_assert_int_eq(one(r, &(struct mc_ring_request){fd, false, buffer, 100, 1000, 9}).result, 0);
	ck_assert_int_eq(one(r, &(struct mc_ring_request){-1, false, buffer, 100, 0, 1}).result, -EBADF);
	ck_assert_int_eq(one(r, &(struct mc_ring_request){reads, true, buffer, 100, 0, 2}).result, -EBADF);
	ck_assert_int_eq(one(r, &(struct mc_ring_request){fd, false, NULL, 100, 0, 3}).result, -EFAULT);
	close(reads);
	close(fd);
	mc_ring_free(r);
}
END_TEST

static void nothing(int number)
{
	(void)number;
}

START_TEST(interrupted)
{
	struct mc_ring *r = ring_of(1);
	struct sigaction a = {.sa_handler = nothing};
	const struct itimerval soon = {.it_value = {0, 20000}, .it_interval = {0, 20000}}, never = {0};
	struct mc_ring_done d;
	struct mc_err err = {0};
	char buffer[8] = "";
	int end[2];

	if (!r)
		return;
	ck_assert_int_eq(pipe(end), 0);
	sigaction(SIGALRM, &a, NULL);
	mc_ring_queue(r, &(struct mc_ring_request){end[0], false, buffer, sizeof buffer, 0, 5});
	ck_assert_int_eq(mc_ring_wait(r, 0, &err), 0);
	setitimer(ITIMER_REAL, &soon, NULL);
	ck_assert_int_eq(mc_ring_wait(r, 1, &err), 0);
	setitimer(ITIMER_REAL, &never, NULL);
	ck_assert(!mc_ring_take(r, &d));
	ck_assert_uint_eq(mc_ring_under_way(r), 1);
	ck_assert_int_eq(write(end[1], "abc", 3), 3);
	ck_assert_int_eq(mc_ring_wait(r, 1, &err), 0);
	ck_assert(mc_ring_take(r, &d));
	ck_assert_int_eq(d.result, 3);
	ck_assert_str_eq(buffer, "abc");
	mc_ring_free(r);
}
END_TEST

/* What is under way ends before the memory goes. */
START_TEST(freed)
{
	struct mc_ring *r = ring_of(1);
	char buffer[8] = "";
	int end[2], status;
	pid_t child;

	if (!r)
		return;
	ck_assert_int_eq(pipe(end), 0);
	mc_ring_queue(r, &(struct mc_ring_request){end[0], false, buffer, sizeof buffer, 0, 5});
	child = fork();
	if (!child) {
		usleep(30000);
		_exit(write(end[1], "late", 4) != 4);
	}
	mc_ring_free(r);
	ck_assert_str_eq(buffer, "late");
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* From now on io_uring_setup fails, as under a container's filter. */
static bool forbid(unsigned error)
{
	struct sock_filter f[] = {
	    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_io_uring_setup, 0, 1),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error),
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = {4, f};

	return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p);
}

START_TEST(not_allowed)
{
	static const struct {
		unsigned error;
		int rc;
		const char *word;
	} cases[] = {
	    {EPERM, MC_NOHW, "not allowed"}, {ENOSYS, MC_NOHW, "5.6"}, {EMFILE, MC_FAIL, "open files"}};
	struct mc_err err = {0};
	struct mc_ring *r = ring_of(1);

	if (!r || !forbid(cases[_i].error)) {
		mc_ring_free(r);
		return;
	}
	mc_ring_free(r);
	ck_assert_int_eq(mc_ring_new(&r, 1, &err), cases[_i].rc);
	ck_assert_ptr_null(r);
	ck_assert_msg(strstr(err.text, cases[_i].word), "%s", err.text);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("ring");
	TCase *t = tcase_create("ring");

	tcase_add_test(t, data);
	tcase_add_test(t, results);
	tcase_add_test(t, interrupted);
	tcase_add_test(t, freed);
	tcase_add_loop_test(t, not_allowed, 0, 3);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
