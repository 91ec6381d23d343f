/* Safetensors files: written and read, and every way that one may be wrong. */
#include "tests/unit/unit.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/safetensors.h"
#include "tests/kernels/rig.h"

static char folder[] = "safetensors-XXXXXX";

static void setup(void)
{
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
}

static void teardown(void)
{
	char command[128];

	snprintf(command, sizeof command, "rm -rf ./%s", folder);
	ck_assert_int_eq(system(command), 0);
}

static const char *in_folder(const char *name)
{
	static char path[2][256];
	static int turn;

	turn = !turn;
	snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
	return path[turn];
}

static void write_bytes(const char *path, const void *p, size_t n)
{
	FILE *f = fopen(path, "wb");

	ck_assert_ptr_nonnull(f);
	ck_assert_uint_eq(fwrite(p, 1, n, f), n);
	fclose(f);
}

/* A file of this header and so many bytes of data. */
static const char *file_of(const char *header, size_t data)
{
	size_t n = strlen(header);
	char *bytes = calloc(1, 8 + n + data);
	const char *path = in_folder("model.safetensors");

	for (int i = 0; i < 8; i++)
		bytes[i] = (char)(n >> 8 * i);
	memcpy(bytes + 8, header, n);
	write_bytes(path, bytes, 8 + n + data);
	free(bytes);
	return path;
}

/* Refused, and said why. */
static void refused(const char *path, const char *key, const char *why)
{
	struct mc_safetensors *f = (void *)1;
	struct mc_err err = {0};

	ck_assert_int_eq(mc_safetensors_open(&f, path, &err), MC_USAGE);
	ck_assert_ptr_null(f);
	ck_assert_msg(strstr(err.text, why), "\"%s\" doesn't say \"%s\"", err.text, why);
	ck_assert_str_eq(err.key, key);
	ck_assert_msg(strstr(err.file, folder), "\"%s\"", err.file);
	ck_assert_int_eq(mc_safetensors_open(&f, path, NULL), MC_USAGE);
}

static void wrong(const char *header, size_t data, const char *key, const char *why)
{
	refused(file_of(header, data), key, why);
}

START_TEST(written_and_read)
{
	float x[6] = {1, -2, 0.5f, 3.14159265f, 70000, 1e-9f}, y[6];
	uint16_t half[3] = {mc_f16_of(1.5f), mc_f16_of(-2), 0x7c00}, b[4] = {0x3f80, 0xbf80, 0x7fc0, 0};
	struct mc_tensor t[] = {
	    {.name = "b", .dtype = "F32", .dims = 2, .size = {2, 3}, .data = x},
	    {.name = "a\"\\\xc3\xa4", .dtype = "F16", .dims = 1, .size = {3}, .data = half},
	    {.name = "empty", .dtype = "F32", .dims = 3, .size = {4, 0, 2}, .data = x},
	    {.name = "c", .dtype = "BF16", .dims = 1, .size = {4}, .data = b},
	    {.name = "scalar", .dtype = "F32", .dims = 0, .data = x + 3},
	};
	struct mc_safetensors *f;
	const struct mc_tensor *got;
	struct mc_err err = {0};
	uint16_t z[6];

	ck_assert_int_eq(mc_safetensors_write(in_folder("m.safetensors"), t, 5, &err), 0);
	ck_assert_int_eq(mc_safetensors_open(&f, in_folder("m.safetensors"), &err), 0);
	ck_assert_uint_eq(mc_safetensors_count(f), 5);
	for (size_t i = 0; i < 5; i++)
		ck_assert_ptr_eq(mc_safetensors_find(f, mc_safetensors_at(f, i)->name),
				 mc_safetensors_at(f, i));
	ck_assert_ptr_null(mc_safetensors_find(f, "bb"));
	got = mc_safetensors_find(f, "b");
	ck_assert(got->dims == 2 && got->size[0] == 2 && got->size[1] == 3 && got->bytes == 24);
	ck_assert(!mc_tensor_get(got, 0, 6, MC_F32, y) && !memcmp(x, y, sizeof x));
	ck_assert(!mc_tensor_get(got, 2, 3, MC_BF16, z));
	for (int i = 0; i < 3; i++)
		ck_assert_uint_eq(z[i], mc_bf16_of(x[2 + i]));
	ck_assert(!mc_tensor_get(mc_safetensors_find(f, t[1].name), 0, 3, MC_F32, y));
	ck_assert(y[0] == 1.5f && y[1] == -2 && y[2] > 1e38f);
	ck_assert(!mc_tensor_get(mc_safetensors_find(f, "c"), 0, 4, MC_F16, z));
	ck_assert(z[0] == 0x3c00 && z[1] == 0xbc00 && (z[2] & 0x7fff) > 0x7c00 && z[3] == 0);
	ck_assert_int_eq(mc_safetensors_find(f, "empty")->count, 0);
	ck_assert(!mc_tensor_get(mc_safetensors_find(f, "scalar"), 0, 1, MC_F32, y) && y[0] == x[3]);
	mc_safetensors_close(f);
	/* A folder, and one file in it that is not the one looked for. */
	ck_assert_int_eq(rename(in_folder("m.safetensors"), in_folder("model.safetensors")), 0);
	ck_assert_int_eq(mc_safetensors_open(&f, folder, &err), 0);
	mc_safetensors_close(f);
}
END_TEST

