#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"

static char tmpdir[64];

static void enter(void)
{
	snprintf(tmpdir, sizeof tmpdir, "/tmp/mc_test_file_XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(tmpdir));
	ck_assert_int_eq(chdir(tmpdir), 0);
}

static void leave(void)
{
	char cmd[128];

	ck_assert_int_eq(chdir("/"), 0);
	snprintf(cmd, sizeof cmd, "rm -rf '%s'", tmpdir);
	ck_assert_int_eq(system(cmd), 0);
}

static int names_here(void)
{
	DIR *d = opendir(".");
	int n = -2; /* . and .. */

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static void holds(const char *path, const char *want)
{
	char *text;
	size_t n;

	ck_assert_int_eq(mc_file_read(path, 1 << 20, &text, &n, NULL), 0);
	ck_assert_str_eq(text, want);
	ck_assert_uint_eq(n, strlen(want));
	free(text);
}

static void write_file(const char *path, const char *text)
{
	struct mc_err e = {0};
	struct mc_file f;

	ck_assert_msg(mc_file_create(&f, path, &e) == 0, "%s", e.text);
	fputs(text, f.fp);
	ck_assert_msg(mc_file_commit(&f, &e) == 0, "%s", e.text);
}

START_TEST(appears_whole)
{
	struct mc_file f;
	struct stat st;

	ck_assert_int_eq(mc_file_create(&f, "out", NULL), 0);
	fputs("new", f.fp);
	fflush(f.fp);
	ck_assert_int_ne(access("out", F_OK), 0);
	ck_assert_int_eq(mc_file_commit(&f, NULL), 0);
	holds("out", "new");
	ck_assert_int_eq(chmod("out", 0640), 0);
	write_file("out", "newer");
	holds("out", "newer");
	ck_assert_int_eq(stat("out", &st), 0);
	ck_assert_int_eq(st.st_mode & 0777, 0640);
	ck_assert_int_eq(names_here(), 1);
	mc_file_abort(&f); /* harmless */
}
END_TEST

START_TEST(abort_leaves_the_old)
{
	struct mc_file f;

	write_file("out", "old");
	ck_assert_int_eq(mc_file_create(&f, "out", NULL), 0);
	fputs("half", f.fp);
	mc_file_abort(&f);
	mc_file_abort(&f);
	holds("out", "old");
	ck_assert_int_eq(names_here(), 1);
}
END_TEST

/* A limit on the size of files stands for a full disk. The error comes at a write, or only at the last flush.
 */
START_TEST(full_disk)
{
	struct rlimit limit = {.rlim_cur = 100000, .rlim_max = RLIM_INFINITY};
	struct mc_err e = {0};
	struct mc_file f;

	write_file("out", "old");
	signal(SIGXFSZ, SIG_IGN);
	ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
	ck_assert_int_eq(mc_file_create(&f, "out", NULL), 0);
	setvbuf(f.fp, NULL, _IOFBF, _i ? 1 << 20 : 4096);
	for (int i = 0; i < 20000; i++)
		fputs("ten bytes\n", f.fp);
	ck_assert_int_eq(mc_file_commit(&f, &e), MC_FAIL);
	ck_assert_int_eq(e.rc, MC_FAIL);
	ck_assert(strstr(e.file, "/out") != NULL && strstr(e.text, "cannot write") != NULL);
	holds("out", "old");
	ck_assert_int_eq(names_here(), 1);
}
END_TEST

START_TEST(devices_and_links)
{
	struct mc_err e = {0};
	struct mc_file f;
	struct stat st;

	write_file("/dev/null", "gone");
	ck_assert_int_eq(stat("/dev/null", &st), 0);
	ck_assert(S_ISCHR(st.st_mode));
	ck_assert_int_eq(mc_file_create(&f, "/dev/full", NULL), 0);
	fputs("x", f.fp);
	ck_assert_int_eq(mc_file_commit(&f, &e), MC_FAIL);
	ck_assert_str_eq(e.file, "/dev/full");
	ck_assert(strstr(e.text, strerror(ENOSPC)) != NULL);

	write_file("target", "a");
	ck_assert_int_eq(symlink("target", "link"), 0);
	write_file("link", "b");
	holds("target", "b");
	ck_assert_int_eq(lstat("link", &st), 0);
	ck_assert(S_ISLNK(st.st_mode));
	ck_assert_int_eq(names_here(), 2);
}
END_TEST

START_TEST(bad_paths)
{
	struct mc_err e = {0};
	struct mc_file f;

	ck_assert_int_eq(mc_file_create(&f, "none/out", &e), MC_FAIL);
	ck_assert_str_eq(e.file, "none/out");
	ck_assert_ptr_null(f.fp);
	e = (struct mc_err){0};
	ck_assert_int_eq(mc_file_create(&f, ".", &e), MC_FAIL);
	ck_assert_int_eq(names_here(), 0);
}
END_TEST

START_TEST(standard_output)
{
	struct mc_err e = {0};
	struct mc_file f;
	int saved = dup(1), fd = open("captured", O_WRONLY | O_CREAT, 0666);

	ck_assert_int_eq(dup2(fd, 1), 1);
	ck_assert_int_eq(mc_file_create(&f, "-", NULL), 0);
	ck_assert_ptr_eq(f.fp, stdout);
	fputs("text", f.fp);
	ck_assert_int_eq(mc_file_commit(&f, NULL), 0);
	holds("captured", "text");
	close(fd);
	fd = open("/dev/full", O_WRONLY);
	ck_assert_int_eq(dup2(fd, 1), 1);
	ck_assert_int_eq(mc_file_create(&f, "-", NULL), 0);
	fputs("text", f.fp);
	ck_assert_int_eq(mc_file_commit(&f, &e), MC_FAIL);
	ck_assert_str_eq(e.file, "<stdout>");
	dup2(saved, 1);
}
END_TEST

START_TEST(reading)
{
	struct mc_err e = {0};
	char *text;
	size_t n;
	FILE *fp = fopen("big", "w");

	for (int i = 0; i < 300000; i++)
		putc(i % 251, fp);
	fclose(fp);
	ck_assert_int_eq(mc_file_read("big", 300000, &text, &n, &e), 0);
	ck_assert_uint_eq(n, 300000);
	for (int i = 0; i < 300000; i++)
		if ((unsigned char)text[i] != i % 251)
			ck_abort_msg("byte %d", i);
	free(text);
	ck_assert_int_eq(mc_file_read("big", 299999, &text, &n, &e), MC_USAGE);
	ck_assert_str_eq(e.file, "big");
	e = (struct mc_err){0};
	ck_assert_int_eq(mc_file_read(".", 10, &text, &n, &e), MC_USAGE);
	e = (struct mc_err){0};
	ck_assert_int_eq(mc_file_read("none", 10, &text, &n, &e), MC_USAGE);
	ck_assert(strstr(e.text, strerror(ENOENT)) != NULL);
	write_file("empty", "");
	holds("empty", "");
}
END_TEST

START_TEST(strings_grow)
{
	struct mc_str s = {0};

	ck_assert_str_eq(mc_str_text(&s), "");
	mc_str_cut(&s, 0);
	for (int i = 0; i < 1000; i++)
		mc_str_printf(&s, "%d,", i);
	ck_assert_uint_eq(s.n, strlen(s.at));
	ck_assert(!strncmp(s.at, "0,1,2,", 6) && !strcmp(s.at + s.n - 4, "999,"));
	mc_str_cut(&s, 3);
	mc_str_add(&s, "x\0y", 3);
	ck_assert_uint_eq(s.n, 6);
	ck_assert_int_eq(memcmp(s.at, "0,1x\0y", 7), 0);
	mc_str_fini(&s);
	ck_assert_str_eq(mc_str_text(&s), "");
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("file");
	TCase *t = tcase_create("file");

	tcase_add_checked_fixture(t, enter, leave);
	tcase_add_test(t, appears_whole);
	tcase_add_test(t, abort_leaves_the_old);
	tcase_add_loop_test(t, full_disk, 0, 2);
	tcase_add_test(t, devices_and_links);
	tcase_add_test(t, bad_paths);
	tcase_add_test(t, standard_output);
	tcase_add_test(t, reading);
	tcase_add_test(t, strings_grow);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
