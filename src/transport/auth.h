/*
 * Who is there: both sides of a new connection prove that they have the cluster's token, without showing it.
 * Each sends 32 random bytes; then who connected, and after it who was connected to, sends HMAC-SHA256 (RFC
 * 2104, from nettle) of both, of its part and of the connection's purpose. So a proof can neither be replayed
 * nor reflected, nor used for another purpose, and a stranger is shown nothing to guess tokens by. What goes
 * over the connection later is neither encrypted nor signed, as it is not over RDMA: the network is trusted
 * to hold no one who alters packets.
 */
#ifndef MC_TRANSPORT_AUTH_H
#define MC_TRANSPORT_AUTH_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define MC_TOKEN_MIN 16 /* bytes of a secret: fewer can be guessed */
#define MC_TOKEN_MAX 128

struct mc_token {
	uint8_t secret[MC_TOKEN_MAX];
	size_t n;
};

/* From text, or from the first line of a file (MC_USAGE: too short or too long). */
int mc_token_set(struct mc_token *t, const char *text, struct mc_err *err);
int mc_token_read(struct mc_token *t, const char *path, struct mc_err *err);

/* What a connection is for. */
enum mc_purpose { MC_PURPOSE_CONTROL = 1, MC_PURPOSE_TCP, MC_PURPOSE_SHM, MC_PURPOSE_VERBS, MC_PURPOSE_BARE };

/* On a connected socket, until `deadline` of mc_clock_ns(). MC_FAIL: the peer is gone, slow, or has another
 * token; nothing was sent to it by then that it could use. */
int mc_auth_connect(int fd, const struct mc_token *t, enum mc_purpose purpose, int64_t deadline,
		    struct mc_err *err);
int mc_auth_accept(int fd, const struct mc_token *t, enum mc_purpose purpose, int64_t deadline,
		   struct mc_err *err);

/* n bytes from the kernel's generator; MC_FAIL where it has none. */
int mc_auth_random(void *out, size_t n, struct mc_err *err);

#endif
