/*
 * Trace formats: one file format_NAME.c defining mc_trace_format_NAME, and its name in TRACE_FORMATS of
 * local.mk. A format turns lines into requests; the reader finds the lines, counts bad records and names file
 * and line.
 */
#ifndef MC_TRACE_FORMAT_H
#define MC_TRACE_FORMAT_H

#include <stddef.h>

#include "base/err.h"
#include "trace/reader.h"

struct mc_trace_format {
	const char *name;
	const char *help; /* one line */
	/* How sure is it that a file whose first line is this is of the format? 0 (not) to 100. */
	int (*sniff)(const char *line, size_t n);
	/* State for one file; params are borrowed until close. */
	void *(*open)(const struct mc_trace_params *params);
	/*
	 * Append the requests of a line (not blank), or none for a heading. On MC_USAGE the record is bad,
	 * nothing was appended and reading may go on; the error carries key and column, where known, but
	 * neither file nor line.
	 */
	int (*line)(void *state, const char *line, size_t n, struct mc_trace *t, struct mc_err *err);
	void (*close)(void *state);
};

/* NULL-terminated, sorted by name; generated from local.mk. */
extern const struct mc_trace_format *const mc_trace_formats[];

const struct mc_trace_format *mc_trace_format_find(const char *name); /* NULL: none of that name */

#endif
