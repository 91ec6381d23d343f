/* Transfers: cut into pieces by memories and NICs, a flow a piece. */
#include <assert.h>
#include <math.h>

#include "net/fabric_state.h"

static const double whole = 1;

/* Pieces end at multiples of this. Sums are exact, as MC_TRANSFER_BYTES are no more than 2^53 of them, and
 * equal shares are nearly equal. */
#define GRAIN 0x1p-8 /* bytes */

static double round_down(double bytes)
{
	return floor(bytes / GRAIN) * GRAIN;
}

static struct mc_piece *piece_new(struct mc_transfer *t, const struct mc_piece *from)
{
	struct mc_fabric *f = t->fabric;
	struct mc_piece *p;

	if (f->spare.next == &f->spare) {
		p = mc_xcalloc(MC_FABRIC_SLAB, sizeof *p);
		mc_vec_push(&f->chunks, p);
		for (size_t i = 0; i < MC_FABRIC_SLAB; i++)
			mc_ring_append(&f->spare, &p[i].ring);
	}
	p = mc_piece_of(f->spare.next);
	mc_ring_remove(&p->ring);
	*p = *from;
	p->of = t;
	mc_ring_append(&t->pieces, &p->ring);
	return p;
}

static void piece_free(struct mc_piece *p)
{
	mc_ring_remove(&p->ring);
	mc_ring_append(&p->of->fabric->spare, &p->ring);
}

/* Available of the piece, as mc_net counts it. */
static double produced(const struct mc_piece *p, mc_time at)
{
	mc_time end = p->of->spec.produce_end;

	if (at >= end)
		return p->bytes;
	return p->head + (p->bytes - p->head - p->tail) * ((double)(at - p->born) / (double)(end - p->born));
}

static void complete(struct mc_transfer *t)
{
	assert(t->arrived == t->spec.bytes);
	mc_transfer_drop(t);
	if (t->spec.done)
		t->spec.done(t->spec.arg, t->id);
	mc_transfer_recycle(t);
}

static void piece_done(void *arg, uint32_t flow)
{
	struct mc_piece *p = arg;
	struct mc_transfer *t = p->of;

	(void)flow;
	t->arrived += p->bytes;
	piece_free(p);
	if (t->pieces.next == &t->pieces)
		complete(t);
}

static void add_way(const struct mc_piece *p, bool out, struct mc_flow_spec *flow)
{
	const struct mc_fabric *f = p->of->fabric;
	const struct mc_fabric_host *host = &f->host[out ? p->from_host : p->to_host];
	uint32_t part[MC_NODE_WAY], n;

	if (host->both != MC_FABRIC_NONE)
		flow->link[flow->n_links++] = host->both;
	if (host->lumped)
		return (void)(flow->link[flow->n_links++] = host->link[!out]);
	n = mc_node_way(host->node, out ? p->from : p->to, out ? p->from_port : p->to_port, out, part);
	for (uint32_t i = 0; i < n; i++)
		flow->link[flow->n_links++] = host->link[part[i]];
}

/* The longest way fills a flow. */
_Static_assert(2 * (MC_NODE_WAY + 1) + 2 + MC_TRANSFER_EXTRA == MC_FLOW_LINKS, "");

static void send(struct mc_piece *p)
{
	struct mc_transfer *t = p->of;
	const struct mc_transfer_spec *spec = &t->spec;
	struct mc_fabric *f = t->fabric;
	mc_time now = f->loop->now, begin = t->born + spec->startup;
	struct mc_flow_spec flow = {.weight = p->weight,
				    .bytes = p->bytes,
				    .ahead = p->ahead,
				    .far = {spec->to, spec->from},
				    .head = p->head,
				    .tail = p->tail,
				    .startup = begin > now ? begin - now : 0,
				    .produce_end = spec->produce_end,
				    .done = piece_done,
				    .arg = p};

	for (uint32_t i = 0; i < spec->n_extra; i++)
		flow.link[flow.n_links++] = spec->extra[i];
	if (spec->from != spec->to) {
		uint32_t from = f->host[p->from_host].rack, to = f->host[p->to_host].rack;

		add_way(p, true, &flow);
		if (from != to) {
			flow.link[flow.n_links++] = f->rack_link + 2 * from;
			flow.link[flow.n_links++] = f->rack_link + 2 * to + 1;
		}
		add_way(p, false, &flow);
	}
	p->state = MC_PIECE_FLYING;
	p->flow = mc_net_flow_start(f->net, &flow);
}

