/* A model of one or of several files: which, and whether index and files agree. */
#include <assert.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/str.h"
#include "kernels/safetensors_internal.h"

#define INDEX_MAX_BYTES ((size_t)64 << 20)

static int by_name(const void *x, const void *y)
{
	const struct mc_tensor *a = x, *b = y;

	return strcmp(a->name, b->name);
}

/* Sorted by name, each once. */
static int sort_tensors(struct mc_safetensors *f, struct mc_err *err)
{
	struct mc_tensor *t = f->tensors.at;
	size_t n = f->tensors.n;

	if (n)
		qsort(t, n, sizeof *t, by_name);
	for (size_t i = 1; i < n; i++)
		if (!strcmp(t[i - 1].name, t[i].name)) {
			mc_err_set(err, MC_USAGE, "is in %.200s, too; expected it once", t[i].file);
			return mc_err_at(err, t[i - 1].file, 0, 0, t[i].name), MC_USAGE;
		}
	return 0;
}

/* folder of `path` + name */
static char *beside(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');
	struct mc_str s = {0};

	mc_str_printf(&s, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, name);
	return s.at;
}

/* Each file that the map names, once, in the order of the first mention. */
static int add_files(struct mc_safetensors *f, const char *path, json_t *map, struct mc_err *err)
{
	json_t *seen = json_object(), *file;
	const char *key;
	int rc = 0;

	json_object_foreach(map, key, file)
	{
		const char *name = json_string_value(file);
		char *full;

		if (!name || !*name || strchr(name, '/') || name[0] == '.') {
			rc =
			    mc_err_key(err, MC_USAGE, key, "names no file; expected a file beside the index");
			break;
		}
		if (json_object_get(seen, name))
			continue;
		json_object_set_new(seen, name, json_true());
		full = beside(path, name);
		rc = mc_st_file_add(f, full, err);
		free(full);
		if (rc)
			break;
	}
	json_decref(seen);
	return rc;
}

/* Every tensor of the map is in the file that it says, and no other is in the files. */
static int check_map(const struct mc_safetensors *f, const json_t *map, struct mc_err *err)
{
	const char *key;
	json_t *file;

	json_object_foreach((json_t *)(uintptr_t)map, key, file)
	{
		const struct mc_tensor *t = mc_safetensors_find(f, key);
		const char *slash = t ? strrchr(t->file, '/') : NULL;

		if (!t || strcmp(slash ? slash + 1 : t->file, json_string_value(file)))
			return mc_err_key(err, MC_USAGE, key,
					  "isn't in the file that the index names; expected it there");
	}
	for (size_t i = 0; i < f->tensors.n; i++)
		if (!json_object_get(map, f->tensors.at[i].name)) {
			mc_err_key(err, MC_USAGE, f->tensors.at[i].name,
				   "isn't in the index; expected all tensors there");
			return mc_err_at(err, f->tensors.at[i].file, 0, 0, NULL), MC_USAGE;
		}
	return 0;
}

int mc_st_index_add(struct mc_safetensors *f, const char *path, struct mc_err *err)
{
	json_error_t at;
	json_t *root, *map;
	char *text;
	size_t n;
	int rc;

	if (mc_file_read(path, INDEX_MAX_BYTES, &text, &n, err))
		return MC_USAGE;
	root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &at);
	free(text);
	if (!root) {
		mc_err_set(err, MC_USAGE, "%s; expected JSON", at.text);
		return mc_err_at(err, path, at.line, at.column, NULL), MC_USAGE;
	}
	map = json_object_get(root, "weight_map");
	if (!json_object_size(map))
		rc = mc_err_key(err, MC_USAGE, "weight_map",
				"is missing or empty; expected {\"tensor\": \"file\"}");
	else
		rc = add_files(f, path, map, err);
	if (!rc)
		rc = sort_tensors(f, err);
	if (!rc)
		rc = check_map(f, map, err);
	json_decref(root);
	if (rc)
		mc_err_at(err, path, 0, 0, NULL);
	return rc;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

static int open_folder(struct mc_safetensors *f, const char *path, struct mc_err *err)
{
	struct mc_str s = {0};
	struct stat st;
	int rc;

	mc_str_printf(&s, "%s/model.safetensors.index.json", path);
	if (!stat(s.at, &st)) {
		rc = mc_st_index_add(f, s.at, err);
	} else {
		mc_str_cut(&s, 0);
		mc_str_printf(&s, "%s/model.safetensors", path);
		rc = mc_st_file_add(f, s.at, err);
	}
	mc_str_fini(&s);
	return rc;
}

int mc_safetensors_open(struct mc_safetensors **out, const char *path, struct mc_err *err)
{
	struct mc_safetensors *f = mc_xcalloc(1, sizeof *f);
	struct stat st;
	int rc;

	*out = NULL;
	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		rc = open_folder(f, path, err);
	else if (ends_with(path, ".json"))
		rc = mc_st_index_add(f, path, err);
	else
		rc = mc_st_file_add(f, path, err);
	if (!rc)
		rc = sort_tensors(f, err);
	if (rc) {
		mc_safetensors_close(f);
		return rc;
	}
	*out = f;
	return 0;
}

static json_t *header_entry(const struct mc_tensor *t, size_t from, size_t bytes)
{
	json_t *shape = json_array();

	for (int i = 0; i < t->dims; i++)
		json_array_append_new(shape, json_integer(t->size[i]));
	return json_pack("{s:s, s:o, s:[I, I]}", "dtype", t->dtype, "shape", shape, "data_offsets",
			 (json_int_t)from, (json_int_t)(from + bytes));
}

static size_t tensor_bytes(const struct mc_tensor *t)
{
	const char *name = t->dtype;
	size_t n = (size_t)mc_st_format(&name) / 8;

	assert(n && t->dims <= MC_TENSOR_DIMS);
	for (int i = 0; i < t->dims; i++)
		n *= (size_t)t->size[i];
	return n;
}

int mc_safetensors_write(const char *path, const struct mc_tensor *tensor, size_t n, struct mc_err *err)
{
	json_t *root = json_object();
	size_t at = 0, length;
	struct mc_file file;
	char *text;

	for (size_t i = 0; i < n; at += tensor_bytes(&tensor[i]), i++)
		json_object_set_new(root, tensor[i].name,
				    header_entry(&tensor[i], at, tensor_bytes(&tensor[i])));
	assert(json_object_size(root) == n); /* names are UTF-8 and differ */
	text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	length = strlen(text);
	if (mc_file_create(&file, path, err)) {
		free(text);
		return err ? err->rc : MC_USAGE;
	}
	/* Spaces, so that data begin at a multiple of 8. */
	for (int i = 0; i < 8; i++)
		putc((int)((length + 7) / 8 * 8 >> 8 * i & 255), file.fp);
	fprintf(file.fp, "%-*s", (int)((length + 7) / 8 * 8), text);
	for (size_t i = 0; i < n; i++)
		fwrite(tensor[i].data, 1, tensor_bytes(&tensor[i]), file.fp);
	free(text);
	return mc_file_commit(&file, err);
}
