/* Sockets with deadlines: "HOST:PORT" ("[::1]:80" for IPv6) by TCP, "@NAME" for a Unix socket of this host.
 */
#ifndef MC_TRANSPORT_SOCK_H
#define MC_TRANSPORT_SOCK_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define MC_SOCK_ADDRESS 160 /* bytes of an address with its NUL */

/* Monotonic time, ns. */
int64_t mc_clock_ns(void);

/* The address of a network interface of that name, or the name itself where there is none; "" if it has no
 * address that others could connect to. */
void mc_sock_interface(const char *name, char *out, size_t n);

/* A listening socket; out: its address with the port that was taken, numeric. */
int mc_sock_listen(int *fd, const char *address, char out[MC_SOCK_ADDRESS], struct mc_err *err);
/* Whether no name has to be looked up for it, which may take any time: MC_FAIL otherwise. For addresses that
 * a peer tells. */
int mc_sock_numeric(const char *address, struct mc_err *err);
/* A connected one, not blocking, without Nagle's delay; from: local host to connect from, or NULL. */
int mc_sock_connect(int *fd, const char *address, const char *from, int64_t deadline, struct mc_err *err);
/* As those of mc_sock_connect. */
void mc_sock_prepare(int fd);

/* All n bytes, or MC_FAIL: too late, or the peer is gone. */
int mc_sock_send(int fd, const void *at, size_t n, int64_t deadline, struct mc_err *err);
int mc_sock_recv(int fd, void *at, size_t n, int64_t deadline, struct mc_err *err);

/* A message of 0 .. most bytes after its length. *at is the caller's to free, NUL-terminated. */
int mc_sock_send_message(int fd, const void *at, size_t n, int64_t deadline, struct mc_err *err);

struct mc_sock_message {
	uint8_t *at;
	size_t n;
};

int mc_sock_recv_message(int fd, struct mc_sock_message *m, size_t most, int64_t deadline,
			 struct mc_err *err);

#endif
