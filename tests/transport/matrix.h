/*
 * The fault matrix: a line for each fault and transport, of one form wherever it comes from (the fakes,
 * sockets of this host, a guest with Soft-RoCE):
 *
 *     matrix: fault | transport | what happened | bytes checked | recovery s
 *
 * what happened: "done over another path", "done over the same path again", "done, resent" (over either), or
 * "failed: REASON"; all bytes that were checked are as a model says, or the program that prints the line
 * fails. recovery: from the fault to the end of the first batch that is done after it or after its end; "-"
 * where there is none to be had.
 */
#ifndef MC_TESTS_MATRIX_H
#define MC_TESTS_MATRIX_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#define MATRIX_HEAD "matrix: fault | transport | what happened | bytes checked | recovery s"

/* recovery_ns negative: none. */
static inline void matrix_line(const char *fault, const char *transport, const char *what, uint64_t bytes,
			       int64_t recovery_ns)
{
	printf("matrix: %s | %s | %s | %" PRIu64 " | ", fault, transport, what, bytes);
	if (recovery_ns < 0)
		printf("-\n");
	else
		printf("%.3f\n", (double)recovery_ns / 1e9);
	fflush(stdout);
}

#endif
