/*
 * What the fault matrix does its faults to: an engine that asks, here, and one that owns memory, in a process
 * of its own that can be killed and stopped, or (for what is false or cut within this process) here as well.
 * The owner's memory is shared with this process, which so sees every byte of it. A transfer writes the first
 * half of it and reads the second one.
 */
#ifndef MC_TESTS_MATRIX_WORLD_H
#define MC_TESTS_MATRIX_WORLD_H

#include <stdbool.h>
#include <sys/types.h>

#include "matrix.h"
#include "transport/engine.h"

enum { MATRIX_GUARD = 4096 };

struct matrix_owner {
	pid_t pid; /* 0: here */
	int to, from;
	struct mc_engine *e;
	char address[MC_ENGINE_ADDRESS];
};

struct matrix_world {
	const struct mc_transport *t;
	const char *const *names; /* of its ports, NULL at the end */
	struct mc_engine_want want;
	size_t bytes;
	bool must_fail; /* a transfer that was done before the fault came is followed by another */
	bool here;      /* the owner is */
	struct matrix_owner owner, spare; /* spare: to be opened at the owner's address when that is gone */
	struct mc_engine *e;
	uint32_t peer;
	struct mc_memory local, remote; /* with guards behind them */
	uint64_t seed;
	bool faulty;      /* there is a fault, until the recovery */
	bool failed;      /* the last transfer has */
	uint64_t checked; /* bytes, so far */
	uint64_t batch;
	int64_t fault; /* when it was */
	uint64_t before[MC_ENGINE_PORTS], resent;
};

/* Settings are in place: t, names, want, bytes, here. */
void matrix_open(struct matrix_world *w);
void matrix_close(struct matrix_world *w);

/* A transfer of new bytes begins; until some of them have moved. */
void matrix_begin(struct matrix_world *w);
/* The fault is now: what went over each port so far is remembered. */
void matrix_fault(struct matrix_world *w);
/* How it ended, with every byte checked: done, or failed with *s saying why. */
bool matrix_end(struct matrix_world *w, struct mc_batch_status *s);
/* Transfers until one is done; ns from the fault to its end. Asks the peer again before each. */
int64_t matrix_recover(struct matrix_world *w);
/* Bytes that went over a port since the fault. */
uint64_t matrix_over(struct matrix_world *w, size_t port);
uint64_t matrix_resent(struct matrix_world *w);

/* The owner takes its memory away, or gives it back. */
void matrix_unregister(struct matrix_world *w);
void matrix_register(struct matrix_world *w);
/* It is killed; another one comes at its address. */
void matrix_kill(struct matrix_world *w);
void matrix_restart(struct matrix_world *w);

/* Ends the program: something is not as it must be. */
_Noreturn void matrix_die(const char *what, const char *why);

#endif
