/*
 * RDMA by libibverbs: InfiniBand, RoCE, and whatever else has a driver of it. Reliable connections; the
 * peer's processor does nothing for a slice. A port's name is DEVICE[/PORT[/GID]][@HOST]: by default the
 * device's first port, the best of its GIDs, and for connecting the IP address that the GID tells
 * (InfiniBand's and link-local ones tell none).
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/time.h"
#include "transport/sock.h"
#include "transport/verbs_port.h"

enum {
	LOOK_MS = 200, /* how often the device is looked for: drivers differ in what they tell */
	LANES = 1,
};

void mc_verbs_poke(struct mc_port *p)
{
	eventfd_write(p->poke, 1);
}

/* Decimal, of at most 255, before `end`. */
static bool small(const char *s, size_t n, int *out)
{
	int v = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] < '0' || s[i] > '9' || v > 25)
			return false;
		v = 10 * v + s[i] - '0';
	}
	*out = v;
	return n && v < 256;
}

static int parse_name(struct mc_port *p, const char *name, struct mc_err *err)
{
	size_t n = strcspn(name, "@"), device = strcspn(name, "/@"), rest = device + 1;
	int number = 1;
	bool good = device < sizeof p->device && n + 1 < sizeof p->host;

	p->gid_wanted = -1;
	if (good && device < n) {
		size_t end = rest + strcspn(name + rest, "/@");

		good = small(name + rest, end - rest, &number) && number > 0;
		if (good && end < n)
			good = small(name + end + 1, n - end - 1, &p->gid_wanted);
	}
	if (good && name[n])
		good = name[n + 1] && strlen(name + n + 1) < sizeof p->host;
	if (!good)
		return mc_err_set(err, MC_USAGE,
				  "'%s' is no port of a device; expected DEVICE[/PORT[/GID]][@HOST]", name);
	p->number = (uint8_t)number;
	memcpy(p->device, name, device);
	if (name[n])
		strcpy(p->host, name + n + 1);
	return 0;
}

/* What the port's thread waits for: the sockets' owners by their serial numbers, as they may be gone when
 * something has come. */
struct watch {
	struct {
		MC_VEC(struct pollfd)
	} fd;
	struct {
		MC_VEC(uint64_t)
	} serial;
};

static void watch_fd(struct watch *w, int fd, uint64_t serial)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};

	mc_vec_push(&w->fd, p);
	mc_vec_push(&w->serial, serial);
}

enum { POKED, EVENTS, COMPLETIONS, SOCKETS }; /* places in the list */

static void watch_all(struct watch *w, struct mc_port *p)
{
	struct mc_endpoint *ep;
	struct mc_verbs_guest *g;

	w->fd.n = w->serial.n = 0;
	watch_fd(w, p->poke, 0);
	watch_fd(w, p->dev.ctx ? p->dev.ctx->async_fd : -1, 0);
	watch_fd(w, p->dev.ctx ? p->dev.channel->fd : -1, 0);
	TAILQ_FOREACH (ep, &p->endpoints, next)
		if (ep->joined && !ep->broken)
			watch_fd(w, ep->fd, ep->serial);
	TAILQ_FOREACH (g, &p->guests, next)
		if (!g->busy && !g->dead)
			watch_fd(w, g->fd, g->serial);
}

static void hear(struct mc_port *p, uint64_t serial)
{
	struct mc_endpoint *ep;
	struct mc_verbs_guest *g;

	TAILQ_FOREACH (ep, &p->endpoints, next)
		if (ep->serial == serial && ep->joined && !ep->broken) {
			mc_verbs_endpoint_hear(ep);
			return;
		}
	TAILQ_FOREACH (g, &p->guests, next)
		if (g->serial == serial && !g->busy && !g->dead) {
			mc_verbs_guest_hear(g);
			return;
		}
}

static void completions(struct mc_port *p)
{
	const struct mc_endpoint *each;
	struct ibv_cq *cq;
	void *ep;

	/* At most one event of each is there, as a rule: one call less than until there is none. */
	TAILQ_FOREACH (each, &p->endpoints, next) {
		if (ibv_get_cq_event(p->dev.channel, &cq, &ep))
			return;
		ibv_ack_cq_events(cq, 1);
		((struct mc_endpoint *)ep)->event = true;
		p->news = true;
	}
}

/* A driver may wait for us to let go of a device that is being removed, and not say so: its entry in sysfs is
 * gone by then. And a port whose device is gone looks for it. */
static void look_for_device(struct mc_port *p)
{
	if (p->dev.ctx) {
		const char *entry = p->dev.ctx->device->dev_path;

		if (entry[0] && access(entry, F_OK) && errno == ENOENT)
			mc_verbs_device_close(p, "the device was removed");
	} else if (!mc_verbs_device_open(p, NULL)) {
		p->news = true;
	}
}

/* To some milliseconds, for nearly nothing: it is asked for at each event. */
static int64_t coarse_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
	return t.tv_sec * MC_NS_PER_S + t.tv_nsec;
}

static void attend(struct mc_port *p, const struct watch *w)
{
	eventfd_t count;

	if (w->fd.at[POKED].revents)
		eventfd_read(p->poke, &count);
	if (w->fd.at[EVENTS].revents)
		mc_verbs_device_events(p);
	if (w->fd.at[COMPLETIONS].revents && p->dev.ctx)
		completions(p);
	for (size_t i = SOCKETS; i < w->fd.n; i++)
		if (w->fd.at[i].revents)
			hear(p, w->serial.at[i]);
}

