/* The file that disks are measured with and the load on it: what is lost, torn, old or elsewhere shows;
 * results that are short; every place has its turn; the order of the points. */
#include "config.h"

#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/hash.h"
#include "calib/diskgrid.h"
#include "calib/diskload.h"
#include "calib/ring.h"
#include "unit.h"

enum { BLOCKS = 256, BYTES = BLOCKS * MC_DISK_BLOCK };

static bool cut_results; /* by __wrap_mc_ring_take */
static int cuts;

bool __real_mc_ring_take(struct mc_ring *r, struct mc_ring_done *out);
bool __wrap_mc_ring_take(struct mc_ring *r, struct mc_ring_done *out);

/* Stands before mc_ring_take: results may be shorter than they were. */
bool __wrap_mc_ring_take(struct mc_ring *r, struct mc_ring_done *out)
{
	bool there = __real_mc_ring_take(r, out);

	if (there && cut_results && out->result > MC_DISK_BLOCK && mc_hash_u64((uint64_t)++cuts) % 3 == 0)
		out->result = MC_DISK_BLOCK +
			      (int)(mc_hash_u64((uint64_t)cuts) % (uint64_t)(out->result - MC_DISK_BLOCK));
	return there;
}

/* In the current folder; false: its file system has no O_DIRECT, or the kernel no io_uring. */
static bool opened(struct mc_diskfile *f)
{
	struct mc_err err = {0};
	struct mc_ring *r;
	int rc = mc_ring_new(&r, 1, &err);

	if (!rc) {
		mc_ring_free(r);
		rc = mc_diskfile_open(f, ".", BYTES, BYTES, &err);
	}
	ck_assert_msg(rc == MC_OK || rc == MC_NOHW, "%s", err.text);
	if (!rc)
		ck_assert_int_eq(f->bytes, BYTES);
	return !rc;
}

static struct mc_diskload *load_of(struct mc_diskfile *f, const struct mc_diskload_want *w)
{
	struct mc_err err = {0};
	struct mc_diskload *l;

	ck_assert_msg(mc_diskload_new(&l, f, w, &err) == 0, "%s", err.text);
	return l;
}

/* Requests until so many are done. */
static int go(struct mc_diskload *l, int64_t requests, struct mc_err *err)
{
	double s;
	int rc = 0;

	while (!rc && mc_diskload_requests(l) < requests) {
		rc = mc_diskload_go(l, 0, &s, err);
		ck_assert(rc || s > 0);
	}
	return rc;
}

static void written(struct mc_diskfile *f)
{
	struct mc_diskload *l = load_of(f, &(struct mc_diskload_want){true, true, 16384, 4, 0, NULL});
	struct mc_err err = {0};

	ck_assert_msg(go(l, BYTES / 16384, &err) == 0, "%s", err.text);
	ck_assert_msg(mc_diskload_verify(l, &err) == 0, "%s", err.text);
	mc_diskload_free(l);
	for (int i = 0; i < BLOCKS; i++)
		ck_assert_uint_ge(f->generation[i], 1);
}

START_TEST(pattern)
{
	static uint64_t a[2][MC_DISK_WORDS], b[2][MC_DISK_WORDS], old[2][MC_DISK_WORDS];
	struct mc_diskfile f;

	if (!opened(&f))
		return;
	mc_diskfile_next(&f, 8192, sizeof old, old);
	mc_diskfile_next(&f, 8192, sizeof a, a);
	mc_diskfile_next(&f, 0, sizeof b, b);
	ck_assert(mc_diskfile_holds(&f, 8192, sizeof a, a, true));
	ck_assert(mc_diskfile_holds(&f, 0, sizeof b, b, true));
	for (int all = 0; all < 2; all++) {
		ck_assert_msg(!mc_diskfile_holds(&f, 8192, sizeof old, old, all), "what was there before");
		ck_assert_msg(!mc_diskfile_holds(&f, 8192, sizeof b, b, all), "of another place");
	}
	memcpy(b, a[0], sizeof a[0]);
	memcpy(b[1], old[1], sizeof old[1]);
	ck_assert_msg(!mc_diskfile_holds(&f, 8192, sizeof b, b, false), "torn between blocks");
	memcpy(b, a, sizeof a);
	memcpy(b[1] + MC_DISK_WORDS / 2, old[1] + MC_DISK_WORDS / 2, sizeof old[1] / 2);
	ck_assert_msg(!mc_diskfile_holds(&f, 8192, sizeof b, b, false), "torn within one");
	for (int w = 0; w < 2 * MC_DISK_WORDS; w += 37) {
		a[w / MC_DISK_WORDS][w % MC_DISK_WORDS] ^= UINT64_C(1) << w % 64;
		ck_assert_msg(!mc_diskfile_holds(&f, 8192, sizeof a, a, true), "word %d", w);
		a[w / MC_DISK_WORDS][w % MC_DISK_WORDS] ^= UINT64_C(1) << w % 64;
	}
	mc_diskfile_close(&f);
}
END_TEST

