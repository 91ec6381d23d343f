/* The side that asks. */
#include <string.h>

#include "transport/tcp_state.h"
#include "transport/wire.h"

static void report(struct mc_tcp_stream *s, struct mc_slice *slice, enum mc_wire status, const char *why)
{
	struct mc_completion c = {.slice = slice, .status = status, .why = why};
	struct mc_port *p = s->loop->port;

	atomic_fetch_sub_explicit(&s->load, slice->bytes, memory_order_relaxed);
	pthread_mutex_lock(&p->lock);
	mc_vec_push(&p->done, c);
	mc_vec_push(&p->of, s->ep);
	pthread_mutex_unlock(&p->lock);
	s->loop->completed = true;
}

static struct mc_slice *first(struct mc_tcp_stream *s)
{
	struct mc_slice *slice = s->wait;

	s->wait = slice->next;
	if (!s->wait)
		s->wait_end = &s->wait;
	return slice;
}

void mc_tcp_client_lost(struct mc_tcp_stream *s, const char *why)
{
	while (s->wait)
		report(s, first(s), MC_WIRE_LOST, why);
	s->left = 0;
}

/* Queue the heads of what has come to the end of the list of those that wait. */
void mc_tcp_client_start(struct mc_tcp_stream *s)
{
	uint64_t skip = s->asked - s->answered;
	struct mc_slice *slice = s->wait;

	if (s->dead) {
		mc_tcp_client_lost(s, "the connection broke");
		return;
	}
	while (skip--)
		slice = slice->next;
	for (; slice; slice = slice->next) {
		struct mc_tcp_out *o = mc_tcp_stream_queue(s);

		o->head_n = MC_TCP_QUESTION;
		o->head[0] = (uint8_t)slice->op;
		mc_wire_set(o->head + 4, s->asked++, 4);
		mc_wire_set(o->head + 8, slice->remote_key, 8);
		mc_wire_set(o->head + 16, slice->remote, 8);
		mc_wire_set(o->head + 24, slice->bytes, 4);
		if (slice->op == MC_OP_WRITE) {
			o->body = slice->local;
			o->body_n = slice->bytes;
		}
	}
	mc_tcp_stream_flush(s);
}

void mc_tcp_client_head(struct mc_tcp_stream *s)
{
	uint32_t bytes = (uint32_t)mc_wire_get(s->head + 8, 4), want = 0;

	/* An answer to what was sent whole; else the peer could have us end what is still being sent. */
	if (s->head[0] > MC_WIRE_REFUSED || s->answered >= s->sent ||
	    mc_wire_get(s->head + 4, 4) != (s->answered & UINT32_MAX)) {
		mc_tcp_stream_kill(s);
		return;
	}
	if (s->wait->op == MC_OP_READ && s->head[0] == MC_WIRE_OK)
		want = s->wait->bytes;
	if (bytes != want) {
		mc_tcp_stream_kill(s);
		return;
	}
	s->body = s->wait->local;
	s->left = bytes;
}

void mc_tcp_client_body(struct mc_tcp_stream *s)
{
	bool ok = s->head[0] == MC_WIRE_OK;

	s->answered++;
	s->body = NULL;
	report(s, first(s), ok ? MC_WIRE_OK : MC_WIRE_REFUSED,
	       ok ? NULL : "it has no such memory, or doesn't let it be used so");
}
