/* Shared by the tests of the trace room. */
#ifndef MC_TESTS_TRACE_UNIT_H
#define MC_TESTS_TRACE_UNIT_H

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ck_assert for hot loops: Check's own reports every pass to the parent process. */
#define HOLDS(c, fmt, ...)                                                                                   \
	do {                                                                                                 \
		if (!(c))                                                                                    \
			ck_abort_msg("%s: " fmt, #c, ##__VA_ARGS__);                                         \
	} while (0)

/* A temporary file in the working directory (the build tree). */
struct trace_file {
	char path[32];
};

static inline void trace_file_write(struct trace_file *f, const void *data, size_t n)
{
	int fd;

	strcpy(f->path, "trace_test.XXXXXX");
	fd = mkstemp(f->path);
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, data, n), (ssize_t)n);
	close(fd);
}

static inline void trace_file_text(struct trace_file *f, const char *text)
{
	trace_file_write(f, text, strlen(text));
}

#endif
