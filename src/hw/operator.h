/*
 * An operator by its numbers: what is measured (calib/), kept in samples (hw/opsamples.h), fitted to curves
 * (hw/curve.h) and composed into the times of prefill and decode. One row of samples is one point: an
 * operator and the dimensions that it has.
 */
#ifndef MC_HW_OPERATOR_H
#define MC_HW_OPERATOR_H

#include <stdbool.h>
#include <stdint.h>

enum mc_op {
	MC_OP_GEMM,              /* y[rows][n] = x[rows][k] w[n][k]^T */
	MC_OP_NORM,              /* RMSNorm of [rows][n], residual added */
	MC_OP_ROPE,              /* rotary embedding of [rows][heads + kv_heads][head_dim] */
	MC_OP_SWIGLU,            /* [rows][2 n] to [rows][n] */
	MC_OP_EMBED,             /* [rows] tokens to [rows][n] */
	MC_OP_KV_SCATTER,        /* K and V of [rows][kv_heads][head_dim] to pages */
	MC_OP_SAMPLE,            /* [rows][n] logits to tokens; n: vocabulary */
	MC_OP_ATTENTION_PREFILL, /* seqs sequences, each with rows new tokens after context cached ones */
	MC_OP_ATTENTION_DECODE,  /* seqs sequences of context tokens each, the new one among them */
	MC_OP_ALL_REDUCE,        /* a buffer of bytes over ranks */
	MC_OP_SEND_RECV,         /* bytes from one rank to another of the node */
	MC_OP_COPY_H2D,          /* pinned host memory to the device */
	MC_OP_COPY_D2H,
	MC_OP_COPY_H2D_PAGEABLE,
	MC_OP_COPY_D2H_PAGEABLE,
	MC_OP_COPY_HOST,  /* within host memory */
	MC_OP_DISK_READ,  /* requests of bytes, depth of them under way; seconds of one at that rate */
	MC_OP_DISK_WRITE, /* the same */
	MC_OP_LAYER, /* a whole layer of the model: seqs sequences of rows new tokens after context ones */
	MC_OP_STEP,  /* a whole iteration of the model: the same, with embedding and logits */
	MC_OP_HOST_STEP, /* what the host does for an iteration of seqs sequences, while the device waits */
	/* Between nodes: depth requests of bytes each under way to each of peers at once, cut into slices of
	 * slice bytes, over nics ports of this end; seconds of one, from when it is submitted to its end. */
	MC_OP_NET_READ,
	MC_OP_NET_WRITE,
	MC_OP_NET_BOTH, /* every second request reads, the others write: depth at least 2 */
	MC_OPS,
};

/* Of transfers between nodes. */
static inline bool mc_op_is_net(enum mc_op op)
{
	return op >= MC_OP_NET_READ && op <= MC_OP_NET_BOTH;
}

enum mc_dim {
	MC_DIM_ROWS,
	MC_DIM_CONTEXT,
	MC_DIM_SEQS,
	MC_DIM_N,
	MC_DIM_K,
	MC_DIM_HEADS,
	MC_DIM_KV_HEADS,
	MC_DIM_HEAD_DIM,
	MC_DIM_RANKS,
	MC_DIM_BYTES,
	MC_DIM_DEPTH,
	MC_DIM_SLICE,
	MC_DIM_PEERS,
	MC_DIM_NICS,
	MC_DIMS,
};

/* Names as samples and profiles write them. */
extern const char *const mc_dim_names[MC_DIMS + 1]; /* NULL-terminated */
extern const char *const mc_op_names[MC_OPS + 1];   /* NULL-terminated */
/* Bit 1 << enum mc_dim for each dimension that the operator has; the others are 0. */
extern const unsigned mc_op_dims[MC_OPS];

/* MC_OPS or MC_DIMS: no such name. */
enum mc_op mc_op_find(const char *name);
enum mc_dim mc_dim_find(const char *name);

/* Per GPU (device, rank), dimensions as that one sees them: heads, n and k are those of its share. */
struct mc_op_point {
	enum mc_op op;
	int64_t dim[MC_DIMS]; /* all at least 1, but context from 0 in prefill */
};

/* What the hardware can do at most, per GPU unless said; 0: not known. */
struct mc_op_limits {
	double flops, memory_bytes_per_s;
	double link_bytes_per_s; /* between GPUs of a node, one direction */
	double h2d_bytes_per_s;  /* of one GPU's bus, one direction */
	double disk_read_bytes_per_s, disk_write_bytes_per_s;
	double net_bytes_per_s; /* all NICs of a node at their line rates, one direction */
};

/*
 * Operations (2 for a multiply-add; attention: its two products; element-wise operators: 0) and bytes of
 * device memory (operands read once, results written once, element_bytes each; collectives and copies: bytes
 * over the link, disk: bytes; between nodes: the bytes of all requests that are under way, one direction). 0
 * for layers and steps, which a model's shape counts. Held against the exact counts of kernels/work.h by
 * tests/kernels.
 */
double mc_op_flops(const struct mc_op_point *p);
double mc_op_bytes(const struct mc_op_point *p, double element_bytes);
/* Seconds that the point takes at least: the larger of operations and bytes over what limits them; 0 where
 * that is not known. */
double mc_op_floor_s(const struct mc_op_point *p, const struct mc_op_limits *l, double element_bytes);

#endif
