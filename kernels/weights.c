#include "kernels/weights.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/vec.h"
#include "kernels/safetensors.h"

/* Numbers that are made at a time. */
enum { SOME = 256 };

struct mc_weights {
	struct mc_safetensors *files; /* NULL: from the seed */
	uint64_t seed;
};

void mc_weights_seeded(struct mc_weights **out, uint64_t seed)
{
	*out = mc_xcalloc(1, sizeof **out);
	(*out)->seed = seed;
}

/* The right number of elements in the right order. */
static bool same_size(const struct mc_tensor *t, const struct mc_llama_tensor *want)
{
	if (want->rows)
		return t->dims == 2 && t->size[0] == want->rows && t->size[1] == want->cols;
	return t->dims == 1 && t->size[0] == want->cols;
}

static int check_one(const struct mc_safetensors *f, const struct mc_llama_tensor *want, struct mc_err *err)
{
	const struct mc_tensor *t = mc_safetensors_find(f, want->name);
	float x;

	if (!t)
		return mc_err_key(err, MC_USAGE, want->name, "is missing; expected it, with %d rows of %d",
				  want->rows, want->cols);
	if (!same_size(t, want))
		mc_err_set(err, MC_USAGE, "has %d dimensions and %lld numbers, %lld first; expected %d x %d",
			   t->dims, (long long)t->count, t->dims ? (long long)t->size[0] : 1LL,
			   want->rows ? want->rows : 1, want->cols);
	else if (mc_tensor_get(t, 0, 1, MC_F32, &x))
		mc_err_set(err, MC_USAGE, "holds %s; expected F32, BF16 or F16", t->dtype);
	else
		return 0;
	return mc_err_at(err, t->file, 0, 0, want->name), MC_USAGE;
}

/* Frequencies that older files carry along (buffers, no weights), or the second name of tied embeddings. */
static bool passed_over(const char *name, const struct mc_llama_shape *s)
{
	static const char buffer[] = ".rotary_emb.inv_freq";
	size_t n = strlen(name), m = sizeof buffer - 1;

	return (n > m && !strcmp(name + n - m, buffer)) || (s->tied && !strcmp(name, "lm_head.weight"));
}

static int order(const void *a, const void *b)
{
	return strcmp(((const struct mc_llama_tensor *)a)->name, ((const struct mc_llama_tensor *)b)->name);
}

static int check_files(const struct mc_safetensors *f, const struct mc_llama_shape *s, struct mc_err *err)
{
	size_t n = (size_t)mc_llama_tensors(s);
	struct mc_llama_tensor *want = mc_xmalloc(n * sizeof *want), key;
	int rc = 0;

	for (size_t i = 0; i < n; i++)
		mc_llama_tensor_at(s, (int)i, &want[i]);
	for (size_t i = 0; i < n && !rc; i++)
		rc = check_one(f, &want[i], err);
	qsort(want, n, sizeof *want, order);
	for (size_t i = 0; i < mc_safetensors_count(f) && !rc; i++) {
		const struct mc_tensor *t = mc_safetensors_at(f, i);

		memset(&key, 0, sizeof key);
		strncpy(key.name, t->name, sizeof key.name - 1);
		if (passed_over(t->name, s) ||
		    (strlen(t->name) < sizeof key.name && bsearch(&key, want, n, sizeof *want, order)))
			continue;
		rc = mc_err_set(err, MC_USAGE,
				"is no tensor of a LLaMA of %d layers; expected only those that it has",
				s->layers);
		mc_err_at(err, t->file, 0, 0, t->name);
	}
	free(want);
	return rc;
}

int mc_weights_files(struct mc_weights **out, const char *path, const struct mc_llama_shape *s,
		     struct mc_err *err)
{
	struct mc_safetensors *f;
	int rc = mc_safetensors_open(&f, path, err);

	*out = NULL;
	if (rc)
		return rc;
	rc = check_files(f, s, err);
	if (rc) {
		mc_err_at(err, path, 0, 0, NULL);
		mc_safetensors_close(f);
		return rc;
	}
	*out = mc_xcalloc(1, sizeof **out);
	(*out)->files = f;
	return 0;
}

/* Of the seed and a name: FNV-1a over the name, then mixed. */
static uint64_t stream_of(uint64_t seed, const char *name)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *name; name++)
		h = (h ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
	return mc_hash_pair(seed, h);
}

/* 24 bits, as a number from -1 to 1. */
static inline float uniform(uint32_t bits)
{
	return (float)((int32_t)bits >> 8) * 0x1p-23f;
}

/* Numbers first .. first + n - 1 of a stream; a hash makes two. */
static void uniforms(uint64_t stream, uint64_t first, float *x, int n)
{
	int i = 0;

	if (first & 1)
		x[i++] = uniform((uint32_t)(mc_hash_u64(stream + first / 2) >> 32));
	for (; i < n; i += 2) {
		uint64_t h = mc_hash_u64(stream + (first + (uint64_t)i) / 2);

		x[i] = uniform((uint32_t)h);
		if (i + 1 < n)
			x[i + 1] = uniform((uint32_t)(h >> 32));
	}
}

static void put_all(enum mc_dtype t, void *to, const float *x, int n)
{
	if (t == MC_F32)
		memcpy(to, x, (size_t)n * sizeof *x);
	else if (t == MC_BF16)
		for (int i = 0; i < n; i++)
			((uint16_t *)to)[i] = mc_bf16_of(x[i]);
	else
		for (int i = 0; i < n; i++)
			((uint16_t *)to)[i] = mc_f16_of(x[i]);
}

static void seeded_row(const struct mc_weights *w, const struct mc_weights_part *p, int row, char *to)
{
	const struct mc_llama_tensor *t = p->tensor;
	uint64_t stream = stream_of(w->seed, t->name), first;
	float scale = t->rows ? (float)sqrt(3.0 / t->cols) : 0.1f, middle = t->rows ? 0 : 1, x[SOME];

	first = (uint64_t)row * (uint64_t)t->cols + (uint64_t)p->col;
	for (int i = 0; i < p->cols; i += SOME) {
		int n = p->cols - i < SOME ? p->cols - i : SOME;

		uniforms(stream, first + (uint64_t)i, x, n);
		for (int k = 0; k < n; k++)
			x[k] = middle + scale * x[k];
		put_all(p->dtype, to + (size_t)i * mc_dtype_bytes(p->dtype), x, n);
	}
}

void mc_weights_get(const struct mc_weights *w, const struct mc_weights_part *p)
{
	const struct mc_llama_tensor *t = p->tensor;
	const struct mc_tensor *from = w->files ? mc_safetensors_find(w->files, t->name) : NULL;

	assert(p->row >= 0 && p->rows >= 0 && p->row + p->rows <= (t->rows ? t->rows : 1));
	assert(p->col >= 0 && p->cols >= 0 && p->col + p->cols <= t->cols);
	assert(!w->files || (from && same_size(from, t)));
	for (int r = 0; r < p->rows; r++) {
		char *to = (char *)p->to + (size_t)r * (size_t)p->cols * mc_dtype_bytes(p->dtype);
		int bad = 0;

		if (from)
			bad = mc_tensor_get(from, (int64_t)(p->row + r) * t->cols + p->col, p->cols, p->dtype,
					    to);
		else
			seeded_row(w, p, p->row + r, to);
		assert(!bad);
	}
}

void mc_weights_close(struct mc_weights *w)
{
	if (!w)
		return;
	mc_safetensors_close(w->files);
	free(w);
}
