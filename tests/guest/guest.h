/*
 * What the files of test_verbs_guest share: memory with a model of it, peers that are processes of their own,
 * batches of random requests, and faults in the middle of them.
 */
#ifndef MC_TESTS_GUEST_H
#define MC_TESTS_GUEST_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/time.h"
#include "transport/engine.h"
#include "transport/sock.h"

#define MS(x) ((x)*MC_NS_PER_MS)

enum {
	GUARD = 65536, /* bytes before and after a memory, which nobody may touch */
	PORTS = 4,
	PEERS = 4,
	REQUESTS = 4096,
};

/* A memory and what must be in it. */
struct store {
	uint8_t *at, *model, *next; /* model: before the batch under way, next: after it */
	uint8_t *spare;             /* after the one that comes then */
	size_t bytes;
	int fd;        /* memfd with the guards */
	uint64_t base; /* in the process that registers it */
};

/* fd: of one that is there already, or -1. Exits where there is no memory. */
void store_open(struct store *s, size_t bytes, int fd);
void store_close(struct store *s);
void store_fill(struct store *s, uint64_t *rng);
/* Every byte is the model's, or (mixed) the model's or the next one's, which then is the model. Guards are
 * whole. False: no; *at says where. */
bool store_check(struct store *s, bool mixed, size_t *at);
bool store_guards(const struct store *s, size_t *at);

/* A process that lets its memory be used. */
struct peer {
	pid_t pid;
	int in, out; /* its stdin and stdout */
	struct store mem;
	char address[MC_ENGINE_ADDRESS];
	uint32_t number; /* at the asking engine */
};

/* Start it with these ports ("NAME,NAME"), at p->address. False: it didn't start. */
bool peer_start(struct peer *p, const char *ports, const char *token);
/* Have it unregister its memory ('u'), or register it ('r'). False: it couldn't, or is not there. */
bool peer_tell(struct peer *p, char what);
/* By that signal, or (0) by being asked to. False: that took too long, or it was not well. */
bool peer_end(struct peer *p, int signal);
/* The process: peer FD BYTES ADDRESS TOKEN PORTS. */
int peer_main(char **argv);

/* An engine that asks, and its peers. */
struct rig {
	struct mc_engine_want want;
	struct mc_engine *e;
	struct store local;
	struct peer peer[PEERS];
	size_t peers;
	const char *its; /* ports of the peers */
	uint64_t rng;
};

struct mc_engine *engine_open(struct mc_engine_want *want, const char *ports, struct mc_err *err);
/* Defaults with the token and the times of these tests. */
void want_init(struct mc_engine_want *want, const char *token);
/* Everything is opened and knows each other. False: not; said why. */
bool rig_open(struct rig *r, const char *mine, const char *its, size_t bytes);
/* False: a peer was not well, or a byte is not the model's. */
bool rig_close(struct rig *r);
/* Ask all peers anew, whoever they are now. */
bool rig_meet(struct rig *r, struct mc_err *err);

/* Random requests of both kinds between local and all peers; no byte is in two of them. */
struct batch {
	struct mc_request request[REQUESTS];
	size_t n;
	uint64_t id;
	int64_t fault, moved; /* when: the fault; bytes came last */
	int64_t pause;        /* the longest since the fault in which none came */
	struct mc_batch_status status;
};

/* Make one up, that comes after the one that is under way; and start it, when that is done. False: it wasn't
 * taken; said why. */
void batch_cut(struct rig *r, struct batch *b);
bool batch_go(struct rig *r, struct batch *b);
bool batch_start(struct rig *r, struct batch *b); /* both */
/* Look at it: true while it is pending. */
bool batch_look(struct rig *r, struct batch *b);
/* Until it has ended, at most so long. False: it hasn't. */
bool batch_end(struct rig *r, struct batch *b, int64_t ns);
/* All bytes as they should be; how many, or 0. */
uint64_t batch_check(struct rig *r, struct batch *b);

/* One line a check, as checks.sh passes them on. The reason is of printf's form. */
void say_ok(const char *name);
void say_not_ok(const char *name, const char *why, ...) __attribute__((format(printf, 2, 3)));

int faults_main(void);
int serve_main(char **argv);
int hosts_main(char **argv);
int bench_main(char **argv);

#endif
