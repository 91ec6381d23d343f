#include "trace/write.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "base/vec.h"

#define WRITE_CHUNK ((size_t)1 << 16)

int mc_trace_writer_open(struct mc_trace_writer *w, const char *path, struct mc_err *err)
{
	size_t n = strlen(path);
	int rc;

	memset(w, 0, sizeof *w);
	rc = mc_file_create(&w->file, path, err);
	if (rc)
		return rc;
	if (n > 4 && !strcmp(path + n - 4, ".zst")) {
		w->zstd = ZSTD_createCCtx();
		if (!w->zstd) {
			mc_file_abort(&w->file);
			return mc_err_set(err, MC_FAIL, "out of memory for zstd");
		}
		ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_compressionLevel, 12);
		ZSTD_CCtx_setParameter(w->zstd, ZSTD_c_checksumFlag, 1);
		w->out_size = ZSTD_CStreamOutSize();
		w->out = mc_xmalloc(w->out_size);
	}
	return 0;
}

static void put(struct mc_trace_writer *w, const char *bytes, size_t n)
{
	errno = 0;
	if (!w->failed && fwrite(bytes, 1, n, w->file.fp) < n)
		w->failed = errno ? errno : EIO;
}

static void flush(struct mc_trace_writer *w, ZSTD_EndDirective end)
{
	ZSTD_inBuffer in = {w->text.at, w->text.n, 0};
	size_t left = 1;

	if (!w->zstd)
		put(w, w->text.at, w->text.n);
	while (w->zstd && !w->failed && (end == ZSTD_e_end ? left > 0 : in.pos < in.size)) {
		ZSTD_outBuffer out = {w->out, w->out_size, 0};

		left = ZSTD_compressStream2(w->zstd, &out, &in, end);
		if (ZSTD_isError(left))
			w->failed = ENOMEM; /* the only way it can */
		put(w, w->out, out.pos);
	}
	mc_str_cut(&w->text, 0);
}

/* printf is a third of the time of a big trace. */
static void add_u64(struct mc_str *s, uint64_t v)
{
	char buf[20], *p = buf + sizeof buf;

	do
		*--p = (char)('0' + v % 10);
	while (v /= 10);
	mc_str_add(s, p, (size_t)(buf + sizeof buf - p));
}

static void add_ms(struct mc_str *s, mc_time t)
{
	int64_t rest = t % MC_NS_PER_MS;
	char buf[16];
	int n;

	add_u64(s, (uint64_t)(t / MC_NS_PER_MS));
	if (!rest)
		return;
	n = snprintf(buf, sizeof buf, ".%06d", (int)rest);
	while (buf[n - 1] == '0')
		n--;
	mc_str_add(s, buf, (size_t)n);
}

#define ADD(s, literal) mc_str_add(s, literal, sizeof literal - 1)

void mc_trace_writer_put(struct mc_trace_writer *w, const struct mc_trace_row *row)
{
	struct mc_str *s = &w->text;

	if (!w->failed && w->stop && *w->stop)
		w->failed = EINTR;
	if (w->failed)
		return;
	ADD(s, "{\"timestamp\": ");
	add_ms(s, row->arrival);
	ADD(s, ", \"input_length\": ");
	add_u64(s, row->input);
	ADD(s, ", \"output_length\": ");
	add_u64(s, row->output);
	ADD(s, ", \"hash_ids\": [");
	for (uint64_t i = 0; i < row->n_ids; i++) {
		if (i)
			ADD(s, ", ");
		add_u64(s, row->ids[i]);
	}
	ADD(s, "]");
	if (row->chat >= 0) {
		ADD(s, ", \"chat_id\": ");
		add_u64(s, (uint64_t)row->chat);
		ADD(s, ", \"parent_chat_id\": ");
		if (row->parent < 0)
			ADD(s, "-1");
		else
			add_u64(s, (uint64_t)row->parent);
	}
	ADD(s, "}\n");
	if (s->n >= WRITE_CHUNK)
		flush(w, ZSTD_e_continue);
}

int mc_trace_writer_close(struct mc_trace_writer *w, struct mc_err *err)
{
	if (w->text.n || w->zstd)
		flush(w, ZSTD_e_end);
	ZSTD_freeCCtx(w->zstd);
	free(w->out);
	mc_str_fini(&w->text);
	if (w->failed) {
		int rc;

		errno = w->failed;
		rc = mc_err_errno(err, MC_FAIL, "cannot write");
		mc_err_at(err, w->file.path ? w->file.path : "<stdout>", 0, 0, NULL);
		mc_file_abort(&w->file);
		return rc;
	}
	return mc_file_commit(&w->file, err);
}

int mc_trace_write(const struct mc_trace *t, const char *path, const volatile sig_atomic_t *stop,
		   struct mc_err *err)
{
	struct mc_trace_writer w;
	int rc = mc_trace_writer_open(&w, path, err);

	if (rc)
		return rc;
	w.stop = stop;
	for (int64_t i = 0; i < t->n; i++) {
		struct mc_trace_row row = {t->arrival[i],
					   t->input[i],
					   t->output[i],
					   t->block + t->first[i],
					   mc_trace_blocks(t, i),
					   t->parent ? i : -1,
					   t->parent ? t->parent[i] : -1};

		mc_trace_writer_put(&w, &row);
	}
	return mc_trace_writer_close(&w, err);
}