START_TEST(hostile_headers)
{
	static const char one[] = "{\"a\": {\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [0, 8]}}";
	static const unsigned char huge[8] = {0, 0, 0, 0, 0, 0, 0, 0x80}, most[16] = {0xff, 0xe0, 0xf5, 5},
				   above[8] = {1, 0xe1, 0xf5, 5};
	struct mc_safetensors *f;

	ck_assert_int_eq(mc_safetensors_open(&f, file_of(one, 8), NULL), 0);
	mc_safetensors_close(f);
	wrong(one, 7, "a", "cut");
	wrong(one, 9, "", "no tensor covers");
	wrong("", 0, "", "expected JSON");
	wrong("[]", 0, "", "no object");
	wrong("{\"a\": 1", 0, "", "expected JSON");
	wrong("{\"a\": 1}", 0, "a", "no tensor");
	wrong("{\"a\": {}}", 0, "a", "no tensor");
	wrong("{\"__metadata__\": {\"a\": 1}}", 0, "", "texts");
	wrong("{\"__metadata__\": []}", 0, "", "__metadata__");
	write_bytes(in_folder("x"), huge, 8);
	refused(in_folder("x"), "", "header has");
	write_bytes(in_folder("x"), most, 16);
	refused(in_folder("x"), "", "header has");
	write_bytes(in_folder("x"), huge, 7);
	refused(in_folder("x"), "", "8 bytes");
	/* One byte above the limit, in a file that could hold it (of a hole). */
	write_bytes(in_folder("x"), above, 8);
	ck_assert_int_eq(truncate(in_folder("x"), 100000009), 0);
	refused(in_folder("x"), "", "header has");
	refused(in_folder("none"), "", "cannot open");
	ck_assert_int_eq(mkfifo(in_folder("pipe"), 0600), 0);
	refused(in_folder("pipe"), "", "is no file");
	unlink(in_folder("model.safetensors"));
	refused(folder, "", "cannot open");
	ck_assert_int_eq(mkdir(in_folder("model.safetensors"), 0700), 0);
	refused(folder, "", "is no file");
}
END_TEST

