/*
 * The view: everything that a scheduling policy may know about a cluster, and nothing else. It knows neither
 * an event queue nor a socket; the simulator fills it in virtual time, a live engine in real time. Policies
 * get it const.
 *
 * All of it is what a real Conductor could know: its own predictions, and what nodes report when something
 * ends. Output lengths and future arrivals are not in it.
 */
#ifndef MC_SCHED_VIEW_H
#define MC_SCHED_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "base/time.h"
#include "kv/tree.h"
#include "model/cost.h"
#include "sched/rank.h"

/* A prefill instance: one node, or a group of nodes that share a prompt by chunked pipeline parallelism. */
struct mc_view_prefill {
	mc_time free_at; /* predicted end of all that was given to it; in the past: idle since then */
	/* Where instances serve by deadline (engine/queue.h), free_at is the end of those that can be in
	 * time, and this is the time of those that cannot, behind them; else 0. A prompt that will be late
	 * waits longer than T_queue. */
	mc_time late;
};

/* A node of the KV pool: prefill instances first, then decode instances. Its number is its node number in the
 * tree. */
struct mc_view_node {
	/* What it is sending, as it knows itself: transfers at full speed (fetches, late hand-overs), and
	 * streams that go layer by layer with a prefill, as fast as that makes them. */
	uint32_t sends, streams;
	int64_t stream_bytes_per_s; /* of all streams */
	uint32_t reads;             /* reads of its SSD that run */
	bool down;                  /* known to be: no choice and no source (mc_view_down) */
};

/* Instances that are not down, ascending. */
struct mc_view_living {
	uint32_t n, *at;
};

/* A decode instance, with the requests assigned to it, those still in prefill included. */
struct mc_view_decode {
	int64_t batch;                    /* requests */
	int64_t context;                  /* prompt tokens of them all */
	mc_time load;                     /* predicted iteration time of that batch */
	int64_t running, running_context; /* of those, the requests whose KV has all come */
	int64_t kv; /* tokens of KV, with its last token, of those that have room in VRAM or wait for it: from
		       the start of prefill on */
};

/* Whose cached blocks a prefill instance may fetch: a view's node groups in the tree up to here. */
enum mc_sources {
	MC_SOURCES_NONE,    /* each has its own cache alone */
	MC_SOURCES_PREFILL, /* those of prefill instances: group 0 */
	MC_SOURCES_ALL,     /* those of decode instances as well: groups 0 and 1 */
};

struct mc_horizon;

struct mc_view {
	mc_time now;
	const struct mc_cost *cost;
	const struct mc_tree *tree; /* who holds what */
	enum mc_sources sources;    /* whose blocks may be fetched */
	int64_t block_tokens;
	uint32_t group; /* nodes of a prefill instance */
	int64_t chunk;  /* tokens of a prefill chunk */
	/* Nodes that do both: decode instance i is prefill instance i, n_prefill = n_decode. What they hold
	 * is in VRAM and needs no load; a prompt takes a pass for each `chunk`. */
	bool coupled;
	int64_t kv_limit; /* coupled: tokens of KV of one request, at most */
	uint32_t n_prefill, n_decode;
	struct mc_view_prefill *prefill;
	struct mc_view_decode *decode;
	struct mc_view_node *node; /* n_prefill + n_decode */
	uint32_t ssd; /* the SSD of node k is node ssd + k of the tree; MC_NONE: there are none. Decode
	instances have one only where they are sources */
	struct mc_view_living prefill_living, decode_living;
	struct mc_rank prefill_rank;      /* by free_at; those that are down last */
	struct mc_rank decode_rank;       /* by load; likewise */
	int64_t max_batch;                /* requests of a decode iteration; 0: no limit */
	const struct mc_horizon *horizon; /* who decodes when; NULL: nobody asks */
};

/* A request as a Conductor sees it. */
struct mc_prompt {
	uint64_t request;      /* its number in the trace, for messages */
	uint32_t tokens;       /* input length, n >= 1 */
	uint32_t max_tokens;   /* limit of the output that the client asks for; not a prediction */
	mc_time arrival;       /* of this attempt: all that a server can know */
	mc_time ttft, tbt;     /* its objectives; 0: none */
	double admit_load;     /* load of a pool above which it is refused: 1, less for those who go first */
	uint32_t true_output;  /* tokens; what oracles alone may read. A live engine does not know: 0 */
	const uint64_t *block; /* ids, prefix-chained */
	uint32_t n_blocks;
	const struct mc_step *step; /* its way through the tree: mc_tree_trail */
	uint32_t n_steps;
};