/* Shares of the ports of a host in what goes from or to a stripe of its memory; NULL: no NIC is alive. */
static const double *port_shares(const struct mc_fabric *f, uint32_t h, struct mc_memory stripe,
				 double *share)
{
	const struct mc_fabric_host *host = &f->host[h];

	if (host->lumped)
		return &whole;
	return mc_node_shares(host->node, stripe, f->params.use.preferred, host->alive, share) ? share : NULL;
}

static void stall(struct mc_transfer *t, const struct mc_piece *p)
{
	piece_new(t, p)->state = MC_PIECE_STALLED;
	t->stalled++;
}

/*
 * Send what goes from one memory to another (p, not a piece of t itself) over the living NICs of both.
 * Nothing at all takes one flow.
 */
static void launch(struct mc_transfer *t, const struct mc_piece *p)
{
	struct mc_fabric *f = t->fabric;
	const double *from = port_shares(f, p->from_host, p->from, f->share_from);
	const double *to = port_shares(f, p->to_host, p->to, f->share_to);
	struct mc_shares_cross x;
	double at = 0, share;
	uint32_t i, j;

	if (t->spec.from == t->spec.to)
		from = to = &whole;
	if (!from || !to) {
		stall(t, p);
		return;
	}
	mc_shares_cross_init(&x, from, from == &whole ? 1 : mc_fabric_ports(&f->host[p->from_host]), to,
			     to == &whole ? 1 : mc_fabric_ports(&f->host[p->to_host]));
	while (mc_shares_cross_next(&x, &i, &j, &share)) {
		double end = x.at > 1 - 1e-9 ? p->bytes : round_down(p->bytes * x.at), bytes = end - at;
		struct mc_piece *piece;

		if (bytes <= 0 && p->bytes > 0)
			continue;
		at = end;
		piece = piece_new(t, p);
		piece->from_port = i;
		piece->to_port = j;
		piece->weight = p->weight * share;
		piece->ahead = p->ahead * share;
		if (bytes < p->bytes) {
			piece->bytes = bytes;
			piece->head = p->head * (bytes / p->bytes);
			piece->tail = fmin(p->tail * (bytes / p->bytes), bytes - piece->head);
		}
		send(piece);
		if (p->bytes <= 0)
			break;
	}
}

void mc_piece_suspend(struct mc_piece *p, mc_time due)
{
	struct mc_transfer *t = p->of;
	struct mc_fabric *f = t->fabric;
	double sent = mc_net_flow_cancel(f->net, p->flow), slice = f->params.slice_bytes;

	p->skip = fmin(floor(floor(sent / slice) * slice), p->bytes);
	f->resent += sent - p->skip;
	t->arrived += p->skip;
	p->state = MC_PIECE_WAITING;
	p->due = due;
	if (!mc_event_pending(&t->retry) || mc_loop_when(f->loop, &t->retry) > due)
		mc_loop_at(f->loop, &t->retry, due);
}

/* Take off what has arrived: what is left is a piece that starts now. */
static void restart(struct mc_piece *p, mc_time now)
{
	bool over = now >= p->of->spec.produce_end;
	double there = fmax(produced(p, now) - p->skip, 0);

	p->bytes -= p->skip;
	p->head = over ? 0 : fmin(there, p->bytes);
	p->tail = over ? 0 : fmin(p->tail, p->bytes - p->head);
	p->skip = p->ahead = 0;
	p->born = now;
}

static bool same_way(const struct mc_piece *a, const struct mc_piece *b)
{
	return a->from_host == b->from_host && a->to_host == b->to_host && a->from.place == b->from.place &&
	       a->from.index == b->from.index && a->to.place == b->to.place && a->to.index == b->to.index;
}

/* Launch all pieces of a list; those between the same memories go as one, so that pieces don't multiply. */
static void relaunch(struct mc_transfer *t, struct mc_ring *list)
{
	mc_time now = t->fabric->loop->now;

	while (list->next != list) {
		struct mc_piece *first = mc_piece_of(list->next), sum;

		restart(first, now);
		sum = *first;
		piece_free(first);
		for (struct mc_ring *r = list->next, *next; r != list; r = next) {
			struct mc_piece *p = mc_piece_of(r);

			next = r->next;
			if (!same_way(&sum, p))
				continue;
			restart(p, now);
			sum.bytes += p->bytes;
			sum.head += p->head;
			sum.tail += p->tail;
			sum.weight += p->weight;
			piece_free(p);
		}
		sum.head = fmin(sum.head, sum.bytes);
		sum.tail = fmin(sum.tail, sum.bytes - sum.head);
		launch(t, &sum);
	}
}

