/* Lines of plain and compressed files: every ending, every truncation, corruption, and the limit of a line.
 */
#include "unit.h"

#include <zstd.h>

#include "base/vec.h"
#include "trace/input.h"
#include "trace_unit.h"

struct text {
	MC_VEC(char)
};

static void add(struct text *t, const void *s, size_t n)
{
	mc_vec_reserve(t, t->n + n + 1); /* never NULL */
	memcpy(t->at + t->n, s, n);
	t->n += n;
}

/* All lines of a file, each ended by a newline. Returns the code of the read. */
static int read_all(const char *path, struct text *out, struct mc_err *err)
{
	struct mc_input in;
	const char *line;
	size_t n;
	int rc = mc_input_open(&in, path, err);

	if (rc)
		return rc;
	while (!(rc = mc_input_line(&in, &line, &n, err)) && line) {
		add(out, line, n);
		add(out, "\n", 1);
	}
	mc_input_close(&in);
	return rc;
}

static void expect(const char *data, size_t n, const char *lines, size_t n_lines)
{
	struct text got = {0};
	struct mc_err err = {0};
	struct trace_file f;

	trace_file_write(&f, data, n);
	ck_assert_int_eq(read_all(f.path, &got, &err), 0);
	ck_assert_uint_eq(got.n, n_lines);
	if (n_lines)
		ck_assert_mem_eq(got.at, lines, n_lines);
	unlink(f.path);
	mc_vec_fini(&got);
}

/* One zstd frame with a checksum, appended to out. */
static void compress(struct text *out, const char *data, size_t n)
{
	size_t bound = ZSTD_compressBound(n), size;
	ZSTD_CCtx *c = ZSTD_createCCtx();

	mc_vec_reserve(out, out->n + bound);
	ZSTD_CCtx_setParameter(c, ZSTD_c_checksumFlag, 1);
	size = ZSTD_compress2(c, out->at + out->n, bound, data, n);
	ck_assert(!ZSTD_isError(size));
	out->n += size;
	ZSTD_freeCCtx(c);
}

START_TEST(endings)
{
#define EXPECT(data, lines) expect(data, sizeof data - 1, lines, sizeof lines - 1)
	EXPECT("", "");
	EXPECT("\n", "\n");
	EXPECT("a", "a\n");
	EXPECT("a\nb\n", "a\nb\n");
	EXPECT("a\r\nb\r\n", "a\nb\n");
	EXPECT("a\r\n\r\nb\r", "a\n\nb\n");
	EXPECT("\xef\xbb\xbf"
	       "a\n\xef\xbb\xbf"
	       "b",
	       "a\n\xef\xbb\xbf"
	       "b\n");
	EXPECT("a\0b\n\0", "a\0b\n\0\n");
	EXPECT("\x28\xb5\x2f", "\x28\xb5\x2f\n"); /* three quarters of a magic number */
#undef EXPECT
}
END_TEST

/* Two frames, an empty frame and a skippable one give the lines of their joined text, also across the joints.
 */
START_TEST(frames)
{
	static const char skip[] = "\x50\x2a\x4d\x18\x03\0\0\0abc";
	struct text z = {0};

	add(&z, skip, sizeof skip - 1);
	compress(&z, "one\ntw", 6);
	compress(&z, "", 0);
	compress(&z, "o\r\nthree", 8);
	expect(z.at, z.n, "one\ntwo\nthree\n", 14);
	mc_vec_fini(&z);
}
END_TEST

static int read_bytes(const char *data, size_t n, struct text *got, struct mc_err *err)
{
	struct trace_file f;
	int rc;

	trace_file_write(&f, data, n);
	got->n = 0;
	memset(err, 0, sizeof *err);
	rc = read_all(f.path, got, err);
	if (rc)
		ck_assert_str_eq(err->file, f.path);
	unlink(f.path);
	return rc;
}

/* Cut anywhere inside the frame, or with any byte changed: an error with the file's name, never other text.
 */
START_TEST(truncated_and_corrupt)
{
	struct text plain = {0}, z = {0}, got = {0};
	struct mc_err err;

	for (int i = 0; i < 200; i++) {
		char line[32];

		add(&plain, line, (size_t)snprintf(line, sizeof line, "line %d %d\n", i, i * i * 7919));
	}
	compress(&z, plain.at, plain.n);
	for (size_t n = 4; n < z.n; n += 7) {
		ck_assert_int_eq(read_bytes(z.at, n, &got, &err), MC_USAGE);
		ck_assert_ptr_nonnull(strstr(err.text, "inside a frame"));
	}
	for (size_t i = 4; i < z.n; i += 5) {
		z.at[i] ^= 0x10;
		if (!read_bytes(z.at, z.n, &got, &err)) {
			/* The unused bits of the frame's header change nothing. */
			ck_assert_uint_eq(got.n, plain.n);
			ck_assert_mem_eq(got.at, plain.at, plain.n);
		}
		z.at[i] ^= 0x10;
	}
	add(&z, "tail", 4);
	ck_assert_int_eq(read_bytes(z.at, z.n, &got, &err), MC_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "corrupt zstd data in bytes"));
	mc_vec_fini(&plain);
	mc_vec_fini(&z);
	mc_vec_fini(&got);
}
END_TEST

START_TEST(long_lines)
{
	size_t big = (size_t)10 << 20, huge = MC_INPUT_LINE_MAX + ((size_t)1 << 20);
	char *text = mc_xmalloc(huge + 2);
	struct text z = {0}, got = {0};
	struct mc_err err;

	memset(text, 'x', huge);
	text[0] = '\n';
	text[big] = '\n';
	compress(&z, text, big + 1);
	ck_assert_int_eq(read_bytes(z.at, z.n, &got, &err), 0);
	ck_assert_uint_eq(got.n, big + 1);
	ck_assert_mem_eq(got.at, text, big + 1);
	text[big] = 'x';
	z.n = 0;
	compress(&z, text, huge);
	ck_assert_int_eq(read_bytes(z.at, z.n, &got, &err), MC_USAGE);
	ck_assert_int_eq(err.line, 2);
	ck_assert_ptr_nonnull(strstr(err.text, "a line of more than 64 MiB"));
	free(text);
	mc_vec_fini(&z);
	mc_vec_fini(&got);
}
END_TEST

START_TEST(not_a_trace)
{
	struct text got = {0};
	struct mc_err err = {0};

	ck_assert_int_eq(read_all("no/such/file", &got, &err), MC_USAGE);
	ck_assert_str_eq(err.file, "no/such/file");
	memset(&err, 0, sizeof err);
	ck_assert_int_eq(read_all(".", &got, &err), MC_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "directory"));
	ck_assert_int_eq(read_bytes("\x1f\x8b\x08\0", 4, &got, &err), MC_USAGE);
	ck_assert_ptr_nonnull(strstr(err.text, "gzip"));
	mc_vec_fini(&got);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("trace_input");
	TCase *t = tcase_create("input");

	tcase_add_test(t, endings);
	tcase_add_test(t, frames);
	tcase_add_test(t, truncated_and_corrupt);
	tcase_add_test(t, long_lines);
	tcase_add_test(t, not_a_trace);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