/* Random loads, with whole results and with short ones; each place has its turn. */
START_TEST(turns)
{
	struct mc_diskload_want w = {
	    .write = _i & 1, .bytes = 4096u << 2 * (_i >> 1 & 1), .depth = 5, .seed = 3};
	int64_t places = BYTES / (int64_t)w.bytes, least = INT64_MAX, most = 0;
	static uint16_t before[BLOCKS];
	struct mc_diskload *l;
	struct mc_diskfile f;
	struct mc_err err = {0};

	if (!opened(&f))
		return;
	cut_results = _i >> 2;
	written(&f);
	memcpy(before, f.generation, sizeof before);
	l = load_of(&f, &w);
	ck_assert_msg(go(l, 2 * places, &err) == 0, "%s", err.text);
	ck_assert_msg(mc_diskload_verify(l, &err) == 0, "%s", err.text);
	for (int i = 0; i < BLOCKS; i++) {
		int64_t n = f.generation[i] - before[i];

		least = n < least ? n : least;
		most = n > most ? n : most;
	}
	ck_assert_int_ge(least, w.write ? 2 : 0);
	ck_assert_int_le(most, w.write ? 3 : 0);
	ck_assert_int_eq(mc_diskload_latencies(l)->n, 0);
	ck_assert(mc_diskload_waiting(l) > 0 && mc_diskload_waiting(l) < 1);
	mc_diskload_free(l);
	mc_diskfile_close(&f);
	ck_assert(!cut_results || !(_i >> 1 & 1) || cuts > 10);
}
END_TEST

START_TEST(alone)
{
	struct mc_diskload_want w = {.bytes = 4096, .depth = 1};
	struct mc_diskload *l;
	struct mc_diskfile f;
	struct mc_err err = {0};
	double s, sum = 0;

	if (!opened(&f))
		return;
	written(&f);
	l = load_of(&f, &w);
	ck_assert_int_eq(mc_diskload_go(l, 1e-3, &s, &err), 0);
	ck_assert_int_eq(mc_diskload_latencies(l)->n, mc_diskload_requests(l));
	for (size_t i = 0; i < mc_diskload_latencies(l)->n; i++)
		sum += mc_diskload_latencies(l)->at[i];
	ck_assert_double_eq_tol(s, sum / (double)mc_diskload_requests(l), 1e-12);
	mc_diskload_free(l);
	mc_diskfile_close(&f);
}
END_TEST

/* What a drive must not do, done behind the load's back. */
START_TEST(bad_disk)
{
	static uint64_t block[MC_DISK_WORDS] __attribute__((aligned(MC_DISK_BLOCK)));
	struct mc_diskload_want w = {.bytes = 4096, .depth = 4, .seed = (uint64_t)_i};
	struct mc_diskload *l;
	struct mc_diskfile f;
	struct mc_err err = {0};
	const char *word;

	if (!opened(&f))
		return;
	written(&f);
	if (_i == 0) { /* one block lands on another */
		ck_assert_int_eq(pread(f.fd, block, sizeof block, 40960), sizeof block);
		ck_assert_int_eq(pwrite(f.fd, block, sizeof block, 81920), sizeof block);
		word = "byte 81920 of the file is not what was written";
	} else if (_i == 1) { /* the end is gone */
		ck_assert_int_eq(ftruncate(f.fd, BYTES - 4096), 0);
		word = "reading at byte 1044480 of the file: nothing more comes";
	} else { /* a write is lost */
		mc_diskfile_next(&f, 4096, sizeof block, block);
		word = "byte 4096 of the file is not what was written";
	}
	l = load_of(&f, &w);
	ck_assert_int_eq(go(l, 2 * BLOCKS, &err), MC_FAIL);
	ck_assert_msg(strstr(err.text, word), "%s", err.text);
	mc_diskload_free(l);
	mc_diskfile_close(&f);
}
END_TEST