START_TEST(hostile_tensors)
{
#define T(dtype, shape, offsets)                                                                             \
	"\": {\"dtype\": \"" dtype "\", \"shape\": " shape ", \"data_offsets\": " offsets "}"
	wrong("{\"a" T("F32", "[2]", "[0, 8]") ", \"a" T("F32", "[2]", "[8, 16]") "}", 16, "", "duplicate");
	wrong("{\"a\": {\"dtype\": \"F32\", \"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [0, 8]}}",
	      8, "", "duplicate");
	wrong("{\"a\": {\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [0, 8], \"x\": 1}}", 8, "a",
	      "no tensor");
	wrong("{\"a" T("F31", "[2]", "[0, 8]") "}", 8, "a", "unknown dtype");
	wrong("{\"a\": {\"dtype\": 32, \"shape\": [2], \"data_offsets\": [0, 8]}}", 8, "a", "no tensor");
	wrong("{\"a" T("F32", "2", "[0, 8]") "}", 8, "a", "shape");
	wrong("{\"a" T("F32", "[2.0]", "[0, 8]") "}", 8, "a", "size");
	wrong("{\"a" T("F32", "[-2]", "[0, 8]") "}", 8, "a", "size");
	wrong("{\"a" T("F32", "[1,1,1,1,1,1,1,1,2]", "[0, 8]") "}", 8, "a", "shape");
	wrong("{\"a" T("F32", "[4294967296, 4294967296]", "[0, 0]") "}", 0, "a", "overflows");
	wrong("{\"a" T("F32", "[4611686018427387904]", "[0, 0]") "}", 0, "a", "overflows");
	wrong("{\"a" T("F32", "[99999999999999999999]", "[0, 0]") "}", 0, "", "too big");
	wrong("{\"a" T("F32", "[3]", "[0, 8]") "}", 8, "a", "expected 3 numbers");
	wrong("{\"a" T("F32", "[2]", "[0]") "}", 8, "a", "data_offsets");
	wrong("{\"a" T("F32", "[2]", "[0, 8, 8]") "}", 8, "a", "data_offsets");
	wrong("{\"a" T("F32", "[2]", "[0, \"8\"]") "}", 8, "a", "data_offsets");
	wrong("{\"a" T("F32", "[2]", "[-8, 0]") "}", 8, "a", "data_offsets");
	wrong("{\"a" T("F32", "[2]", "[8, 0]") "}", 8, "a", "data_offsets");
	wrong("{\"a" T("F32", "[2]", "[4, 12]") "}", 12, "a", "gap");
	wrong("{\"a" T("F32", "[2]", "[0, 8]") ", \"b" T("F32", "[2]", "[4, 12]") "}", 12, "b", "overlaps");
	wrong("{\"a" T("F32", "[2]", "[0, 8]") ", \"b" T("F32", "[2]", "[0, 8]") "}", 8, "b", "overlaps");
	wrong("{\"a" T("F32", "[2]", "[12, 20]") ", \"b" T("F32", "[2]", "[0, 8]") "}", 20, "a", "gap");
#undef T
}
END_TEST

/* As deep as the reader's stack would not take. */
START_TEST(deep_header)
{
	size_t n = 1 << 20;
	char *text = malloc(n + 1);

	memset(text, '[', n);
	text[n] = 0;
	wrong(text, 0, "", "depth");
	free(text);
}
END_TEST

static void write_text(const char *name, const char *text)
{
	write_bytes(in_folder(name), text, strlen(text));
}

