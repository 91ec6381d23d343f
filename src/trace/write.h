/* Writing Mooncake's JSON lines: to a file that appears whole or not at all, compressed when its name ends in
 * .zst. */
#ifndef MC_TRACE_WRITE_H
#define MC_TRACE_WRITE_H

#include <signal.h>

#include "base/file.h"
#include "base/str.h"
#include "trace/store.h"

struct mc_trace_writer {
	struct mc_file file;
	void *zstd; /* ZSTD_CStream, NULL when plain */
	char *out;  /* compressed bytes on their way */
	size_t out_size;
	int failed;         /* errno of the first write that failed: nothing is written after it */
	struct mc_str text; /* not yet written */
	const volatile sig_atomic_t *stop; /* nothing more is written once it is not 0; may be NULL */
};

struct mc_trace_row {
	mc_time arrival;
	uint32_t input, output; /* tokens */
	const uint64_t *ids;
	uint64_t n_ids;
	int64_t chat, parent; /* its id and the parent's, or -1; chat -1: the fields are left out */
};

/* path "-" is stdout. Set stop afterwards, where there is one: EINTR is then the error of the close. */
int mc_trace_writer_open(struct mc_trace_writer *w, const char *path, struct mc_err *err);
/* Append a request. Errors are kept for the close. The timestamp is exact: as many decimals of a ms as it
 * takes. */
void mc_trace_writer_put(struct mc_trace_writer *w, const struct mc_trace_row *row);
/* Finish: the file is there, or an error (MC_FAIL) says why not. */
int mc_trace_writer_close(struct mc_trace_writer *w, struct mc_err *err);

/* A whole trace. stop: see above. */
int mc_trace_write(const struct mc_trace *t, const char *path, const volatile sig_atomic_t *stop,
		   struct mc_err *err);

#endif
