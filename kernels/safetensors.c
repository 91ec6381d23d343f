/* One file: map it, check its header. */
#include "kernels/safetensors.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kernels/safetensors_internal.h"

enum { LENGTH_BYTES = 8 };
/* The limit of the format's own library. */
#define HEADER_MAX_BYTES 100000000u

static const struct {
	const char *name;
	int bits;
} formats[] = {
    {"BOOL", 8}, {"U8", 8},   {"I8", 8},   {"F8_E5M2", 8}, {"F8_E4M3", 8},
    {"I16", 16}, {"U16", 16}, {"F16", 16}, {"BF16", 16},   {"I32", 32},
    {"U32", 32}, {"F32", 32}, {"F64", 64}, {"I64", 64},    {"U64", 64},
};

int mc_st_format(const char **name)
{
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
		if (!strcmp(formats[i].name, *name)) {
			*name = formats[i].name;
			return formats[i].bits;
		}
	return 0;
}

static int read_shape(const json_t *shape, struct mc_tensor *t, struct mc_err *err)
{
	if (!json_is_array(shape) || json_array_size(shape) > MC_TENSOR_DIMS)
		return mc_err_key(err, MC_USAGE, t->name,
				  "has no usable shape; expected an array of up to 8 sizes");
	t->dims = (int)json_array_size(shape);
	t->count = 1;
	for (int i = 0; i < t->dims; i++) {
		const json_t *v = json_array_get(shape, (size_t)i);

		t->size[i] = json_integer_value(v); /* 0 if it is none */
		if (!json_is_integer(v) || t->size[i] < 0)
			return mc_err_key(err, MC_USAGE, t->name,
					  "has a size that is none; expected whole numbers of 0 or more");
		if (__builtin_mul_overflow(t->count, t->size[i], &t->count) || t->count > INT64_MAX / 64)
			return mc_err_key(err, MC_USAGE, t->name,
					  "has a shape that overflows; expected one that the file can hold");
	}
	return 0;
}

/* data: what follows the header, n bytes. */
static int read_offsets(const json_t *offsets, const char *data, size_t n, struct mc_tensor *t,
			struct mc_err *err)
{
	json_int_t from = json_integer_value(json_array_get(offsets, 0));
	json_int_t to = json_integer_value(json_array_get(offsets, 1));

	if (json_array_size(offsets) != 2 || !json_is_integer(json_array_get(offsets, 0)) ||
	    !json_is_integer(json_array_get(offsets, 1)) || from < 0 || to < from)
		return mc_err_key(err, MC_USAGE, t->name, "has no usable data_offsets; expected [from, to]");
	if ((uint64_t)to > n)
		return mc_err_key(err, MC_USAGE, t->name,
				  "ends at byte %lld of the data; expected %zu at most (is the file cut?)",
				  (long long)to, n);
	t->data = data + from;
	t->bytes = (size_t)(to - from);
	if (t->bytes != (uint64_t)t->count * (uint64_t)t->number_bits / 8)
		return mc_err_key(err, MC_USAGE, t->name, "has %zu bytes; expected %lld numbers of %s",
				  t->bytes, (long long)t->count, t->dtype);
	return 0;
}

/* t->name is set. */
static int read_tensor(const json_t *entry, const char *data, size_t n, struct mc_tensor *t,
		       struct mc_err *err)
{
	const json_t *dtype = json_object_get(entry, "dtype");

	if (json_object_size(entry) != 3 || !json_is_string(dtype))
		return mc_err_key(err, MC_USAGE, t->name,
				  "is no tensor; expected dtype, shape and data_offsets");
	t->dtype = json_string_value(dtype);
	t->number_bits = mc_st_format(&t->dtype);
	if (!t->number_bits)
		return mc_err_key(err, MC_USAGE, t->name,
				  "has the unknown dtype \"%.40s\"; expected F32, BF16, F16, ...", t->dtype);
	if (read_shape(json_object_get(entry, "shape"), t, err))
		return MC_USAGE;
	return read_offsets(json_object_get(entry, "data_offsets"), data, n, t, err);
}

/* {"key": "text", ...} */
static int check_metadata(const json_t *o, struct mc_err *err)
{
	const char *key;
	json_t *v;

	if (!json_is_object(o))
		return mc_err_set(err, MC_USAGE, "__metadata__ is no object; expected one of texts");
	json_object_foreach((json_t *)(uintptr_t)o, key, v)
	{
		if (!json_is_string(v))
			return mc_err_set(err, MC_USAGE,
					  "__metadata__ holds more than texts; expected texts");
	}
	return 0;
}

static int read_header(struct mc_safetensors *f, const struct mc_st_file *file, json_t *root, size_t skip,
		       struct mc_err *err)
{
	const char *name;
	json_t *entry;

	if (!json_is_object(root))
		return mc_err_set(err, MC_USAGE, "the header is no object; expected one of tensors");
	json_object_foreach(root, name, entry)
	{
		struct mc_tensor t = {.name = name, .file = file->path};

		if (!strcmp(name, "__metadata__")) {
			if (check_metadata(entry, err))
				return MC_USAGE;
			continue;
		}
		if (read_tensor(entry, (const char *)file->map + skip, file->bytes - skip, &t, err))
			return MC_USAGE;
		t.name = mc_xstrdup(name);
		mc_vec_push(&f->tensors, t);
	}
	return 0;
}

static int by_place(const void *x, const void *y)
{
	const struct mc_tensor *a = x, *b = y;

	if (a->data != b->data)
		return (const char *)a->data < (const char *)b->data ? -1 : 1;
	return (a->bytes > b->bytes) - (a->bytes < b->bytes);
}

