/* Peers: what memory they have, asked for over a short connection; and fences, which they confirm. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "transport/sock.h"
#include "transport/state.h"
#include "transport/wire.h"

enum { REPLY_MAX = 256 }; /* bytes of an answer that is no segment */

struct mc_path *mc_peer_path(const struct mc_peer *p, size_t local, size_t remote)
{
	return &p->path[local * p->seg->ports + remote];
}

bool mc_peer_wants(const struct mc_peer *p)
{
	return !p->gone && (p->stale || p->doubt || p->fence.n);
}

bool mc_peer_silent(const struct mc_engine *e, const struct mc_peer *p, int64_t now)
{
	return !p->asking && p->fails >= e->want.retries && now < p->retry_at;
}

/* A connection to a peer's engine that has proved itself. */
static int call(struct mc_engine *e, const char *address, int64_t deadline, int *fd, struct mc_err *err)
{
	int rc = mc_sock_connect(fd, address, NULL, deadline, err);

	if (rc)
		return rc;
	if (mc_auth_connect(*fd, &e->want.token, MC_PURPOSE_CONTROL, deadline, err)) {
		close(*fd);
		return mc_err_at(err, NULL, 0, 0, address), MC_FAIL;
	}
	return 0;
}

static int ask_segment(int fd, int64_t deadline, struct mc_segment **out, struct mc_err *err)
{
	struct mc_sock_message m;
	uint8_t kind = MC_CONTROL_SEGMENT;
	int rc;

	*out = NULL;
	if (mc_sock_send_message(fd, &kind, 1, deadline, err) ||
	    mc_sock_recv_message(fd, &m, MC_SEGMENT_BYTES, deadline, err))
		return MC_FAIL;
	rc = mc_segment_decode(out, m.at, m.n, err);
	free(m.at);
	return rc;
}

static int ask_fence(int fd, int64_t deadline, const struct mc_fence *f, struct mc_err *err)
{
	struct mc_sock_message m;
	uint8_t text[19] = {MC_CONTROL_FENCE};
	int rc = 0;

	mc_wire_set(text + 1, f->life, 8);
	mc_wire_set(text + 9, f->remote, 2);
	mc_wire_set(text + 11, f->id, 8);
	if (mc_sock_send_message(fd, text, sizeof text, deadline, err) ||
	    mc_sock_recv_message(fd, &m, REPLY_MAX, deadline, err))
		return MC_FAIL;
	if (!m.n || m.at[0])
		rc = mc_err_set(err, MC_FAIL, "the peer cannot end a lost connection");
	free(m.at);
	return rc;
}

/* The paths to a peer, when it is first known. */
static void lay_paths(struct mc_engine *e, struct mc_peer *p)
{
	p->path = mc_xcalloc(e->ports * p->seg->ports + 1, sizeof *p->path);
	for (size_t l = 0; l < e->ports; l++) {
		const struct mc_side *side = &e->side[l];
		size_t own = 0, owns = 0, its = 0, all = 0;

		for (size_t k = 0; k < e->ports; k++) {
			own += k < l && e->side[k].t == side->t;
			owns += e->side[k].t == side->t;
		}
		for (size_t r = 0; r < p->seg->ports; r++)
			all += !strcmp(p->seg->port[r].transport, side->t->name);
		for (size_t r = 0; r < p->seg->ports; r++) {
			const struct mc_segment_port *port = &p->seg->port[r];
			struct mc_path *path = mc_peer_path(p, l, r);

			if (strcmp(port->transport, side->t->name) != 0)
				continue;
			path->joined = !side->t->reaches || side->t->reaches(side->port, port->address);
			path->partner = own % all == its % owns;
			its++;
		}
	}
}

/* Another one has its address, of that life: what was meant for it fails. */
static void leave(struct mc_engine *e, struct mc_peer *p, uint64_t life)
{
	struct mc_link *l;

	p->gone = true;
	p->stale = p->doubt = false;
	p->seg->ranges = 0;
	p->fence.n =
	    0; /* who was to confirm them is no more, and neither is what they would have written to */
	/* One that says another number of ports in one life lies; it is left all the same. */
	p->seg->life = life == p->seg->life ? ~life : life;
	free(p->seg->range);
	p->seg->range = NULL;
	TAILQ_FOREACH (l, &e->links, next)
		if (l->peer == p)
			mc_pool_close(e, l, true);
}

/* Take what the peer says now, and with it s. False: it is another one than it was; s is the caller's. */
static bool adopt(struct mc_engine *e, struct mc_peer *p, struct mc_segment *s)
{
	if (s->life != p->seg->life || s->ports != p->seg->ports) {
		leave(e, p, s->life);
		return false;
	}
	if (s->version >= p->seg->version) {
		mc_segment_free(p->seg);
		p->seg = s;
	} else { /* an answer that another one has overtaken */
		mc_segment_free(s);
	}
	return true;
}

static void drop_fence(struct mc_peer *p, uint64_t id)
{
	for (size_t i = 0; i < p->fence.n; i++)
		if (p->fence.at[i].id == id)
			p->fence.at[i--] = p->fence.at[--p->fence.n];
}