void mc_transfer_resume(struct mc_transfer *t)
{
	struct mc_ring list;

	mc_ring_init(&list);
	for (struct mc_ring *r = t->pieces.next, *next; r != &t->pieces; r = next) {
		next = r->next;
		if (mc_piece_of(r)->state != MC_PIECE_STALLED)
			continue;
		mc_ring_remove(r);
		mc_ring_append(&list, r);
	}
	t->stalled = 0;
	relaunch(t, &list);
}

void mc_transfer_fail(struct mc_transfer *t)
{
	if (t->spec.failed)
		t->spec.failed(t->spec.arg, t->id);
	mc_transfer_recycle(t);
}

/* The failover of some pieces is over; or it is doomed. */
static void retry(struct mc_loop *loop, struct mc_event *ev)
{
	struct mc_transfer *t = mc_container_of(ev, struct mc_transfer, retry);
	mc_time next_due = MC_TIME_MAX;
	struct mc_ring list;

	if (t->state == MC_TRANSFER_DOOMED) {
		mc_transfer_fail(t);
		return;
	}
	mc_ring_init(&list);
	for (struct mc_ring *r = t->pieces.next, *next; r != &t->pieces; r = next) {
		struct mc_piece *p = mc_piece_of(r);

		next = r->next;
		if (p->state != MC_PIECE_WAITING)
			continue;
		if (p->due > loop->now) {
			next_due = p->due < next_due ? p->due : next_due;
			continue;
		}
		mc_ring_remove(r);
		mc_ring_append(&list, r);
	}
	relaunch(t, &list);
	if (next_due < MC_TIME_MAX)
		mc_loop_at(loop, &t->retry, next_due);
}

static struct mc_transfer *transfer_new(struct mc_fabric *f)
{
	uint32_t first = (uint32_t)f->slab.n * MC_FABRIC_SLAB;

	if (!f->idle.n) {
		struct mc_transfer *t = mc_xcalloc(MC_FABRIC_SLAB, sizeof *t);

		mc_vec_push(&f->slab, t);
		for (uint32_t i = MC_FABRIC_SLAB; i-- > 0;) {
			t[i].fabric = f;
			t[i].id = first + i;
			mc_ring_init(&t[i].pieces);
			mc_event_init(&t[i].retry, f->params.event_kind, retry);
			mc_vec_push(&f->idle, first + i);
		}
	}
	return mc_fabric_transfer(f, f->idle.at[--f->idle.n]);
}

void mc_transfer_drop(struct mc_transfer *t)
{
	struct mc_fabric *f = t->fabric;

	mc_loop_cancel(f->loop, &t->retry);
	while (t->pieces.next != &t->pieces) {
		struct mc_piece *p = mc_piece_of(t->pieces.next);

		if (p->state == MC_PIECE_FLYING)
			t->arrived += floor(mc_net_flow_cancel(f->net, p->flow));
		piece_free(p);
	}
	t->stalled = 0;
	mc_ring_remove(&t->out);
	mc_ring_remove(&t->in);
	if (t->spec.from != t->spec.to) {
		f->end[t->spec.from].sends--;
		f->end[t->spec.to].receives--;
	}
}

void mc_transfer_recycle(struct mc_transfer *t)
{
	t->state = MC_TRANSFER_FREE;
	mc_vec_push(&t->fabric->idle, t->id);
}

/* The common refinement of two divisions of the unit interval into equal parts; at is in 1 / (na * nb). */
struct even_cross {
	uint32_t na, nb, i, j;
	uint64_t at;
};

static bool even_next(struct even_cross *x, uint32_t *i, uint32_t *j, double *share)
{
	uint64_t end_a = (uint64_t)(x->i + 1) * x->nb, end_b = (uint64_t)(x->j + 1) * x->na;
	uint64_t end = end_a < end_b ? end_a : end_b;

	if (x->i == x->na)
		return false;
	*i = x->i;
	*j = x->j;
	*share = (double)(end - x->at) / (double)((uint64_t)x->na * x->nb);
	x->at = end;
	x->i += end == end_a;
	x->j += end == end_b;
	return true;
}

static struct mc_memory stripe_of(const struct mc_fabric *f, uint32_t h, struct mc_memory memory, uint32_t i,
				  uint32_t *n)
{
	struct mc_node_use use = f->params.use;

	*n = 1;
	if (f->host[h].lumped)
		return use.memory;
	if (memory.place != MC_MEMORY_DEFAULT)
		use.memory = memory;
	return mc_node_stripe(f->host[h].node, use, i, n);
}

/* Where in the transfer we are: pieces go up to the end of their share. */
struct cursor {
	double share, at;
};

