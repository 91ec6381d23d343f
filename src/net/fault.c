/* NICs and endpoints that go away and come back. */
#include <assert.h>

#include "net/fabric_state.h"

static struct mc_transfer *transfer_of(struct mc_ring *r, bool out)
{
	return out ? mc_container_of(r, struct mc_transfer, out) : mc_container_of(r, struct mc_transfer, in);
}

static void suspend_pieces(struct mc_transfer *t, uint32_t host, uint32_t nic)
{
	struct mc_fabric *f = t->fabric;

	mc_ring_each(r, &t->pieces)
	{
		struct mc_piece *p = mc_piece_of(r);

		if (p->state != MC_PIECE_FLYING)
			continue;
		if ((p->from_host == host && p->from_port == nic) ||
		    (p->to_host == host && p->to_port == nic))
			mc_piece_suspend(p, f->loop->now + f->params.failover);
	}
}

static bool *nic_of(const struct mc_fabric *f, uint32_t e, uint32_t nic, uint32_t *host)
{
	uint32_t nics;

	assert(e < f->n_ends);
	nics = f->end[e].node->nics;
	assert(f->grain == MC_FABRIC_NIC && nic < nics * f->end[e].width);
	*host = f->end[e].host + nic / nics;
	return &f->host[*host].alive[nic % nics];
}

void mc_fabric_nic_set(struct mc_fabric *f, uint32_t e, uint32_t nic, bool up)
{
	uint32_t host;
	bool *alive = nic_of(f, e, nic, &host);

	if (*alive == up)
		return;
	*alive = up;
	for (int out = 0; out < 2; out++) {
		struct mc_ring *head = out ? &f->end[e].out : &f->end[e].in;

		mc_ring_each(r, head)
		{
			struct mc_transfer *t = transfer_of(r, out);

			if (t->spec.from == t->spec.to)
				continue;
			if (!up)
				suspend_pieces(t, host, nic % f->end[e].node->nics);
			else if (t->stalled)
				mc_transfer_resume(t);
		}
	}
}

bool mc_fabric_nic_up(const struct mc_fabric *f, uint32_t e, uint32_t nic)
{
	uint32_t host;

	return *nic_of(f, e, nic, &host);
}

bool mc_fabric_endpoint_up(const struct mc_fabric *f, uint32_t e)
{
	assert(e < f->n_ends);
	return !f->end[e].down;
}

void mc_fabric_endpoint_set(struct mc_fabric *f, uint32_t e, bool up)
{
	struct {
		MC_VEC(struct mc_transfer *)
	} lost = {0};

	assert(e < f->n_ends);
	if (f->end[e].down == !up)
		return;
	f->end[e].down = !up;
	for (int out = 0; out < 2; out++) {
		struct mc_ring *head = out ? &f->end[e].out : &f->end[e].in;

		while (!up && head->next != head) {
			struct mc_transfer *t = transfer_of(head->next, out);

			mc_transfer_drop(t);
			t->state = MC_TRANSFER_FAILED;
			mc_vec_push(&lost, t);
		}
	}
	/* The owner may start and cancel others meanwhile, also of those that are still to be told. */
	for (size_t i = 0; i < lost.n; i++) {
		if (lost.at[i]->state == MC_TRANSFER_FAILED)
			mc_transfer_fail(lost.at[i]);
		else
			mc_transfer_recycle(lost.at[i]);
	}
	mc_vec_fini(&lost);
}
