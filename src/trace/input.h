/*
 * Bytes and lines of a file, of stdin ("-"), or of either compressed with zstd, which is recognised by its
 * magic number, whatever the name. Any number of zstd frames may follow one another.
 */
#ifndef MC_TRACE_INPUT_H
#define MC_TRACE_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define MC_INPUT_LINE_MAX ((size_t)64 << 20) /* bytes of one line; a longer one is an error */

struct mc_input {
	const char *name; /* for messages: the path, or "<stdin>" */
	int fd;
	void *zstd;    /* ZSTD_DStream, NULL when plain */
	bool in_frame; /* inside a zstd frame: the end of file would be a truncation */
	bool ended;    /* no more bytes from the file */
	char *raw;     /* compressed bytes [raw_at, raw_n) not yet decompressed */
	size_t raw_at, raw_n;
	uint64_t raw_read; /* bytes read from the file so far */
	char *buf;         /* text [at, n) not yet returned; cap bytes */
	size_t at, n, cap;
	size_t searched; /* bytes of [at, n) known to hold no newline */
	long line;       /* lines returned so far: the number of the last one */
};

/* path is borrowed. */
int mc_input_open(struct mc_input *in, const char *path, struct mc_err *err);
void mc_input_close(struct mc_input *in);

/*
 * The next line, without its newline, a carriage return before that, and a byte order mark before the first
 * line. NUL bytes are kept. *line is NULL at the end, and is valid until the next call. The last line may
 * lack a newline.
 */
int mc_input_line(struct mc_input *in, const char **line, size_t *n, struct mc_err *err);

#endif
