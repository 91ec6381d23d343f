/*
 * What peers ask of an engine: its segment, and fences. A message is a byte that says what, and its
 * arguments; the answer to a fence is a byte, 0 for done. The peer has the token, which doesn't make its
 * messages good.
 */
#include <stdlib.h>
#include <string.h>

#include "transport/sock.h"
#include "transport/state.h"
#include "transport/wire.h"

enum {
	ASK_MAX = 64,    /* bytes of a question */
	QUESTIONS = 4096 /* of one connection */
};

static void describe(struct mc_engine *e, struct mc_segment_range *out, const struct mc_local *m)
{
	out->base = (uintptr_t)m->m.base;
	out->bytes = m->m.bytes;
	out->access = m->access;
	memcpy(out->place, m->m.place, sizeof out->place);
	for (size_t k = 0; k < e->ports; k++) {
		out->at[k].key = m->key[k] & MC_KEY_LOCAL ? 0 : m->key[k];
		out->at[k].rank = m->rank[k];
	}
}

static int tell_segment(struct mc_engine *e, int fd, int64_t deadline)
{
	struct mc_segment s = {.life = e->life, .ports = e->ports};
	struct mc_str text = {0};
	struct mc_local *m;
	int rc;

	s.port = mc_xcalloc(e->ports, sizeof *s.port);
	for (size_t i = 0; i < e->ports; i++) {
		const struct mc_side *side = &e->side[i];

		snprintf(s.port[i].transport, sizeof s.port[i].transport, "%s", side->t->name);
		snprintf(s.port[i].name, sizeof s.port[i].name, "%s", side->name);
		snprintf(s.port[i].address, sizeof s.port[i].address, "%s",
			 side->t->port_address(side->port));
	}
	pthread_mutex_lock(&e->lock);
	s.version = e->version;
	TAILQ_FOREACH (m, &e->locals, next)
		s.ranges += m->access && !m->going;
	s.range = mc_xcalloc(s.ranges + 1, sizeof *s.range);
	s.ranges = 0;
	TAILQ_FOREACH (m, &e->locals, next)
		if (m->access && !m->going)
			describe(e, &s.range[s.ranges++], m);
	pthread_mutex_unlock(&e->lock);
	mc_segment_encode(&s, &text);
	rc = mc_sock_send_message(fd, text.at, text.n, deadline, NULL);
	mc_str_fini(&text);
	free(s.range);
	free(s.port);
	return rc;
}

static int confirm_fence(struct mc_engine *e, int fd, struct mc_wire_reader *w, int64_t deadline)
{
	uint64_t life = mc_wire_int(w, 8);
	size_t port = (size_t)mc_wire_int(w, 2);
	uint64_t id = mc_wire_int(w, 8);
	uint8_t bad = 0;

	if (w->bad || w->left)
		return MC_FAIL;
	/* An earlier life's connections are no more. */
	if (life == e->life)
		bad = port >= e->ports || e->side[port].t->fence(e->side[port].port, id, NULL) != 0;
	return mc_sock_send_message(fd, &bad, 1, deadline, NULL);
}

bool mc_control_serve(void *engine, int fd, int64_t deadline)
{
	struct mc_engine *e = engine;
	int rc = 0;

	for (int i = 0; i < QUESTIONS && !rc; i++) {
		struct mc_sock_message m;
		struct mc_wire_reader w;

		if (mc_sock_recv_message(fd, &m, ASK_MAX, deadline, NULL))
			break;
		w = (struct mc_wire_reader){.at = m.at, .left = m.n};
		switch (mc_wire_int(&w, 1)) {
		case MC_CONTROL_SEGMENT:
			rc = w.bad || w.left ? MC_FAIL : tell_segment(e, fd, deadline);
			break;
		case MC_CONTROL_FENCE:
			rc = confirm_fence(e, fd, &w, deadline);
			break;
		default:
			rc = MC_FAIL;
		}
		free(m.at);
	}
	return false;
}