static void launch_part(struct mc_transfer *t, struct mc_piece *p, struct cursor *c)
{
	double bytes = t->spec.bytes, end;

	c->share += p->weight;
	end = c->share > 1 - 1e-9 ? bytes : round_down(bytes * c->share);
	p->of = t;
	p->born = t->born;
	p->bytes = end - c->at;
	p->ahead = mc_transfer_ahead(t) * p->weight;
	p->tail = bytes > 0 ? fmin(t->spec.tail * (p->bytes / bytes), p->bytes) : 0;
	c->at = end;
	if (p->bytes > 0 || (bytes <= 0 && c->share <= p->weight))
		launch(t, p);
}

/* Cut by memories: nodes of one end by nodes of the other, stripes by stripes; launch() cuts by NICs. */
static void cut(struct mc_transfer *t)
{
	const struct mc_transfer_spec *spec = &t->spec;
	const struct mc_fabric *f = t->fabric;
	const struct mc_fabric_end *from = &f->end[spec->from], *to = &f->end[spec->to];
	struct even_cross hosts = {.na = from->hosts, .nb = to->hosts};
	struct cursor c = {0};
	uint32_t a, b, i, j;
	double node, share;

	if (from->hosts == 1 && to->hosts == 1 && f->host[from->host].lumped && f->host[to->host].lumped) {
		launch_part(t, &(struct mc_piece){.from_host = from->host, .to_host = to->host, .weight = 1},
			    &c);
		return;
	}
	while (even_next(&hosts, &a, &b, &node)) {
		struct even_cross stripes = {0};

		stripe_of(f, from->host + a, spec->from_memory, 0, &stripes.na);
		stripe_of(f, to->host + b, spec->to_memory, 0, &stripes.nb);
		while (even_next(&stripes, &i, &j, &share)) {
			struct mc_piece p = {
			    .from_host = from->host + a, .to_host = to->host + b, .weight = node * share};

			p.from = stripe_of(f, p.from_host, spec->from_memory, i, &stripes.na);
			p.to = stripe_of(f, p.to_host, spec->to_memory, j, &stripes.nb);
			launch_part(t, &p, &c);
		}
	}
}

static void check_spec(const struct mc_fabric *f, const struct mc_transfer_spec *spec)
{
	bool own = spec->from_memory.place != MC_MEMORY_DEFAULT || spec->to_memory.place != MC_MEMORY_DEFAULT;

	assert(spec->from < f->n_ends && spec->to < f->n_ends);
	assert(!own || f->grain == MC_FABRIC_NIC);
	assert(spec->n_extra <= MC_TRANSFER_EXTRA && (spec->from != spec->to || spec->n_extra));
	assert(spec->bytes >= 0 && spec->bytes == floor(spec->bytes) && spec->bytes <= MC_TRANSFER_BYTES);
	assert(spec->tail >= 0 && spec->tail <= spec->bytes && spec->startup >= 0);
}

uint32_t mc_fabric_start(struct mc_fabric *f, const struct mc_transfer_spec *spec)
{
	struct mc_transfer *t = transfer_new(f);

	check_spec(f, spec);
	t->spec = *spec;
	t->born = f->loop->now;
	t->arrived = 0;
	if (f->end[spec->from].down || f->end[spec->to].down) {
		t->state = MC_TRANSFER_DOOMED;
		mc_ring_init(&t->out);
		mc_ring_init(&t->in);
		mc_loop_at(f->loop, &t->retry, f->loop->now);
		return t->id;
	}
	t->state = MC_TRANSFER_RUNNING;
	mc_ring_append(&f->end[spec->from].out, &t->out);
	mc_ring_append(&f->end[spec->to].in, &t->in);
	if (spec->from != spec->to) {
		f->end[spec->from].sends++;
		f->end[spec->to].receives++;
		cut(t);
	} else {
		struct mc_piece p = {.weight = 1};

		launch_part(t, &p, &(struct cursor){0});
	}
	return t->id;
}

double mc_fabric_arrived(const struct mc_fabric *f, uint32_t id)
{
	return mc_fabric_transfer(f, id)->arrived;
}

double mc_fabric_cancel(struct mc_fabric *f, uint32_t id)
{
	struct mc_transfer *t;

	assert(id < f->slab.n * MC_FABRIC_SLAB);
	t = mc_fabric_transfer(f, id);
	assert(t->state != MC_TRANSFER_FREE && t->state != MC_TRANSFER_CANCELLED);
	if (t->state == MC_TRANSFER_FAILED) { /* in the list of those that are being told */
		t->state = MC_TRANSFER_CANCELLED;
		return t->arrived;
	}
	if (t->state == MC_TRANSFER_DOOMED)
		mc_loop_cancel(f->loop, &t->retry);
	else
		mc_transfer_drop(t);
	mc_transfer_recycle(t);
	return t->arrived;
}
