/*
 * Takes connections, and lets in who has the token. Each connection proves itself in a short thread of its
 * own, so that a slow stranger holds up nobody; of those there is a limit, beyond which the kernel's queue
 * waits.
 */
#ifndef MC_TRANSPORT_LISTENER_H
#define MC_TRANSPORT_LISTENER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "transport/auth.h"

struct mc_listener;

struct mc_listener_want {
	const char *address;
	struct mc_token token;
	enum mc_purpose purpose;
	uint32_t pending;
	int64_t timeout_ns; /* of the proof and of accepted() */
	/* A peer that has proved itself. Ends by the deadline. True: keeps fd, false: it is closed. */
	bool (*accepted)(void *arg, int fd, int64_t deadline);
	void *arg;
};

int mc_listener_open(struct mc_listener **out, const struct mc_listener_want *want, struct mc_err *err);
const char *mc_listener_address(const struct mc_listener *l);
/* Waits for accepted() in progress, whose sockets are shut down. NULL is fine. */
void mc_listener_close(struct mc_listener *l);

#endif
