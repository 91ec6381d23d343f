#include "transport/sock.h"

#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "base/vec.h"
#include "transport/wire.h"

int64_t mc_clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * MC_NS_PER_S + t.tv_nsec;
}

struct place {
	struct sockaddr_storage at;
	socklen_t n;
};

/* HOST:PORT or @NAME; port NULL in a host alone. */
static int split(const char *address, char host[MC_SOCK_ADDRESS], const char **port, struct mc_err *err)
{
	const char *colon = strrchr(address, ':');
	size_t n = colon ? (size_t)(colon - address) : 0;

	/* What resolves names would take port 65537 for 1. */
	if (!n || n >= MC_SOCK_ADDRESS || !colon[1] || strtoul(colon + 1, NULL, 10) > UINT16_MAX)
		return mc_err_set(err, MC_USAGE, "\"%.100s\" is no address; expected HOST:PORT", address);
	if (address[0] == '[' && address[n - 1] == ']') {
		address++;
		n -= 2;
	}
	memcpy(host, address, n);
	host[n] = 0;
	*port = colon + 1;
	return 0;
}

static int resolve(struct place *p, const char *host, const char *port, struct mc_err *err)
{
	struct addrinfo hint = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_ADDRCONFIG}, *found;
	int rc;

	if (!port)
		hint.ai_flags |= AI_PASSIVE;
	rc = getaddrinfo(host, port, &hint, &found);
	if (rc)
		return mc_err_set(err, MC_FAIL, "%s: %s", host, gai_strerror(rc));
	memcpy(&p->at, found->ai_addr, found->ai_addrlen);
	p->n = found->ai_addrlen;
	freeaddrinfo(found);
	return 0;
}

int mc_sock_numeric(const char *address, struct mc_err *err)
{
	struct addrinfo hint = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
	struct addrinfo *found;
	char host[MC_SOCK_ADDRESS];
	const char *port;

	if (address[0] == '@')
		return 0;
	if (split(address, host, &port, NULL) || getaddrinfo(host, port, &hint, &found))
		return mc_err_set(err, MC_FAIL, "\"%.100s\" is no numeric address", address);
	freeaddrinfo(found);
	return 0;
}

/* The numeric form of where a socket listens. */
static int tell(const struct place *p, char told[MC_SOCK_ADDRESS], struct mc_err *err)
{
	char host[MC_SOCK_ADDRESS - 16], port[8];
	int rc = getnameinfo((const struct sockaddr *)&p->at, p->n, host, sizeof host, port, sizeof port,
			     NI_NUMERICHOST | NI_NUMERICSERV);

	if (rc)
		return mc_err_set(err, MC_FAIL, "cannot tell an address: %s", gai_strerror(rc));
	snprintf(told, MC_SOCK_ADDRESS, p->at.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
	return 0;
}

static int locate(struct place *p, const char *address, struct mc_err *err)
{
	char host[MC_SOCK_ADDRESS];
	const char *port = NULL;

	memset(p, 0, sizeof *p);
	if (address[0] == '@') {
		struct sockaddr_un *un = (struct sockaddr_un *)&p->at;
		size_t n = strlen(address);

		if (n < 2 || n >= sizeof un->sun_path)
			return mc_err_set(err, MC_USAGE, "\"%.100s\" is no address; expected @NAME", address);
		un->sun_family = AF_UNIX;
		memcpy(un->sun_path + 1, address + 1, n - 1); /* the first byte is 0: no file */
		p->n = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n);
		return 0;
	}
	if (split(address, host, &port, err))
		return MC_USAGE;
	return resolve(p, host, port, err);
}

/* An IPv4 address, else one of IPv6 that is good beyond the link. */
void mc_sock_interface(const char *name, char *out, size_t n)
{
	struct ifaddrs *all = NULL;
	bool found = false, v4 = false;

	snprintf(out, n, "%s", name);
	if (getifaddrs(&all))
		return;
	for (const struct ifaddrs *a = all; a && !v4; a = a->ifa_next) {
		const struct sockaddr_in6 *six = (const void *)a->ifa_addr;
		bool is4 = a->ifa_addr && a->ifa_addr->sa_family == AF_INET;
		bool is6 = a->ifa_addr && a->ifa_addr->sa_family == AF_INET6;

		if (strcmp(a->ifa_name, name) != 0)
			continue;
		if (!found)
			out[0] = 0;
		found = true;
		if (is4 || (is6 && !out[0] && !IN6_IS_ADDR_LINKLOCAL(&six->sin6_addr)))
			getnameinfo(a->ifa_addr, is4 ? sizeof(struct sockaddr_in) : sizeof *six, out,
				    (socklen_t)n, NULL, 0, NI_NUMERICHOST);
		v4 = is4;
	}
	freeifaddrs(all);
}

