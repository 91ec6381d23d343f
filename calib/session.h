/*
 * A run of mooncake-calib: a file of samples that grows point by point, a budget of time, a line of progress.
 *
 * Samples reach the file as soon as they are added, a point's all at once, so that whatever ends the run, all
 * that was measured is there. A later run with the same device, software, format and model goes on from the
 * file; flagged samples don't count as measured.
 */
#ifndef MC_CALIB_SESSION_H
#define MC_CALIB_SESSION_H

#include <stdbool.h>
#include <stdio.h>

#include "hw/opsamples.h"

struct mc_calib_session_want {
	const char *path; /* of the file; its folder is made where it is missing */
	bool fresh;       /* what is there goes */
	double budget_s;
	bool quiet; /* no progress */
	/* Head of the file; its samples are ignored. Borrowed while it is opened. */
	const struct mc_opsamples *head;
	const char *comments; /* more of it: whole lines that begin with "# ", or NULL */
};

struct mc_calib_session {
	struct mc_opsamples all; /* what the file holds, in its order */
	size_t before;           /* of those, how many were there */
	char *path, *comments;
	FILE *fp;
	double started, budget_s;
	bool terminal;
	double shown;
};

/* MC_USAGE: the file holds samples of something else (and `fresh` is not given), or can't be read; MC_FAIL:
 * can't be written. *s needs _close only on success. */
int mc_calib_session_open(struct mc_calib_session *s, const struct mc_calib_session_want *want,
			  struct mc_err *err);
void mc_calib_session_close(struct mc_calib_session *s);

/* The last sample of that point which has no flag, or NULL. */
const struct mc_opsample *mc_calib_session_find(const struct mc_calib_session *s,
						const struct mc_op_point *p);
/* How many samples of that point have no flag; *flagged: how many have one. */
size_t mc_calib_session_count(const struct mc_calib_session *s, const struct mc_op_point *p, size_t *flagged);
/* Append n samples (line is ignored). MC_FAIL: the disk is full, or so. */
int mc_calib_session_add(struct mc_calib_session *s, const struct mc_opsample *p, size_t n,
			 struct mc_err *err);
/* Flag all unflagged samples from number `from` of s->all on; the file is written anew. */
int mc_calib_session_flag(struct mc_calib_session *s, size_t from, const char *flag, struct mc_err *err);

/* Seconds of the budget that are left, from 0; and those that have passed. */
double mc_calib_session_left_s(const struct mc_calib_session *s);
double mc_calib_session_elapsed_s(const struct mc_calib_session *s);

/* On a terminal: `done` of `total` points, time to go, and what is measured now. */
void mc_calib_session_progress(struct mc_calib_session *s, size_t done, size_t total, const char *now);
/* The line away, before something else is printed. */
void mc_calib_session_clear(const struct mc_calib_session *s);

/* "2026-11-30", of today (UTC). */
void mc_calib_today(char text[16]);

#endif
