/*
 * Bytes over plain sockets, as fast as they go: what the TCP transport is measured against. The other process
 * has a thread a connection, which receives into and sends from the memory itself; this one has a thread a
 * stream, the first being the caller's.
 */
#ifndef MC_TESTS_RAW_STREAMS_H
#define MC_TESTS_RAW_STREAMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RAW_STREAMS = 16 };

/* In the process that has the memory: takes connections in a thread. Returns the port. */
int raw_serve(uint8_t *memory);

struct raw;

/* zero: what is written is sent by MSG_ZEROCOPY. */
struct raw *raw_open(int port, unsigned streams, bool zero);
void raw_close(struct raw *r);

/* Move [at, at + bytes) between local and the other's memory, which both have it at the same place. */
struct raw_job {
	bool write;
	uint8_t *local;
	size_t at, bytes;
};

void raw_do(struct raw *r, const struct raw_job *j);

#endif
