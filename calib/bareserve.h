/*
 * Serves plain sockets beside an engine, for who measures what a network does without one: reads of the
 * source and writes to the target of a memory, asked for one after the other.
 *
 * A question, little-endian: op (1: read, 2: write), 7 x 0, offset (8 bytes), bytes (8); then what is
 * written. Its answer: the bytes that are read, or one byte when they are written. Who connects has the
 * cluster's token; whatever it asks, nothing outside of the source is read, nor outside of the target
 * written, and no more than MC_BARE_CONNECTIONS are served.
 */
#ifndef MC_CALIB_BARESERVE_H
#define MC_CALIB_BARESERVE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "calib/netmemory.h"
#include "transport/auth.h"

enum { MC_BARE_READ = 1, MC_BARE_WRITE = 2, MC_BARE_QUESTION = 24, MC_BARE_CONNECTIONS = 64 };

struct mc_bareserve;

struct mc_bareserve_want {
	const char *host;
	struct mc_token token;
	const struct mc_netmemory *memory; /* of the host; outlives it */
};

int mc_bareserve_open(struct mc_bareserve **out, const struct mc_bareserve_want *want, struct mc_err *err);
const char *mc_bareserve_address(const struct mc_bareserve *b);
/* Connections end. NULL is fine. */
void mc_bareserve_close(struct mc_bareserve *b);

/* A socket that waits, at most `seconds` for each step. */
void mc_bare_prepare(int fd, int seconds);
/* All n bytes; false: the peer is gone, or slow. */
bool mc_bare_send(int fd, const void *at, size_t n);
bool mc_bare_recv(int fd, void *at, size_t n);

#endif