START_TEST(indexed)
{
	float x[4] = {1, 2, 3, 4};
	struct mc_tensor t[] = {{.name = "a", .dtype = "F32", .dims = 1, .size = {2}, .data = x},
				{.name = "b", .dtype = "F32", .dims = 1, .size = {1}, .data = x + 2},
				{.name = "c", .dtype = "F32", .dims = 1, .size = {1}, .data = x + 3}};
	const char *index = "model.safetensors.index.json";
	struct mc_safetensors *f;
	struct mc_err err = {0};
	float y;

	ck_assert(!mc_safetensors_write(in_folder("1.safetensors"), t, 2, &err));
	ck_assert(!mc_safetensors_write(in_folder("2.safetensors"), t + 2, 1, &err));
	write_text(index, "{\"metadata\": {}, \"weight_map\": {\"a\": \"1.safetensors\", \"c\": "
			  "\"2.safetensors\", \"b\": \"1.safetensors\"}}");
	ck_assert_int_eq(mc_safetensors_open(&f, folder, &err), 0);
	ck_assert_uint_eq(mc_safetensors_count(f), 3);
	ck_assert(!mc_tensor_get(mc_safetensors_find(f, "c"), 0, 1, MC_F32, &y) && y == 4);
	mc_safetensors_close(f);
	write_text(index, "{\"weight_map\": {\"a\": \"1.safetensors\", \"c\": \"2.safetensors\"}}");
	refused(folder, "b", "isn't in the index");
	write_text(index, "{\"weight_map\": {\"a\": \"1.safetensors\", \"b\": \"1.safetensors\", \"c\": "
			  "\"1.safetensors\"}}");
	refused(folder, "c", "isn't in the file");
	write_text(index, "{\"weight_map\": {\"a\": \"1.safetensors\", \"b\": \"2.safetensors\", \"c\": "
			  "\"2.safetensors\"}}");
	refused(in_folder(index), "b", "isn't in the file");
	write_text(index, "{\"weight_map\": {\"a\": \"../1.safetensors\"}}");
	refused(folder, "a", "names no file");
	write_text(index, "{\"weight_map\": {\"a\": \"sub/1.safetensors\"}}");
	refused(folder, "a", "names no file");
	write_text(index, "{\"weight_map\": {\"a\": \"..\"}}");
	refused(folder, "a", "names no file");
	write_text(index, "{\"weight_map\": {\"a\": 1}}");
	refused(folder, "a", "names no file");
	write_text(index, "{\"weight_map\": {}}");
	refused(folder, "weight_map", "missing");
	write_text(index, "{\"weight_map\": {\"a\": \"3.safetensors\"}}");
	refused(folder, "", "cannot open");
	write_text(index, "{\"weight_map\": ");
	refused(folder, "", "JSON");
	ck_assert(!mc_safetensors_write(in_folder("2.safetensors"), t, 1, &err));
	write_text(index, "{\"weight_map\": {\"a\": \"1.safetensors\", \"b\": \"2.safetensors\"}}");
	refused(folder, "a", "too");
}
END_TEST

/* Every byte that is read is within the file, whatever was changed in it: under ASan, reading all data of
 * what is still taken. */
START_TEST(mutations)
{
	struct rig_random g = {(uint64_t)(5 + _i)};
	float x[8] = {0};
	struct mc_tensor t[] = {{.name = "w", .dtype = "F32", .dims = 2, .size = {2, 3}, .data = x},
				{.name = "v", .dtype = "F16", .dims = 1, .size = {4}, .data = x}};
	static const char tokens[] = "0123456789[]{},:\"-eFB";
	char good[512], bad[512];
	int taken = 0;
	size_t n;
	FILE *f;

	ck_assert(!mc_safetensors_write(in_folder("good"), t, 2, NULL));
	f = fopen(in_folder("good"), "rb");
	n = fread(good, 1, sizeof good, f);
	fclose(f);
	for (int round = 0; round < 400; round++) {
		struct mc_safetensors *s;
		size_t length = n;

		memcpy(bad, good, n);
		for (uint32_t k = 1 + rig_below(&g, 3); k--;)
			bad[rig_below(&g, (uint32_t)n)] = rig_below(&g, 4)
							      ? tokens[rig_below(&g, sizeof tokens - 1)]
							      : (char)rig_below(&g, 256);
		if (!rig_below(&g, 4))
			length = rig_below(&g, (uint32_t)n);
		write_bytes(in_folder("bad"), bad, length);
		if (mc_safetensors_open(&s, in_folder("bad"), NULL))
			continue;
		taken++;
		for (size_t i = 0; i < mc_safetensors_count(s); i++) {
			const struct mc_tensor *got = mc_safetensors_at(s, i);
			float *all = malloc((size_t)got->count * 4 + 4);

			ck_assert_uint_le(got->bytes, length);
			mc_tensor_get(got, 0, got->count, MC_F32, all);
			free(all);
		}
		mc_safetensors_close(s);
	}
	ck_assert_int_gt(taken, 0); /* changes of data, or of names */
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("safetensors");
	TCase *t = tcase_create("safetensors");

	tcase_add_checked_fixture(t, setup, teardown);
	tcase_add_test(t, written_and_read);
	tcase_add_test(t, hostile_headers);
	tcase_add_test(t, hostile_tensors);
	tcase_add_test(t, deep_header);
	tcase_add_test(t, indexed);
	tcase_add_loop_test(t, mutations, 0, 4);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