/* The tensors follow each other from the first byte of data to the last. */
static int check_places(struct mc_tensor *t, size_t n, const char *data, const char *end, struct mc_err *err)
{
	const char *at = data;

	if (n)
		qsort(t, n, sizeof *t, by_place);
	for (size_t i = 0; i < n; at = (const char *)t[i].data + t[i].bytes, i++)
		if (t[i].data != at)
			return mc_err_key(err, MC_USAGE, t[i].name,
					  (const char *)t[i].data < at
					      ? "overlaps another tensor; expected each after the one before"
					      : "leaves a gap before it; expected each after the one before");
	if (at != end)
		return mc_err_set(err, MC_USAGE, "holds %zu bytes that no tensor covers; expected none",
				  (size_t)(end - at));
	return 0;
}

static int parse(struct mc_safetensors *f, const struct mc_st_file *file, struct mc_err *err)
{
	const unsigned char *p = file->map;
	size_t first = f->tensors.n;
	uint64_t length = 0;
	json_error_t at;
	json_t *root;
	int rc;

	for (int i = LENGTH_BYTES - 1; i >= 0; i--)
		length = length << 8 | p[i];
	if (length > HEADER_MAX_BYTES || length > file->bytes - LENGTH_BYTES)
		return mc_err_set(err, MC_USAGE,
				  "the header has %llu bytes; expected at most %u, within a file of %zu",
				  (unsigned long long)length, HEADER_MAX_BYTES, file->bytes);
	root = json_loadb((const char *)p + LENGTH_BYTES, (size_t)length, JSON_REJECT_DUPLICATES, &at);
	if (!root)
		return mc_err_set(err, MC_USAGE, "byte %d of the header: %s; expected JSON", at.position,
				  at.text);
	rc = read_header(f, file, root, LENGTH_BYTES + (size_t)length, err);
	json_decref(root);
	if (!rc)
		rc =
		    check_places(f->tensors.at + first, f->tensors.n - first,
				 (const char *)p + LENGTH_BYTES + length, (const char *)p + file->bytes, err);
	return rc;
}

static int map(struct mc_st_file *file, struct mc_err *err)
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe would wait for a writer */
	struct stat st;
	int rc = 0;

	if (fd < 0)
		return mc_err_errno(err, MC_USAGE, "cannot open");
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size < LENGTH_BYTES) {
		rc = mc_err_set(err, MC_USAGE, "is no file of 8 bytes or more; expected a safetensors file");
	} else {
		file->bytes = (size_t)st.st_size;
		file->map = mmap(NULL, file->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
		if (file->map == MAP_FAILED) {
			file->map = NULL;
			rc = mc_err_errno(err, MC_USAGE, "cannot map %zu bytes", file->bytes);
		}
	}
	close(fd);
	return rc;
}

int mc_st_file_add(struct mc_safetensors *f, const char *path, struct mc_err *err)
{
	struct mc_st_file *file = mc_xcalloc(1, sizeof *file);
	int rc;

	file->path = mc_xstrdup(path);
	mc_vec_push(&f->files, file);
	rc = map(file, err);
	if (!rc)
		rc = parse(f, file, err);
	if (rc)
		mc_err_at(err, path, 0, 0, NULL);
	return rc;
}

void mc_safetensors_close(struct mc_safetensors *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->tensors.n; i++)
		free((char *)(uintptr_t)f->tensors.at[i].name);
	for (size_t i = 0; i < f->files.n; i++) {
		if (f->files.at[i]->map)
			munmap(f->files.at[i]->map, f->files.at[i]->bytes);
		free(f->files.at[i]->path);
		free(f->files.at[i]);
	}
	mc_vec_fini(&f->tensors);
	mc_vec_fini(&f->files);
	free(f);
}

size_t mc_safetensors_count(const struct mc_safetensors *f)
{
	return f->tensors.n;
}

const struct mc_tensor *mc_safetensors_at(const struct mc_safetensors *f, size_t i)
{
	assert(i < f->tensors.n);
	return &f->tensors.at[i];
}

const struct mc_tensor *mc_safetensors_find(const struct mc_safetensors *f, const char *name)
{
	size_t from = 0, to = f->tensors.n;

	while (from < to) {
		size_t mid = from + (to - from) / 2;
		int order = strcmp(name, f->tensors.at[mid].name);

		if (!order)
			return &f->tensors.at[mid];
		if (order < 0)
			to = mid;
		else
			from = mid + 1;
	}
	return NULL;
}

int mc_tensor_get(const struct mc_tensor *t, int64_t first, int64_t n, enum mc_dtype to, void *out)
{
	static const char *const name[] = {"F32", "BF16", "F16"};
	enum mc_dtype from = MC_F32;
	size_t size;

	assert(first >= 0 && n >= 0 && n <= t->count && first <= t->count - n);
	while (from <= MC_F16 && strcmp(name[from], t->dtype))
		from++;
	if (from > MC_F16)
		return MC_USAGE;
	size = mc_dtype_bytes(from);
	if (from == to) {
		memcpy(out, (const char *)t->data + (size_t)first * size, (size_t)n * size);
		return 0;
	}
	for (int64_t i = 0; i < n; i++) {
		uint32_t bits; /* data need not be aligned */

		memcpy(&bits, (const char *)t->data + (size_t)(first + i) * size, size);
		mc_dtype_put(to, out, (size_t)i, mc_dtype_get(from, &bits, 0));
	}
	return 0;
}
