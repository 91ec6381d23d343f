#include "hw/operator.h"

#include <math.h>
#include <string.h>

const char *const mc_dim_names[MC_DIMS + 1] = {"rows",  "context",  "seqs",     "n",     "k",
					       "heads", "kv_heads", "head_dim", "ranks", "bytes",
					       "depth", "slice",    "peers",    "nics",  NULL};

const char *const mc_op_names[MC_OPS + 1] = {"gemm",
					     "norm",
					     "rope",
					     "swiglu",
					     "embed",
					     "kv_scatter",
					     "sample",
					     "attention_prefill",
					     "attention_decode",
					     "all_reduce",
					     "send_recv",
					     "copy_h2d",
					     "copy_d2h",
					     "copy_h2d_pageable",
					     "copy_d2h_pageable",
					     "copy_host",
					     "disk_read",
					     "disk_write",
					     "layer",
					     "step",
					     "host_step",
					     "net_read",
					     "net_write",
					     "net_both",
					     NULL};

#define D(x)  (1u << MC_DIM_##x)
#define BATCH (D(ROWS) | D(CONTEXT) | D(SEQS))
#define HEADS (D(HEADS) | D(KV_HEADS) | D(HEAD_DIM))
#define NET   (D(BYTES) | D(DEPTH) | D(SLICE) | D(PEERS) | D(NICS))
const unsigned mc_op_dims[MC_OPS] = {
    [MC_OP_GEMM] = D(ROWS) | D(N) | D(K),
    [MC_OP_NORM] = D(ROWS) | D(N),
    [MC_OP_ROPE] = D(ROWS) | HEADS,
    [MC_OP_SWIGLU] = D(ROWS) | D(N),
    [MC_OP_EMBED] = D(ROWS) | D(N),
    [MC_OP_KV_SCATTER] = D(ROWS) | D(KV_HEADS) | D(HEAD_DIM),
    [MC_OP_SAMPLE] = D(ROWS) | D(N),
    [MC_OP_ATTENTION_PREFILL] = BATCH | HEADS,
    [MC_OP_ATTENTION_DECODE] = D(CONTEXT) | D(SEQS) | HEADS,
    [MC_OP_ALL_REDUCE] = D(BYTES) | D(RANKS),
    [MC_OP_SEND_RECV] = D(BYTES),
    [MC_OP_COPY_H2D] = D(BYTES),
    [MC_OP_COPY_D2H] = D(BYTES),
    [MC_OP_COPY_H2D_PAGEABLE] = D(BYTES),
    [MC_OP_COPY_D2H_PAGEABLE] = D(BYTES),
    [MC_OP_COPY_HOST] = D(BYTES),
    [MC_OP_DISK_READ] = D(BYTES) | D(DEPTH),
    [MC_OP_DISK_WRITE] = D(BYTES) | D(DEPTH),
    [MC_OP_LAYER] = BATCH,
    [MC_OP_STEP] = BATCH,
    [MC_OP_HOST_STEP] = D(SEQS),
    [MC_OP_NET_READ] = NET,
    [MC_OP_NET_WRITE] = NET,
    [MC_OP_NET_BOTH] = NET,
};

static int find(const char *const *names, const char *name)
{
	int i = 0;

	while (names[i] && strcmp(names[i], name))
		i++;
	return i;
}

enum mc_op mc_op_find(const char *name)
{
	return (enum mc_op)find(mc_op_names, name);
}

enum mc_dim mc_dim_find(const char *name)
{
	return (enum mc_dim)find(mc_dim_names, name);
}

/* The numbers of a point as real ones. */
#define DIM(x) ((double)p->dim[MC_DIM_##x])

/* Pairs of a query row and a token that it sees, of all sequences. */
static double pairs(const struct mc_op_point *p)
{
	if (p->op == MC_OP_ATTENTION_DECODE)
		return DIM(SEQS) * DIM(CONTEXT);
	return DIM(SEQS) * DIM(ROWS) * (DIM(CONTEXT) + (DIM(ROWS) + 1) / 2);
}