/* Tokens of KV with its last token: the last one made has none. */
static inline int64_t mc_prompt_kv(const struct mc_prompt *p)
{
	return (int64_t)p->tokens + (p->max_tokens > 1 ? p->max_tokens - 1 : 0);
}

/* cost, tree, block_tokens, group, chunk are set by the caller afterwards; sources are prefill instances,
 * there are no SSDs. */
void mc_view_init(struct mc_view *view, uint32_t n_prefill, uint32_t n_decode);
void mc_view_fini(struct mc_view *view);

/* For the composition roots: what changed. O(log instances). */
void mc_view_prefill_set(struct mc_view *view, uint32_t i, mc_time free_at);
void mc_view_decode_add(struct mc_view *view, uint32_t i, int64_t batch, int64_t context);
/* A request is announced to its instance: it takes room (1), or gives it up (-1). */
void mc_view_decode_announce(struct mc_view *view, uint32_t i, const struct mc_prompt *p, int sign);
/* All KV of a request has come (1), or it has ended (-1). */
void mc_view_decode_run(struct mc_view *view, uint32_t i, const struct mc_prompt *p, int sign);
/* A node is known to be down, or up again. O(nodes). */
void mc_view_down(struct mc_view *view, uint32_t node, bool down);

/* The first with at least this number, or the first of all; there is one. */
uint32_t mc_view_living_from(const struct mc_view_living *l, uint32_t number);

/* Is any node down? */
static inline bool mc_view_crippled(const struct mc_view *view)
{
	return view->prefill_living.n < view->n_prefill || view->decode_living.n < view->n_decode;
}

/* Predicted wait at instance i: T_queue of Algorithm 1. */
static inline mc_time mc_view_queue(const struct mc_view *view, uint32_t i)
{
	mc_time t = view->prefill[i].free_at - view->now;

	return t > 0 ? t : 0;
}

/* The node of decode instance i. */
static inline uint32_t mc_view_decode_node(const struct mc_view *view, uint32_t i)
{
	return view->coupled ? i : view->n_prefill + i;
}

/* The node that a node of the tree belongs to: itself, or the one whose SSD it is. */
static inline uint32_t mc_view_home(const struct mc_view *view, uint32_t node)
{
	return node < view->ssd ? node : node - view->ssd;
}

/* How many nodes make it up, with their NICs. */
static inline uint32_t mc_view_width(const struct mc_view *view, uint32_t node)
{
	return node < view->n_prefill ? view->group : 1;
}

/* Bytes/s that a further transfer out of a node would get: a fair share of what its streams leave, and no
 * less than a fair share of all. */
double mc_view_send_share(const struct mc_view *view, uint32_t node);

/* Leading blocks that instance i holds, resident or promised: m_i of Algorithm 1. */
static inline uint32_t mc_view_match(const struct mc_view *view, const struct mc_prompt *p, uint32_t i)
{
	return mc_tree_match(view->tree, p->step, p->n_steps, i);
}

/* Prompt tokens that need no computing when the leading `blocks` blocks are cached: at least the last token
 * is computed. */
static inline uint32_t mc_view_hit_tokens(const struct mc_view *view, const struct mc_prompt *p,
					  uint32_t blocks)
{
	uint64_t t = (uint64_t)blocks * (uint64_t)view->block_tokens;

	return t < p->tokens ? (uint32_t)t : p->tokens - 1;
}

/* Tokens stored in blocks [from, to) of a prompt; its last block may be partial. */
static inline uint32_t mc_view_span_tokens(const struct mc_view *view, const struct mc_prompt *p,
					   uint32_t from, uint32_t to)
{
	uint64_t end = (uint64_t)to * (uint64_t)view->block_tokens,
		 begin = (uint64_t)from * (uint64_t)view->block_tokens;

	end = end < p->tokens ? end : p->tokens;
	return end > begin ? (uint32_t)(end - begin) : 0;
}

/* Predicted time from the start of a prompt's prefill to its end, the first `cached` of n tokens being in
 * DRAM: T_prefill. */
mc_time mc_view_prefill_time(const struct mc_view *view, uint32_t n, uint32_t cached);
/* Can a decode instance hold it all, prompt and output? A one-token output never reaches decode, but coupled
 * nodes have prompts there, too. */
static inline bool mc_view_can_hold(const struct mc_view *view, const struct mc_prompt *p)
{
	if (view->coupled)
		return mc_prompt_kv(p) <= view->kv_limit;
	return p->max_tokens <= 1 || mc_prompt_kv(p) <= view->cost->vram_kv_tokens;
}

/* How long it keeps an instance from starting the next one: the same for one node, a stage's share for a
 * group. */
mc_time mc_view_prefill_occupancy(const struct mc_view *view, uint32_t n, uint32_t cached);

#endif
