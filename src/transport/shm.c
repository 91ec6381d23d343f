/*
 * Shared memory, for processes of one host: memory of mc_memory_alloc is mapped by the peer, who then copies
 * by itself, once, from memory to memory. The owner does nothing for a slice.
 *
 * What access says is held by the kernel: the peer gets the file of that memory and of no other, of one that
 * peers may only read a file that can't be mapped to be written (F_SEAL_FUTURE_WRITE, which stays for good:
 * such a memory can't be shared for writing later). What can't be held so, memory without a file or that may
 * be written but not read, is a local end only, and peers reach it over another transport.
 * (process_vm_readv needs no file, but rights to trace the peer: it reaches all of a process, takes the
 * asker's word for what is registered, a pid that may be another's by now, and ends at a container's border.)
 *
 * To be trusted is that a peer with the token unmaps what it is asked to give back; that it did is confirmed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "transport/shm_state.h"

enum { EVENTS = 64, BOOT_ID_MAX = 64, COPIERS = 4 };

/* "/BOOT/NET": the same for those who can reach each other by an abstract socket. */
static int host_of(char *out, size_t n, struct mc_err *err)
{
	struct stat net;
	char *boot;
	size_t length;
	int rc = mc_file_read("/proc/sys/kernel/random/boot_id", BOOT_ID_MAX, &boot, &length, err);

	if (rc || stat("/proc/self/ns/net", &net)) {
		if (!rc)
			free(boot);
		return mc_err_set(err, MC_NOHW, "/proc doesn't tell which host this is");
	}
	boot[strcspn(boot, "\n")] = 0;
	snprintf(out, n, "/%s/%ju", boot, (uintmax_t)net.st_ino);
	free(boot);
	return 0;
}

static void attend(struct mc_port *p, uint64_t serial)
{
	struct mc_endpoint *ep;
	struct mc_shm_guest *g;

	TAILQ_FOREACH (ep, &p->endpoints, next)
		if (ep->serial == serial && ep->s.fd >= 0) {
			mc_shm_endpoint_hear(ep);
			return;
		}
	TAILQ_FOREACH (g, &p->guests, next)
		if (g->serial == serial) {
			mc_shm_guest_hear(p, g);
			return;
		}
}

/* One that has broken since it was last looked at. */
static struct mc_endpoint *broken(struct mc_port *p)
{
	struct mc_endpoint *ep;

	TAILQ_FOREACH (ep, &p->endpoints, next)
		if (ep->broken && ep->s.fd >= 0)
			break;
	return ep;
}

static void *keep(void *arg)
{
	struct mc_port *p = arg;
	struct mc_endpoint *ep;
	struct epoll_event e[EVENTS];
	eventfd_t count;

	pthread_mutex_lock(&p->lock);
	while (!p->closing) {
		int n;

		mc_shm_tell(p);
		pthread_mutex_unlock(&p->lock);
		n = epoll_wait(p->epoll, e, EVENTS, -1);
		pthread_mutex_lock(&p->lock);
		for (int i = 0; i < n; i++) {
			if (e[i].data.u64)
				attend(p, e[i].data.u64);
			else
				eventfd_read(p->bell, &count);
		}
		while ((ep = broken(p)))
			mc_shm_endpoint_hear(ep);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static int start(struct mc_port *p, struct mc_err *err)
{
	struct mc_listener_want l = {
	    .token = p->want.token,
	    .purpose = MC_PURPOSE_SHM,
	    .pending = p->want.limits.pending,
	    .timeout_ns = p->want.timeout_ns,
	    .accepted = mc_shm_guest_accept,
	    .arg = p,
	};
	struct epoll_event e = {.events = EPOLLIN};
	char host[MC_PORT_ADDRESS / 2];
	uint64_t random[3];
	int rc = host_of(host, sizeof host, err);

	if (!rc)
		rc = mc_auth_random(random, sizeof random, err);
	if (rc)
		return rc;
	snprintf(p->address, sizeof p->address, "@mooncake-%016jx%016jx%s", (uintmax_t)random[0],
		 (uintmax_t)random[1], host);
	p->keys = random[2] >> 2; /* those of another life are others */
	p->epoll = epoll_create1(EPOLL_CLOEXEC);
	p->bell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (p->epoll < 0 || p->bell < 0 || epoll_ctl(p->epoll, EPOLL_CTL_ADD, p->bell, &e))
		return mc_err_errno(err, MC_FAIL, "cannot wait for peers");
	errno = pthread_create(&p->keeper, NULL, keep, p);
	p->kept = !errno;
	while (!errno && p->copiers < p->want.lanes) {
		errno = pthread_create(&p->copier[p->copiers], NULL, mc_shm_copier, p);
		p->copiers += !errno;
	}
	if (errno)
		return mc_err_errno(err, MC_FAIL, "cannot start a thread");
	l.address = p->address;
	return mc_listener_open(&p->listener, &l, err);
}

static void port_close(struct mc_port *p)
{
	if (!p)
		return;
	mc_listener_close(p->listener);
	pthread_mutex_lock(&p->lock);
	p->closing = true;
	pthread_cond_broadcast(&p->work);
	if (p->kept)
		eventfd_write(p->bell, 1);
	pthread_mutex_unlock(&p->lock);
	if (p->kept)
		pthread_join(p->keeper, NULL);
	for (size_t i = 0; i < p->copiers; i++)
		pthread_join(p->copier[i], NULL);
	while (!TAILQ_EMPTY(&p->guests))
		mc_shm_guest_free(p, TAILQ_FIRST(&p->guests));
	if (p->epoll >= 0)
		close(p->epoll);
	if (p->bell >= 0)
		close(p->bell);
	pthread_cond_destroy(&p->work);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	mc_vec_fini(&p->region);
	mc_vec_fini(&p->done);
	mc_vec_fini(&p->of);
	free(p);
}

static int port_open(struct mc_port **out, const struct mc_port_want *want, struct mc_err *err)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN) / 4;
	struct mc_port *p = mc_xcalloc(1, sizeof *p);
	pthread_condattr_t attr;
	int rc;

	*out = NULL;
	p->want = *want;
	if (!p->want.lanes)
		p->want.lanes = cpus < 1 ? 1 : cpus < COPIERS ? (uint32_t)cpus : COPIERS;
	if (p->want.lanes > MC_SHM_COPIERS)
		p->want.lanes = MC_SHM_COPIERS;
	p->epoll = p->bell = -1;
	TAILQ_INIT(&p->guests);
	TAILQ_INIT(&p->endpoints);
	TAILQ_INIT(&p->ready);
	pthread_mutex_init(&p->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&p->work, &attr);
	pthread_cond_init(&p->changed, &attr);
	pthread_condattr_destroy(&attr);
	rc = start(p, err);
	if (rc)
		port_close(p);
	else
		*out = p;
	return rc;
}

static const char *port_address(const struct mc_port *p)
{
	return p->address;
}

static bool reaches(const struct mc_port *p, const char *address)
{
	const char *own = strchr(p->address, '/'), *its = strchr(address, '/');

	return its && !strcmp(own, its);
}

const struct mc_transport mc_transport_shm = {
    .name = "shm",
    .summary = "shared memory, between processes of one host",
    .cost = 0,
    .port_open = port_open,
    .port_close = port_close,
    .port_address = port_address,
    .reaches = reaches,
    .memory_register = mc_shm_register,
    .memory_unregister = mc_shm_unregister,
    .connect = mc_shm_connect,
    .disconnect = mc_shm_disconnect,
    .post = mc_shm_post,
    .poll = mc_shm_poll,
    .help = mc_shm_help,
    .fence = mc_shm_fence,
};