double mc_op_flops(const struct mc_op_point *p)
{
	switch (p->op) {
	case MC_OP_GEMM:
		return 2 * DIM(ROWS) * DIM(N) * DIM(K);
	case MC_OP_ATTENTION_PREFILL:
	case MC_OP_ATTENTION_DECODE:
		return 4 * pairs(p) * DIM(HEADS) * DIM(HEAD_DIM);
	default:
		return 0;
	}
}

static double attention_bytes(const struct mc_op_point *p)
{
	bool decode = p->op == MC_OP_ATTENTION_DECODE;
	double rows = decode ? 1 : DIM(ROWS), tokens = decode ? DIM(CONTEXT) : DIM(CONTEXT) + DIM(ROWS);

	return DIM(SEQS) * (2 * rows * DIM(HEADS) + 2 * tokens * DIM(KV_HEADS)) * DIM(HEAD_DIM);
}

double mc_op_bytes(const struct mc_op_point *p, double element_bytes)
{
	switch (p->op) {
	case MC_OP_GEMM:
		return (DIM(ROWS) * (DIM(N) + DIM(K)) + DIM(N) * DIM(K)) * element_bytes;
	case MC_OP_NORM:
		return (4 * DIM(ROWS) * DIM(N) + DIM(N)) * element_bytes;
	case MC_OP_ROPE:
		return DIM(ROWS) * (2 * (DIM(HEADS) + DIM(KV_HEADS)) * element_bytes + 4) * DIM(HEAD_DIM);
	case MC_OP_SWIGLU:
		return 3 * DIM(ROWS) * DIM(N) * element_bytes;
	case MC_OP_EMBED:
		return 2 * DIM(ROWS) * DIM(N) * element_bytes;
	case MC_OP_KV_SCATTER:
		return 4 * DIM(ROWS) * DIM(KV_HEADS) * DIM(HEAD_DIM) * element_bytes;
	case MC_OP_SAMPLE:
		return DIM(ROWS) * DIM(N) * 4;
	case MC_OP_ATTENTION_PREFILL:
	case MC_OP_ATTENTION_DECODE:
		return attention_bytes(p) * element_bytes;
	case MC_OP_ALL_REDUCE:
		return 2 * (DIM(RANKS) - 1) / DIM(RANKS) * DIM(BYTES);
	case MC_OP_COPY_HOST:
		return 2 * DIM(BYTES);
	case MC_OP_NET_READ:
	case MC_OP_NET_WRITE:
		return DIM(PEERS) * DIM(DEPTH) * DIM(BYTES);
	case MC_OP_NET_BOTH:
		return DIM(PEERS) * ceil(DIM(DEPTH) / 2) * DIM(BYTES);
	default:
		return DIM(BYTES); /* 0 for layers and steps */
	}
}

/* What carries an operator's bytes. */
static double bandwidth(enum mc_op op, const struct mc_op_limits *l)
{
	switch (op) {
	case MC_OP_ALL_REDUCE:
	case MC_OP_SEND_RECV:
		return l->link_bytes_per_s;
	case MC_OP_COPY_H2D:
	case MC_OP_COPY_D2H:
	case MC_OP_COPY_H2D_PAGEABLE:
	case MC_OP_COPY_D2H_PAGEABLE:
		return l->h2d_bytes_per_s;
	case MC_OP_DISK_READ:
		return l->disk_read_bytes_per_s;
	case MC_OP_DISK_WRITE:
		return l->disk_write_bytes_per_s;
	case MC_OP_NET_READ:
	case MC_OP_NET_WRITE:
	case MC_OP_NET_BOTH:
		return l->net_bytes_per_s;
	case MC_OP_COPY_HOST:
		return 0;
	default:
		return l->memory_bytes_per_s;
	}
}

double mc_op_floor_s(const struct mc_op_point *p, const struct mc_op_limits *l, double element_bytes)
{
	double rate = bandwidth(p->op, l);
	double moved = rate > 0 ? mc_op_bytes(p, element_bytes) / rate : 0;
	double done = l->flops > 0 ? mc_op_flops(p) / l->flops : 0;

	return moved > done ? moved : done;
}
