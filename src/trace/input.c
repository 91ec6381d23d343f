#include "trace/input.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "base/vec.h"

#define INPUT_CHUNK ((size_t)1 << 17)

static int fail(struct mc_input *in, struct mc_err *err)
{
	mc_err_at(err, in->name, in->line + 1, 0, NULL);
	return err ? err->rc : MC_USAGE;
}

/* Up to n bytes of the file; 0 at its end, -1 on an error. */
static ssize_t read_some(struct mc_input *in, char *to, size_t n, struct mc_err *err)
{
	ssize_t got;

	do
		got = read(in->fd, to, n);
	while (got < 0 && errno == EINTR);
	if (got < 0) {
		mc_err_errno(err, MC_USAGE, "cannot read");
		mc_err_at(err, in->name, 0, 0, NULL);
	} else {
		in->raw_read += (uint64_t)got;
	}
	return got;
}

static int truncated(struct mc_input *in, struct mc_err *err)
{
	mc_err_set(err, MC_USAGE, "the zstd data end inside a frame, after %llu bytes; expected a whole file",
		   (unsigned long long)in->raw_read);
	return fail(in, err);
}

/* Decompress into to; *got is 0 only at the end of the file. */
static int inflate(struct mc_input *in, char *to, size_t n, size_t *got, struct mc_err *err)
{
	ZSTD_outBuffer out = {to, n, 0};

	while (!out.pos) {
		ZSTD_inBuffer src = {in->raw, in->raw_n, in->raw_at};
		size_t left;

		if (src.pos == src.size && !in->ended) {
			ssize_t r = read_some(in, in->raw, INPUT_CHUNK, err);

			if (r < 0)
				return err ? err->rc : MC_USAGE;
			in->ended = r == 0;
			src.size = in->raw_n = (size_t)r;
			src.pos = in->raw_at = 0;
		}
		/* With no input left, data that did not fit into the last output may still come. */
		if (src.pos == src.size && in->ended && !in->in_frame)
			break;
		left = ZSTD_decompressStream(in->zstd, &out, &src);
		if (ZSTD_isError(left)) {
			mc_err_set(err, MC_USAGE, "corrupt zstd data in bytes %llu to %llu: %s",
				   (unsigned long long)(in->raw_read - in->raw_n + in->raw_at + 1),
				   (unsigned long long)in->raw_read, ZSTD_getErrorName(left));
			return fail(in, err);
		}
		if (!out.pos && src.size == src.pos && in->ended && left)
			return truncated(in, err);
		in->raw_at = src.pos;
		in->in_frame = left != 0;
	}
	*got = out.pos;
	return 0;
}

/* Append to buf what fits; *got is 0 at the end. */
static int fill(struct mc_input *in, size_t *got, struct mc_err *err)
{
	ssize_t r;

	if (in->at) {
		memmove(in->buf, in->buf + in->at, in->n - in->at);
		in->n -= in->at;
		in->at = 0;
	}
	if (in->cap - in->n < INPUT_CHUNK)
		in->buf = mc_vec_grow(in->buf, &in->cap, in->n + INPUT_CHUNK, 1);
	*got = 0;
	if (in->zstd) {
		int rc = inflate(in, in->buf + in->n, in->cap - in->n, got, err);

		in->n += *got;
		return rc;
	}
	if (in->ended)
		return 0;
	r = read_some(in, in->buf + in->n, in->cap - in->n, err);
	if (r < 0)
		return err ? err->rc : MC_USAGE;
	in->ended = r == 0;
	*got = (size_t)r;
	in->n += *got;
	return 0;
}

static bool is_zstd(const unsigned char *b, size_t n)
{
	uint32_t magic;

	if (n < 4)
		return false;
	magic = b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
	return magic == ZSTD_MAGICNUMBER || (magic & ZSTD_MAGIC_SKIPPABLE_MASK) == ZSTD_MAGIC_SKIPPABLE_START;
}

/* Read the first bytes and see what they are. */
static int sniff(struct mc_input *in, struct mc_err *err)
{
	size_t got = 1;
	int rc;

	while (got && in->n < 4) { /* a pipe may give one byte at a time */
		rc = fill(in, &got, err);
		if (rc)
			return rc;
	}
	if (in->n >= 2 && !memcmp(in->buf, "\x1f\x8b", 2)) {
		mc_err_set(err, MC_USAGE, "is compressed with gzip; expected plain text or zstd");
		return mc_err_at(err, in->name, 0, 0, NULL);
	}
	if (is_zstd((const unsigned char *)in->buf, in->n)) {
		in->zstd = ZSTD_createDStream();
		if (!in->zstd)
			return mc_err_set(err, MC_FAIL, "out of memory for zstd");
		in->raw = in->buf;
		in->raw_n = in->n;
		in->buf = NULL;
		in->n = in->cap = 0;
		return 0;
	}
	return 0;
}

int mc_input_open(struct mc_input *in, const char *path, struct mc_err *err)
{
	bool is_stdin = !strcmp(path, "-");
	struct stat st;
	int rc;

	memset(in, 0, sizeof *in);
	in->name = is_stdin ? "<stdin>" : path;
	in->fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	if (in->fd < 0) {
		rc = mc_err_errno(err, MC_USAGE, "cannot open");
		mc_err_at(err, in->name, 0, 0, NULL);
		return rc;
	}
	if (!fstat(in->fd, &st) && S_ISDIR(st.st_mode)) {
		rc = mc_err_set(err, MC_USAGE, "is a directory; expected a file");
		mc_err_at(err, in->name, 0, 0, NULL);
	} else {
		rc = sniff(in, err);
	}
	if (rc)
		mc_input_close(in);
	return rc;
}

void mc_input_close(struct mc_input *in)
{
	if (in->fd > STDIN_FILENO)
		close(in->fd);
	ZSTD_freeDStream(in->zstd);
	free(in->raw);
	free(in->buf);
	memset(in, 0, sizeof *in);
	in->fd = -1;
}

int mc_input_line(struct mc_input *in, const char **line, size_t *n, struct mc_err *err)
{
	size_t got = 1, len;
	char *nl = NULL;

	for (;;) {
		char *from = in->buf ? in->buf + in->at + in->searched : NULL;

		if (in->n > in->at + in->searched)
			nl = memchr(from, '\n', in->n - in->at - in->searched);
		in->searched = in->n - in->at;
		if (nl || !got)
			break;
		if (in->searched > MC_INPUT_LINE_MAX) {
			mc_err_set(err, MC_USAGE, "a line of more than %zu MiB; expected one record a line",
				   MC_INPUT_LINE_MAX >> 20);
			return fail(in, err);
		}
		if (fill(in, &got, err))
			return err ? err->rc : MC_USAGE;
	}
	*line = NULL;
	*n = 0;
	if (!nl && in->n == in->at)
		return 0;
	*line = in->buf + in->at;
	len = nl ? (size_t)(nl - *line) : in->n - in->at;
	in->at += len + (nl != NULL);
	in->searched = 0;
	len -= len && (*line)[len - 1] == '\r';
	if (!in->line++ && len >= 3 && !memcmp(*line, "\xef\xbb\xbf", 3)) {
		*line += 3;
		len -= 3;
	}
	*n = len;
	return 0;
}
