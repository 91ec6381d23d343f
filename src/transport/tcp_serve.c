/* The owner's side: reads and writes of registered memory, checked against what is registered now. */
#include <stdlib.h>
#include <unistd.h>

#include "transport/sock.h"
#include "transport/tcp_state.h"
#include "transport/wire.h"

static void answer(struct mc_tcp_stream *s, uint8_t status, const uint8_t *body, uint32_t bytes)
{
	struct mc_tcp_out *o = mc_tcp_stream_queue(s);

	o->head_n = MC_TCP_ANSWER;
	o->head[0] = status;
	mc_wire_set(o->head + 4, mc_wire_get(s->head + 4, 4), 4);
	mc_wire_set(o->head + 8, bytes, 4);
	o->body = body;
	o->body_n = bytes;
	o->key = body ? s->key : 0;
}

/* Where the peer's bytes are, or NULL. */
static uint8_t *find(struct mc_port *p, uint64_t key, uint64_t at, uint32_t bytes, unsigned access)
{
	uint8_t *found = NULL;

	pthread_mutex_lock(&p->lock);
	for (size_t i = 0; i < p->region.n; i++) {
		const struct mc_tcp_region *r = &p->region.at[i];
		uint64_t into = at - (uintptr_t)r->m.base;

		if (r->key == key && (r->access & access) && into <= r->m.bytes && bytes <= r->m.bytes - into)
			found = (uint8_t *)r->m.base + into;
	}
	pthread_mutex_unlock(&p->lock);
	return found;
}

void mc_tcp_serve_head(struct mc_tcp_stream *s)
{
	struct mc_port *p = s->loop->port;
	uint8_t op = s->head[0];
	uint32_t bytes = (uint32_t)mc_wire_get(s->head + 24, 4);
	uint8_t *at;

	if (op > MC_OP_WRITE || !bytes || bytes > p->want.limits.slice_bytes) {
		mc_tcp_stream_kill(
		    s); /* it doesn't keep to what we speak: there is no telling what follows */
		return;
	}
	s->key = mc_wire_get(s->head + 8, 8);
	at = find(p, s->key, mc_wire_get(s->head + 16, 8), bytes,
		  op == MC_OP_READ ? MC_ACCESS_READ : MC_ACCESS_WRITE);
	s->refused = !at;
	s->body = at;
	s->left = op == MC_OP_WRITE ? bytes : 0;
}

void mc_tcp_serve_body(struct mc_tcp_stream *s)
{
	uint32_t bytes = (uint32_t)mc_wire_get(s->head + 24, 4);

	if (s->refused)
		answer(s, MC_WIRE_REFUSED, NULL, 0);
	else if (s->head[0] == MC_OP_READ)
		answer(s, MC_WIRE_OK, s->body, bytes);
	else
		answer(s, MC_WIRE_OK, NULL, 0);
	s->body = NULL;
	s->key = 0;
}

/* A peer that has proved itself says the id of its connection. */
bool mc_tcp_serve(void *port, int fd, int64_t deadline)
{
	struct mc_port *p = port;
	struct mc_tcp_stream *s;
	struct mc_tcp_out *o;
	uint8_t id[8];
	bool room;

	if (mc_sock_recv(fd, id, sizeof id, deadline, NULL))
		return false;
	pthread_mutex_lock(&p->lock);
	room = p->served < p->want.limits.connections;
	p->served += room;
	pthread_mutex_unlock(&p->lock);
	if (!room)
		return false;
	s = mc_tcp_stream_new(p, fd, mc_wire_get(id, 8));
	o = mc_tcp_stream_queue(s);
	o->head_n = MC_TCP_ANSWER;
	mc_tcp_loop_call(s->loop, mc_tcp_stream_add, s);
	return true;
}
