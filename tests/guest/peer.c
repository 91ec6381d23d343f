/* A peer: a process of its own that registers a memory and does nothing more than it is told to. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "guest.h"

extern char **environ;

enum { PATIENCE_MS = 20000 };

void want_init(struct mc_engine_want *want, const char *token)
{
	mc_engine_defaults(want);
	if (mc_token_set(&want->token, token, NULL))
		abort();
	/* An emulated machine on a busy one: what takes a second here takes a millisecond elsewhere. */
	want->connect_timeout_ns = MS(3000);
	want->slice_timeout_ns = MS(10000);
	want->batch_timeout_ns = MS(30000);
	want->retries = 8;
}

struct mc_engine *engine_open(struct mc_engine_want *want, const char *ports, struct mc_err *err)
{
	struct mc_engine_port port[PORTS];
	struct mc_engine *e;
	char names[256], *name, *rest;
	size_t n = 0;

	snprintf(names, sizeof names, "%s", ports);
	for (name = strtok_r(names, ",", &rest); name && n < PORTS; name = strtok_r(NULL, ",", &rest))
		port[n++] =
		    (struct mc_engine_port){.transport = mc_transport_find("verbs", NULL), .name = name};
	want->port = port;
	want->ports = n;
	return mc_engine_open(&e, want, err) ? NULL : e;
}

/* A line of the peer, at most n bytes with the NUL; false: none within the time. */
static bool line_of(struct peer *p, char *out, size_t n)
{
	size_t k = 0;

	while (k + 1 < n) {
		struct pollfd f = {.fd = p->out, .events = POLLIN};

		if (poll(&f, 1, PATIENCE_MS) <= 0 || read(p->out, out + k, 1) != 1)
			break;
		if (out[k] == '\n') {
			out[k] = 0;
			return true;
		}
		k++;
	}
	out[k] = 0;
	return false;
}

bool peer_start(struct peer *p, const char *ports, const char *token)
{
	char fd[16], bytes[32], said[256], peer[] = "peer", *names = strdup(ports), *secret = strdup(token);
	char *argv[] = {peer, peer, fd, bytes, p->address, secret, names, NULL};
	posix_spawn_file_actions_t files;
	int in[2], out[2], rc;
	size_t at;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return false;
	snprintf(fd, sizeof fd, "%d", p->mem.fd);
	snprintf(bytes, sizeof bytes, "%zu", p->mem.bytes);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, in[0], 0);
	posix_spawn_file_actions_adddup2(&files, out[1], 1);
	rc = posix_spawn(&p->pid, "/proc/self/exe", &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	free(names);
	free(secret);
	close(in[0]);
	close(out[1]);
	p->in = in[1];
	p->out = out[0];
	if (rc || !line_of(p, said, sizeof said) || strncmp(said, "at ", 3) != 0) {
		printf("a peer doesn't start: %s\n", rc ? strerror(rc) : said);
		return false;
	}
	at = strcspn(said + 3, " ");
	snprintf(p->address, sizeof p->address, "%.*s", (int)at, said + 3);
	p->mem.base = strtoull(said + 3 + at, NULL, 10);
	return true;
}

bool peer_tell(struct peer *p, char what)
{
	char said[64];

	return write(p->in, &what, 1) == 1 && line_of(p, said, sizeof said) && !strcmp(said, "done");
}

bool peer_end(struct peer *p, int signal)
{
	bool well = true;
	int status = 0;

	if (!p->pid)
		return true;
	if (signal)
		kill(p->pid, signal);
	close(p->in);
	for (int left = PATIENCE_MS / 10; waitpid(p->pid, &status, WNOHANG) == 0; left--) {
		if (!left) {
			well = false;
			kill(p->pid, SIGKILL);
		}
		nanosleep(&(struct timespec){.tv_nsec = MS(10)}, NULL);
	}
	well &= signal ? WIFSIGNALED(status) : WIFEXITED(status) && !WEXITSTATUS(status);
	close(p->out);
	p->pid = 0;
	return well;
}

int peer_main(char **argv)
{
	struct mc_engine_want want;
	struct mc_engine *e;
	struct store mem;
	struct mc_memory m = {.fd = -1};
	struct mc_err err = {0};
	char what;

	signal(SIGPIPE, SIG_IGN);
	want_init(&want, argv[5]);
	want.address = argv[4];
	store_open(&mem, strtoull(argv[3], NULL, 10), atoi(argv[2]));
	m.base = mem.at;
	m.bytes = mem.bytes;
	e = engine_open(&want, argv[6], &err);
	if (!e || mc_engine_register(e, &m, MC_ACCESS_READ | MC_ACCESS_WRITE, &err)) {
		printf("%s\n", err.text);
		return 1;
	}
	printf("at %s %llu\n", mc_engine_address(e), (unsigned long long)(uintptr_t)mem.at);
	fflush(stdout);
	while (read(0, &what, 1) == 1) {
		int rc = what == 'u' ? mc_engine_unregister(e, mem.at, &err)
				     : mc_engine_register(e, &m, MC_ACCESS_READ | MC_ACCESS_WRITE, &err);

		printf("%s\n", rc ? err.text : "done");
		fflush(stdout);
	}
	mc_engine_close(e);
	store_close(&mem);
	return 0;
}