void mc_peer_ask(struct mc_engine *e, struct mc_peer *p)
{
	int64_t deadline = mc_clock_ns() + e->want.connect_timeout_ns;
	size_t n = p->fence.n, done = 0;
	struct mc_fence *fence = mc_xcalloc(n + 1, sizeof *fence);
	struct mc_segment *s = NULL;
	struct mc_err err = {0};
	int fd, rc;

	if (n)
		memcpy(fence, p->fence.at, n * sizeof *fence);
	p->doubt = p->again = false;
	pthread_mutex_unlock(&e->lock);
	rc = call(e, p->address, deadline, &fd, &err);
	if (!rc) {
		while (!rc && done < n) {
			rc = ask_fence(fd, deadline, &fence[done], &err);
			done += !rc;
		}
		if (!rc)
			rc = ask_segment(fd, deadline, &s, &err);
		close(fd);
	}
	pthread_mutex_lock(&e->lock);
	p->asking = false;
	for (size_t i = 0; i < done; i++)
		drop_fence(p, fence[i].id);
	e->stats.fences += done;
	free(fence);
	if (rc) {
		p->doubt = true; /* it doesn't answer: whatever it was asked for, it may have restarted */
		p->fails++;
		p->retry_at = mc_clock_ns() + mc_backoff_ns(e, p->fails);
		p->why = err;
	} else {
		p->fails = 0;
		p->retry_at = 0;
		p->stale = p->again; /* its answer may be older than what it refused meanwhile */
		if (p->gone || !adopt(e, p, s))
			mc_segment_free(s);
	}
}

/* The peer of that address that is not known to be gone, or NULL. */
static struct mc_peer *find(struct mc_engine *e, const char *address)
{
	for (size_t i = e->peer.n; i--;)
		if (!e->peer.at[i]->gone && !strcmp(e->peer.at[i]->address, address))
			return e->peer.at[i];
	return NULL;
}

static struct mc_peer *add(struct mc_engine *e, const char *address, struct mc_segment *s)
{
	struct mc_peer *p = mc_xcalloc(1, sizeof *p);

	snprintf(p->address, sizeof p->address, "%s", address);
	TAILQ_INIT(&p->queue);
	p->seg = s;
	p->index = (uint32_t)e->peer.n;
	lay_paths(e, p);
	mc_vec_push(&e->peer, p);
	return p;
}

int mc_engine_connect(struct mc_engine *e, const char *address, uint32_t *peer, struct mc_err *err)
{
	int64_t deadline = mc_clock_ns() + e->want.connect_timeout_ns;
	struct mc_segment *s;
	struct mc_peer *p;
	int fd, rc;

	if (strlen(address) >= MC_ENGINE_ADDRESS)
		return mc_err_set(err, MC_USAGE, "an address of at most %d bytes is expected",
				  MC_ENGINE_ADDRESS - 1);
	rc = call(e, address, deadline, &fd, err);
	if (rc)
		return rc;
	rc = ask_segment(fd, deadline, &s, err);
	close(fd);
	if (rc)
		return mc_err_at(err, NULL, 0, 0, address), rc;
	pthread_mutex_lock(&e->lock);
	p = find(e, address);
	if (!p || !adopt(e, p, s))
		p = add(e, address, s);
	*peer = p->index;
	mc_dispatch(e);
	pthread_mutex_unlock(&e->lock);
	return 0;
}

int mc_engine_refresh(struct mc_engine *e, uint32_t peer, struct mc_err *err)
{
	char address[MC_ENGINE_ADDRESS];
	uint32_t now;
	int rc;

	pthread_mutex_lock(&e->lock);
	if (peer >= e->peer.n) {
		pthread_mutex_unlock(&e->lock);
		return mc_err_set(err, MC_USAGE, "there is no peer %u", peer);
	}
	snprintf(address, sizeof address, "%s", e->peer.at[peer]->address);
	pthread_mutex_unlock(&e->lock);
	rc = mc_engine_connect(e, address, &now, err);
	if (!rc && now != peer)
		rc = mc_err_set(err, MC_FAIL, "peer %s has restarted", address);
	return rc;
}

size_t mc_engine_ranges(struct mc_engine *e, uint32_t peer, struct mc_engine_range *out, size_t n)
{
	size_t ranges = 0;

	pthread_mutex_lock(&e->lock);
	if (peer < e->peer.n) {
		const struct mc_segment *s = e->peer.at[peer]->seg;

		ranges = s->ranges;
		for (size_t i = 0; i < ranges && i < n; i++) {
			const struct mc_segment_range *r = &s->range[i];

			out[i] =
			    (struct mc_engine_range){.base = r->base, .bytes = r->bytes, .access = r->access};
			memcpy(out[i].place, r->place, sizeof out[i].place);
		}
	}
	pthread_mutex_unlock(&e->lock);
	return ranges;
}

void mc_peer_free(struct mc_peer *p)
{
	mc_segment_free(p->seg);
	free(p->path);
	mc_vec_fini(&p->fence);
	free(p);
}
