/* Peers that use this process's memory: let in, answered when they ask for keys, ended. */
#include <errno.h>
#include <infiniband/verbs.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "transport/sock.h"
#include "transport/verbs_port.h"
#include "transport/wire.h"

static void bury(struct mc_verbs_guest *g)
{
	TAILQ_REMOVE(&g->p->guests, g, next);
	g->p->guest_count--;
	close(g->fd);
	free(g);
}

bool mc_verbs_guest_end(struct mc_verbs_guest *g)
{
	bool all = mc_verbs_qp_end(g->lane, g->lanes);

	shutdown(g->fd, SHUT_RDWR);
	g->dead = true;
	if (!g->busy && all)
		bury(g);
	return all;
}

/* In with it, as it is known now. */
static int admit(struct mc_port *p, struct mc_verbs_guest *g, const struct mc_verbs_hello *peer,
		 struct mc_verbs_hello *mine, struct mc_err *err)
{
	struct mc_verbs_qp_want want = {.cq = p->dev.sink, .lanes = peer->lanes};
	const struct mc_verbs_guest *other;
	int rc;

	if (!p->dev.ctx || !p->dev.link)
		return mc_err_set(err, MC_FAIL, "%s has no link", p->device);
	if (peer->ethernet != p->dev.ethernet)
		return mc_err_set(err, MC_FAIL, "%s is of another kind of network", p->device);
	if (p->guest_count >= p->want.limits.connections)
		return mc_err_set(err, MC_FAIL, "%s has %u connections, its limit", p->device,
				  p->guest_count);
	TAILQ_FOREACH (other, &p->guests, next)
		if (other->id == peer->id)
			return mc_err_set(err, MC_FAIL, "there is a connection of that id");
	g->id = peer->id;
	g->serial = ++p->serial;
	g->lanes = peer->lanes;
	rc = mc_verbs_qp_create(p, g->lane, &want, err);
	if (!rc)
		rc = mc_verbs_qp_join(p, g->lane, peer, false, err);
	if (rc) {
		mc_verbs_qp_end(g->lane, g->lanes);
		return rc;
	}
	mc_verbs_hello_fill(mine, p, g->lane, g->lanes);
	mine->id = peer->id;
	TAILQ_INSERT_TAIL(&p->guests, g, next);
	p->guest_count++;
	return 0;
}

bool mc_verbs_guest_accept(void *port, int fd, int64_t deadline)
{
	struct mc_port *p = port;
	struct mc_verbs_guest *g = mc_xcalloc(1, sizeof *g);
	struct mc_verbs_hello peer, mine = {0};
	struct mc_sock_message m = {0};
	struct mc_err why = {0};
	uint8_t out[MC_VERBS_HELLO];
	int rc = mc_sock_recv_message(fd, &m, MC_VERBS_HELLO, deadline, &why);

	*g = (struct mc_verbs_guest){.p = p, .fd = fd, .busy = true};
	if (!rc)
		rc = mc_verbs_hello_decode(&peer, m.at, m.n, &why);
	free(m.at);
	pthread_mutex_lock(&p->lock);
	if (!rc)
		rc = admit(p, g, &peer, &mine, &why);
	pthread_mutex_unlock(&p->lock);
	if (rc) {
		mc_sock_send_message(fd, why.text, strnlen(why.text, MC_VERBS_HELLO - 1), deadline, NULL);
		free(g);
		return false;
	}
	mc_verbs_hello_encode(&mine, out);
	rc = mc_sock_send_message(fd, out, sizeof out, deadline, NULL);
	pthread_mutex_lock(&p->lock);
	g->busy = false;
	/* Ended meanwhile, or by the peer's leaving. */
	if ((rc || g->dead) && !mc_verbs_guest_end(g))
		mc_verbs_device_close(p, "the device does not end a queue pair");
	pthread_mutex_unlock(&p->lock);
	mc_verbs_poke(p);
	return true;
}

/* Which rkey a key stands for. False: it can't be told. */
static bool answer(struct mc_verbs_guest *g, uint64_t key)
{
	const struct mc_verbs_memory *v = mc_verbs_memory_find(g->p, key);
	uint8_t out[MC_VERBS_ANSWER];
	ssize_t n;

	mc_wire_set(out, key, 8);
	mc_wire_set(out + 8, v && v->mr && v->access ? v->mr->rkey : MC_VERBS_NO_KEY, 8);
	/* A peer that asks and doesn't listen is not waited for. */
	n = send(g->fd, out, sizeof out, MSG_DONTWAIT | MSG_NOSIGNAL);
	return n == (ssize_t)sizeof out;
}

void mc_verbs_guest_hear(struct mc_verbs_guest *g)
{
	struct mc_port *p = g->p;
	ssize_t n = recv(g->fd, g->in + g->got, sizeof g->in - g->got, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0) {
		g->got += (size_t)n;
		if (g->got < sizeof g->in)
			return;
		g->got = 0;
		if (answer(g, mc_wire_get(g->in, 8)))
			return;
	}
	if (!mc_verbs_guest_end(g))
		mc_verbs_device_close(p, "the device does not end a queue pair");
}
