/*
 * Inside of mc_fabric, shared by the files of this room and by nobody else.
 *
 * fabric.c builds it and answers for links; transfer.c cuts transfers into pieces, one flow each, and sends
 * them; fault.c takes NICs and endpoints away and gives them back.
 */
#ifndef MC_NET_FABRIC_STATE_H
#define MC_NET_FABRIC_STATE_H

#include "base/vec.h"
#include "net/fabric.h"
#include "net/flow.h"

/* Intrusive lists; the head is a member of none. */
struct mc_ring {
	struct mc_ring *prev, *next;
};

static inline void mc_ring_init(struct mc_ring *r)
{
	r->prev = r->next = r;
}

static inline void mc_ring_append(struct mc_ring *head, struct mc_ring *r)
{
	r->prev = head->prev;
	r->next = head;
	head->prev->next = r;
	head->prev = r;
}

static inline void mc_ring_remove(struct mc_ring *r)
{
	r->prev->next = r->next;
	r->next->prev = r->prev;
	mc_ring_init(r);
}

/* A node, or a lumped endpoint: one port, whose links are part 0 (out) and 1 (in). */
struct mc_fabric_host {
	const struct mc_node *node;
	bool lumped;
	uint32_t rack;
	uint32_t *link; /* by part; MC_FABRIC_NONE: no limit */
	uint32_t both;  /* what goes either way crosses it; MC_FABRIC_NONE: full duplex */
	bool *alive;    /* of the NICs; NULL: lumped */
};

struct mc_fabric_end {
	char *name;
	uint32_t width;
	const struct mc_node *node;
	double nic_bytes_per_s; /* sent by one of its NICs, as their mean */
	uint32_t host, hosts;   /* the first, how many */
	bool down;
	uint32_t sends, receives;
	struct mc_ring out, in; /* of transfers, in the order of their starts */
};

enum mc_piece_state {
	MC_PIECE_FLYING,
	MC_PIECE_WAITING, /* for the end of the failover */
	MC_PIECE_STALLED, /* for a NIC */
};

/* What goes from a memory to a memory, over one pair of ports. */
struct mc_piece {
	struct mc_ring ring;
	struct mc_transfer *of;
	enum mc_piece_state state;
	uint32_t flow;
	uint32_t from_host, to_host, from_port, to_port;
	struct mc_memory from, to; /* one stripe each */
	mc_time born;
	double bytes, head, tail; /* as of a flow that started at `born` */
	double weight;
	double ahead; /* as of a flow; nothing of what is sent again */
	double skip;  /* WAITING, STALLED: bytes that have arrived */
	mc_time due;  /* WAITING */
};

enum mc_transfer_state {
	MC_TRANSFER_FREE,
	MC_TRANSFER_RUNNING,
	MC_TRANSFER_DOOMED,    /* an end is down: fails by an event */
	MC_TRANSFER_FAILED,    /* about to be told */
	MC_TRANSFER_CANCELLED, /* failed, but nobody wants to know any more */
};

struct mc_transfer {
	struct mc_event retry;
	struct mc_fabric *fabric;
	struct mc_ring out, in; /* of the ends */
	struct mc_ring pieces;
	uint32_t id, stalled; /* pieces that are */
	enum mc_transfer_state state;
	mc_time born;
	double arrived;
	struct mc_transfer_spec spec;
};

struct mc_fabric_link {
	double base;         /* capacity without faults */
	uint32_t host, part; /* of what; MC_FABRIC_NONE: named, or (part) both ways */
	char *name;
};

#define MC_FABRIC_SLAB 64

struct mc_fabric {
	struct mc_loop *loop;
	struct mc_net *net; /* its links are the fabric's */
	struct mc_fabric_params params;
	enum mc_fabric_grain grain;
	struct mc_node *node; /* n_nodes different ones */
	double **nic;         /* their NICs, slices counted in */
	uint32_t n_nodes, n_ends, n_hosts, n_racks;
	struct mc_fabric_end *end;
	struct mc_fabric_host *host;
	uint32_t rack_link; /* up and down of every rack */
	struct {
		MC_VEC(struct mc_fabric_link)
	} link;
	struct {
		MC_VEC(struct mc_transfer *)
	} slab; /* of MC_FABRIC_SLAB transfers */
	struct {
		MC_VEC(uint32_t)
	} idle;
	struct {
		MC_VEC(struct mc_piece *)
	} chunks;                      /* of MC_FABRIC_SLAB pieces */
	struct mc_ring spare;          /* pieces */
	double *share_from, *share_to; /* scratch: of the NICs */
	double resent;
};

static inline struct mc_transfer *mc_fabric_transfer(const struct mc_fabric *f, uint32_t id)
{
	return &f->slab.at[id / MC_FABRIC_SLAB][id % MC_FABRIC_SLAB];
}

static inline uint32_t mc_fabric_ports(const struct mc_fabric_host *host)
{
	return host->lumped ? 1 : host->node->nics;
}

#define mc_ring_each(r, head) for (struct mc_ring *r = (head)->next; r != (head); r = r->next)
#define mc_piece_of(r)        mc_container_of(r, struct mc_piece, ring)

/* transfer.c. The flow of the piece is no more; what has arrived is kept, the rest is to be resent at `due`.
 */
void mc_piece_suspend(struct mc_piece *p, mc_time due);
/* Send what is stalled, over whatever NICs live. */
void mc_transfer_resume(struct mc_transfer *t);
/* Out of the lists of the ends; its flows and pieces are no more. */
void mc_transfer_drop(struct mc_transfer *t);
/* Tell the owner, and free the id. */
void mc_transfer_fail(struct mc_transfer *t);
void mc_transfer_recycle(struct mc_transfer *t);

/* fabric.c. Capacity of the sender's NICs that the transfer takes beside that of its bytes, in bytes: for
 * itself, and as its last slice may be less than a whole one, of which the NICs' speed is. */
double mc_transfer_ahead(const struct mc_transfer *t);

#endif