static void *keep(void *arg)
{
	struct mc_port *p = arg;
	struct watch w = {0};
	int64_t looked = coarse_ns();

	pthread_mutex_lock(&p->lock);
	while (!p->closing) {
		int ready;

		if (p->news) {
			p->news = false;
			pthread_mutex_unlock(&p->lock);
			p->want.wake(p->want.wake_arg);
			pthread_mutex_lock(&p->lock);
			continue;
		}
		watch_all(&w, p);
		pthread_mutex_unlock(&p->lock);
		ready = poll(w.fd.at, w.fd.n, LOOK_MS);
		pthread_mutex_lock(&p->lock);
		if (ready > 0)
			attend(p, &w);
		if (coarse_ns() - looked >= LOOK_MS * MC_NS_PER_MS) {
			look_for_device(p);
			looked = coarse_ns();
		}
	}
	pthread_mutex_unlock(&p->lock);
	mc_vec_fini(&w.fd);
	mc_vec_fini(&w.serial);
	return NULL;
}

static int start(struct mc_port *p, struct mc_err *err)
{
	struct mc_listener_want l = {
	    .token = p->want.token,
	    .purpose = MC_PURPOSE_VERBS,
	    .pending = p->want.limits.pending,
	    .timeout_ns = p->want.timeout_ns,
	    .accepted = mc_verbs_guest_accept,
	    .arg = p,
	};
	char at[2 * MC_PORT_NAME];
	int rc = mc_verbs_device_open(p, err);

	if (rc)
		return rc;
	if (!p->host[0])
		mc_verbs_device_host(&p->dev, p->host);
	if (!p->host[0])
		return mc_err_set(err, MC_USAGE, "%s: its GID tells no IP address; expected %s@HOST",
				  p->device, p->device);
	snprintf(at, sizeof at, "%s:0", p->host);
	l.address = at;
	rc = mc_listener_open(&p->listener, &l, err);
	if (rc)
		return rc;
	snprintf(p->address, sizeof p->address, "%s", mc_listener_address(p->listener));
	errno = pthread_create(&p->thread, NULL, keep, p);
	if (!errno)
		return 0;
	rc = mc_err_errno(err, MC_FAIL, "cannot start a thread");
	mc_listener_close(p->listener);
	return rc;
}

static void discard(struct mc_port *p)
{
	pthread_mutex_lock(&p->lock);
	mc_verbs_device_close(p, "the port was closed");
	pthread_mutex_unlock(&p->lock);
	pthread_mutex_destroy(&p->lock);
	mc_vec_fini(&p->memory);
	close(p->poke);
	free(p);
}

static int port_open(struct mc_port **out, const struct mc_port_want *want, struct mc_err *err)
{
	struct mc_port *p = mc_xcalloc(1, sizeof *p);
	int rc;

	*out = NULL;
	p->want = *want;
	p->want.lanes = want->lanes ? want->lanes < MC_VERBS_LANES ? want->lanes : MC_VERBS_LANES : LANES;
	TAILQ_INIT(&p->endpoints);
	TAILQ_INIT(&p->guests);
	p->poke = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&p->lock, NULL);
	rc = p->poke < 0 ? mc_err_errno(err, MC_FAIL, "cannot make an eventfd")
			 : parse_name(p, want->name, err);
	if (!rc)
		rc = mc_auth_random(&p->serial, sizeof p->serial, err);
	p->serial >>=
	    1; /* keys are of it: of another life's none is the same, should it have had this port */
	if (!rc)
		rc = start(p, err);
	if (rc)
		discard(p);
	else
		*out = p;
	return rc;
}

static void port_close(struct mc_port *p)
{
	if (!p)
		return;
	mc_listener_close(p->listener);
	pthread_mutex_lock(&p->lock);
	p->closing = true;
	pthread_mutex_unlock(&p->lock);
	mc_verbs_poke(p);
	pthread_join(p->thread, NULL);
	discard(p);
}

static const char *port_address(const struct mc_port *p)
{
	return p->address;
}

static bool up(struct mc_port *p)
{
	bool link;

	pthread_mutex_lock(&p->lock);
	link = p->dev.ctx && p->dev.link;
	pthread_mutex_unlock(&p->lock);
	return link;
}

static int fence(struct mc_port *p, uint64_t id, struct mc_err *err)
{
	struct mc_verbs_guest *g;

	(void)err;
	pthread_mutex_lock(&p->lock);
	TAILQ_FOREACH (g, &p->guests, next)
		if (g->id == id)
			break;
	if (g && !mc_verbs_guest_end(g))
		mc_verbs_device_close(p, "the device does not end a queue pair");
	pthread_mutex_unlock(&p->lock);
	return 0;
}

const struct mc_transport mc_transport_verbs = {
    .name = "verbs",
    .summary = "RDMA by libibverbs: InfiniBand or RoCE",
    .cost = 1,
    .port_open = port_open,
    .port_close = port_close,
    .port_address = port_address,
    .up = up,
    .memory_register = mc_verbs_memory_register,
    .memory_unregister = mc_verbs_memory_unregister,
    .connect = mc_verbs_connect,
    .disconnect = mc_verbs_disconnect,
    .post = mc_verbs_post,
    .poll = mc_verbs_poll,
    .fence = fence,
};