static int open_socket(const struct place *p, struct mc_err *err)
{
	int fd = socket(p->at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		mc_err_errno(err, MC_FAIL, "cannot make a socket");
	return fd;
}

int mc_sock_listen(int *out, const char *address, char told[MC_SOCK_ADDRESS], struct mc_err *err)
{
	struct place p, taken = {.n = sizeof taken.at};
	int fd, one = 1, rc = locate(&p, address, err);

	*out = -1;
	if (rc)
		return rc;
	fd = open_socket(&p, err);
	if (fd < 0)
		return MC_FAIL;
	if (p.at.ss_family != AF_UNIX)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (bind(fd, (struct sockaddr *)&p.at, p.n) || listen(fd, 128) ||
	    getsockname(fd, (struct sockaddr *)&taken.at, &taken.n)) {
		mc_err_errno(err, MC_FAIL, "cannot listen at %s", address);
		close(fd);
		return MC_FAIL;
	}
	if (p.at.ss_family == AF_UNIX)
		snprintf(told, MC_SOCK_ADDRESS, "%s", address);
	else
		rc = tell(&taken, told, err);
	if (rc)
		close(fd);
	else
		*out = fd;
	return rc;
}

void mc_sock_prepare(int fd)
{
	int one = 1, idle = 15, every = 5, times = 3;

	fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one); /* a Unix socket doesn't know it */
	/* A peer whose host lost power says nothing: half a minute later it is known, and its place free. */
	setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every, sizeof every);
	setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &times, sizeof times);
}

/* Until one of the events, or MC_FAIL. */
static int await(int fd, short events, int64_t deadline, struct mc_err *err)
{
	for (;;) {
		struct pollfd p = {.fd = fd, .events = events};
		int64_t left = deadline - mc_clock_ns();
		int n;

		if (left <= 0)
			return mc_err_set(err, MC_FAIL, "the peer does not answer in time");
		if (left > MC_NS_PER_S)
			left = MC_NS_PER_S;
		n = poll(&p, 1, (int)((left + MC_NS_PER_MS - 1) / MC_NS_PER_MS));
		if (n > 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return mc_err_errno(err, MC_FAIL, "cannot wait for a peer");
	}
}

static int join(int fd, const struct place *p, int64_t deadline, struct mc_err *err)
{
	int rc = connect(fd, (const struct sockaddr *)&p->at, p->n), why = errno;
	socklen_t n = sizeof why;

	if (!rc)
		return 0;
	if (why == EINPROGRESS) {
		if (await(fd, POLLOUT, deadline, err))
			return MC_FAIL;
		getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &n);
		if (!why)
			return 0;
	}
	errno = why; /* EAGAIN: a Unix socket whose backlog is full */
	return mc_err_errno(err, MC_FAIL, "cannot connect");
}

int mc_sock_connect(int *out, const char *address, const char *from, int64_t deadline, struct mc_err *err)
{
	struct place p, own;
	int fd, rc = locate(&p, address, err), one = 1;

	*out = -1;
	if (rc)
		return rc;
	fd = open_socket(&p, err);
	if (fd < 0)
		return MC_FAIL;
	if (from && p.at.ss_family != AF_UNIX) {
		setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof one);
		rc = resolve(&own, from, NULL, err);
		if (!rc && own.at.ss_family == p.at.ss_family && bind(fd, (struct sockaddr *)&own.at, own.n))
			rc = mc_err_errno(err, MC_FAIL, "cannot connect from %s", from);
	}
	if (!rc)
		rc = join(fd, &p, deadline, err);
	if (rc) {
		close(fd);
		mc_err_at(err, NULL, 0, 0, address);
		return rc;
	}
	mc_sock_prepare(fd);
	*out = fd;
	return 0;
}

int mc_sock_send(int fd, const void *at, size_t n, int64_t deadline, struct mc_err *err)
{
	for (const uint8_t *p = at; n;) {
		ssize_t k = send(fd, p, n, MSG_NOSIGNAL);

		if (k >= 0) {
			p += k;
			n -= (size_t)k;
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			if (await(fd, POLLOUT, deadline, err))
				return MC_FAIL;
		} else if (errno != EINTR) {
			return mc_err_errno(err, MC_FAIL, "the peer is gone");
		}
	}
	return 0;
}

int mc_sock_recv(int fd, void *at, size_t n, int64_t deadline, struct mc_err *err)
{
	for (uint8_t *p = at; n;) {
		ssize_t k = recv(fd, p, n, 0);

		if (k > 0) {
			p += k;
			n -= (size_t)k;
		} else if (!k) {
			return mc_err_set(err, MC_FAIL, "the peer has hung up");
		} else if (errno == EAGAIN || errno == EWOULDBLOCK) {
			if (await(fd, POLLIN, deadline, err))
				return MC_FAIL;
		} else if (errno != EINTR) {
			return mc_err_errno(err, MC_FAIL, "the peer is gone");
		}
	}
	return 0;
}

int mc_sock_send_message(int fd, const void *at, size_t n, int64_t deadline, struct mc_err *err)
{
	uint8_t head[4];

	mc_wire_set(head, n, 4);
	if (mc_sock_send(fd, head, 4, deadline, err))
		return MC_FAIL;
	return mc_sock_send(fd, at, n, deadline, err);
}

int mc_sock_recv_message(int fd, struct mc_sock_message *m, size_t most, int64_t deadline, struct mc_err *err)
{
	uint8_t head[4];

	m->at = NULL;
	m->n = 0;
	if (mc_sock_recv(fd, head, 4, deadline, err))
		return MC_FAIL;
	m->n = mc_wire_get(head, 4);
	if (m->n > most)
		return mc_err_set(err, MC_FAIL, "the peer sends a message of %zu bytes; expected at most %zu",
				  m->n, most);
	m->at = mc_xmalloc(m->n + 1);
	m->at[m->n] = 0;
	if (mc_sock_recv(fd, m->at, m->n, deadline, err)) {
		free(m->at);
		m->at = NULL;
		return MC_FAIL;
	}
	return 0;
}