START_TEST(stopped)
{
	static volatile sig_atomic_t stop;
	struct mc_diskload_want w = {.bytes = 4096, .depth = 4, .stop = &stop};
	struct mc_diskload *l;
	struct mc_diskfile f;
	struct mc_err err = {0};
	int64_t n;
	double s;

	if (!opened(&f))
		return;
	written(&f);
	l = load_of(&f, &w);
	ck_assert_int_eq(mc_diskload_go(l, 0, &s, &err), 0);
	n = mc_diskload_requests(l);
	stop = 1;
	ck_assert_int_eq(mc_diskload_go(l, 1e9, &s, &err), 0);
	ck_assert_int_le(mc_diskload_requests(l), n + 4);
	mc_diskload_free(l);
	mc_diskfile_close(&f);
}
END_TEST

/* No more files can be opened, so that there is no ring: nothing is left behind, and *out says so. */
START_TEST(no_ring)
{
	struct mc_diskload_want w = {.bytes = 4096, .depth = 4};
	struct mc_diskload *l = (struct mc_diskload *)&w;
	struct rlimit was, none;
	struct mc_diskfile f;
	struct mc_err err = {0};
	int rc;

	if (!opened(&f))
		return;
	getrlimit(RLIMIT_NOFILE, &was);
	none = (struct rlimit){0, was.rlim_max};
	setrlimit(RLIMIT_NOFILE, &none);
	rc = mc_diskload_new(&l, &f, &w, &err);
	setrlimit(RLIMIT_NOFILE, &was);
	ck_assert_int_ne(rc, 0);
	ck_assert_ptr_null(l);
	mc_diskfile_close(&f);
}
END_TEST

START_TEST(no_file)
{
	struct mc_diskfile f;
	struct mc_err err = {0};

	ck_assert_int_eq(mc_diskfile_open(&f, "none/at/all", BYTES, BYTES, &err), MC_USAGE);
	ck_assert_str_eq(err.file, "none/at/all");
	err = (struct mc_err){0};
	ck_assert_int_eq(mc_diskfile_open(&f, "/dev/null", BYTES, BYTES, &err), MC_USAGE);
	ck_assert_msg(strstr(err.text, "no folder"), "%s", err.text);
	err = (struct mc_err){0};
	ck_assert_int_ne(mc_diskfile_open(&f, "/proc", BYTES, BYTES, &err), 0);
	err = (struct mc_err){0};
	/* An exabyte isn't free anywhere; nothing is written. */
	ck_assert_int_ne(mc_diskfile_open(&f, ".", INT64_C(1) << 60, INT64_C(1) << 60, &err), 0);
	ck_assert_msg(strstr(err.text, "are free") || err.rc == MC_NOHW, "%s", err.text);
}
END_TEST

START_TEST(order)
{
	struct mc_disk_point p[MC_DISK_POINTS];
	const int64_t file = INT64_C(1) << 32;
	size_t n = mc_disk_grid(p, file, file, true), reads;
	bool small = false, large = false, one = false, many = false;

	ck_assert_uint_eq(n, MC_DISK_POINTS);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			ck_assert(p[i].write != p[k].write || p[i].bytes != p[k].bytes ||
				  p[i].depth != p[k].depth);
	for (int i = 0; i < 8; i++) { /* the corners come first, read and written */
		small |= p[i].bytes == 4096;
		large |= p[i].bytes == 16 << 20;
		one |= p[i].depth == 1;
		many |= p[i].depth == 64;
		ck_assert(p[i].bytes == 4096 || p[i].bytes == 16 << 20);
		ck_assert(p[i].depth == 1 || p[i].depth == 64);
	}
	ck_assert(small && large && one && many);
	reads = mc_disk_grid(p, 4 << 20, file, false);
	ck_assert_uint_ge(reads, 20);
	for (size_t i = 0; i < reads; i++) {
		ck_assert(!p[i].write);
		ck_assert_int_le(p[i].bytes * p[i].depth, 1 << 20);
	}
	ck_assert_uint_eq(mc_disk_grid(p, file, 4096, true), 0);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("diskload");
	TCase *t = tcase_create("diskload");

	tcase_add_test(t, pattern);
	tcase_add_loop_test(t, turns, 0, 8);
	tcase_add_test(t, alone);
	tcase_add_loop_test(t, bad_disk, 0, 3);
	tcase_add_test(t, stopped);
	tcase_add_test(t, no_ring);
	tcase_add_test(t, no_file);
	tcase_add_test(t, order);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
