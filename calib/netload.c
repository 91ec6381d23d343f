#include "calib/netload.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/time.h"
#include "base/vec.h"

enum { LOOK_MS = 50 }; /* how often a stop is looked for */

/* Requests under way to one peer, the oldest at `first`. */
struct lane {
	uint64_t *batch;
	unsigned first, n,
	    turn; /* turn: requests so far, of which every second one writes if both are asked for */
};

struct mc_netload {
	struct mc_net *net;
	struct mc_netpoint p;
	const volatile sig_atomic_t *stop;
	int64_t stride;
	uint64_t local, remote; /* where the next one goes in both memories */
	uint64_t seed;
	struct lane *lane;
	bool broken;
};

static bool writes(const struct mc_netload *l, unsigned turn)
{
	return l->p.op == MC_OP_NET_WRITE || (l->p.op == MC_OP_NET_BOTH && turn % 2);
}

/* Places of a request in the halves of both memories. */
struct places {
	uint64_t local, remote;
};

static struct mc_request request(const struct mc_netload *l, size_t peer, bool write, struct places at)
{
	const struct mc_netpeer *p = &l->net->peer[peer];

	return (struct mc_request){
	    .op = write ? MC_OP_WRITE : MC_OP_READ,
	    .peer = p->number,
	    .local = write ? mc_netmemory_source(&l->net->memory, at.local)
			   : mc_netmemory_target(&l->net->memory, at.local),
	    .remote = (write ? p->info.target : p->info.source) + at.remote,
	    .bytes = (uint64_t)l->p.bytes,
	};
}

static int named(const struct mc_netload *l, size_t peer, struct mc_err *err)
{
	if (err) {
		mc_err_at(err, NULL, 0, 0, l->net->peer[peer].address);
		err->rc = MC_FAIL;
	}
	return MC_FAIL;
}

static int submit(struct mc_netload *l, size_t peer, struct mc_err *err)
{
	struct lane *a = &l->lane[peer];
	const struct mc_net *n = l->net;
	const uint64_t stride = (uint64_t)l->stride;
	const struct places at = {mc_net_advance(&l->local, stride, n->memory.half),
				  mc_net_advance(&l->remote, stride, n->peer[peer].info.half)};
	uint64_t *batch = &a->batch[(a->first + a->n) % (unsigned)l->p.depth];
	struct mc_request r;

	r = request(l, peer, writes(l, a->turn++), at);
	if (mc_engine_submit(n->engine, &r, 1, batch, err))
		return named(l, peer, err);
	a->n++;
	return 0;
}

/* Has the peer's oldest ended? Waits so long for it. */
static int ended(struct mc_netload *l, size_t peer, int64_t wait_ns, bool *done, struct mc_err *err)
{
	struct lane *a = &l->lane[peer];
	uint64_t batch = a->batch[a->first];
	struct mc_batch_status s;
	int rc = mc_engine_wait(l->net->engine, batch, wait_ns, &s, err);

	*done = !rc && s.state == MC_BATCH_DONE;
	if (!rc && s.state == MC_BATCH_FAILED)
		rc = mc_err_set(err, MC_FAIL, "%.400s", s.err.text);
	if (rc)
		return named(l, peer, err);
	if (*done) {
		mc_engine_free(l->net->engine, batch, NULL);
		a->first = (a->first + 1) % (unsigned)l->p.depth;
		a->n--;
	}
	return 0;
}

static bool stopped(const struct mc_netload *l)
{
	return l->stop && *l->stop;
}

/* One end, of any peer; *from: the peer whose oldest is waited for if none has ended. */
static int one(struct mc_netload *l, size_t *from, struct mc_err *err)
{
	size_t peers = (size_t)l->p.peers;
	bool done = false;
	int rc = 0;

	for (size_t i = 0; i < peers && !rc && !done && peers > 1; i++) {
		size_t k = (*from + i) % peers;

		rc = l->lane[k].n ? ended(l, k, 0, &done, err) : 0;
		if (done)
			*from = k;
	}
	while (!rc && !done && !stopped(l))
		rc = ended(l, *from, LOOK_MS * MC_NS_PER_MS, &done, err);
	return rc;
}

int mc_netload_new(struct mc_netload **out, const struct mc_netload_want *want, struct mc_err *err)
{
	struct mc_netload *l = mc_xcalloc(1, sizeof *l);
	size_t peers = (size_t)want->point->peers;
	int rc = 0;

	*l = (struct mc_netload){.net = want->net,
				 .p = *want->point,
				 .stop = want->stop,
				 .stride = mc_net_stride(want->point->bytes),
				 .seed = mc_hash_u64(want->seed)};
	l->lane = mc_xcalloc(peers, sizeof *l->lane);
	for (size_t k = 0; k < peers; k++)
		l->lane[k].batch = mc_xcalloc((size_t)l->p.depth, sizeof *l->lane[k].batch);
	for (int64_t d = 0; d < l->p.depth && !rc; d++)
		for (size_t k = 0; k < peers && !rc; k++)
			rc = submit(l, k, err);
	if (rc) {
		l->broken = true;
		mc_netload_free(l);
		l = NULL;
	}
	*out = l;
	return rc;
}

int mc_netload_turn(struct mc_netload *l, double *seconds, struct mc_err *err)
{
	int64_t from = mc_clock_ns();
	size_t peer = 0;
	int rc = 0;

	for (int64_t i = 0; i < l->p.depth * l->p.peers && !rc && !stopped(l); i++) {
		rc = one(l, &peer, err);
		if (!rc && !stopped(l))
			rc = submit(l, peer, err);
		peer = (peer + 1) % (size_t)l->p.peers;
	}
	*seconds = (double)(mc_clock_ns() - from) * 1e-9;
	l->broken |= rc != 0;
	return rc;
}

static int drain(struct mc_netload *l, struct mc_err *err)
{
	int rc = 0;

	for (size_t k = 0; k < (size_t)l->p.peers && !rc; k++)
		while (l->lane[k].n && !rc && !stopped(l)) {
			bool done;

			rc = ended(l, k, LOOK_MS * MC_NS_PER_MS, &done, err);
		}
	l->broken |= rc || stopped(l);
	return rc;
}

/* A batch that is waited for. */
static int whole(struct mc_netload *l, const struct mc_request *r, size_t n, struct mc_err *err)
{
	struct mc_batch_status s = {.state = MC_BATCH_PENDING};
	uint64_t batch;
	int rc = mc_engine_submit(l->net->engine, r, n, &batch, err);

	while (!rc && s.state == MC_BATCH_PENDING && !stopped(l))
		rc = mc_engine_wait(l->net->engine, batch, LOOK_MS * MC_NS_PER_MS, &s, err);
	l->broken |= s.state != MC_BATCH_DONE;
	if (rc || stopped(l))
		return rc;
	mc_engine_free(l->net->engine, batch, NULL);
	if (s.state == MC_BATCH_DONE)
		return 0;
	mc_err_set(err, MC_FAIL, "%.400s", s.err.text);
	return named(l, s.request / (size_t)l->p.depth, err);
}

struct verify {
	struct mc_request *r, *back; /* back: what was written, read again */
	struct mc_netmemory_expected *x;
	size_t n, backs;
};

/* Any place of a source, at a line of a cache. */
static uint64_t any_place(struct mc_netload *l, uint64_t half)
{
	l->seed = mc_hash_u64(l->seed + 1);
	return l->seed % ((half - (uint64_t)l->p.bytes) / 64 + 1) * 64;
}

/* Requests of one peer after those of the other; the k-th has its place of the target. */
static void plan(struct mc_netload *l, struct verify *v)
{
	const struct mc_net *n = l->net;
	unsigned depth = (unsigned)l->p.depth;

	for (size_t i = 0; i < v->n; i++) {
		size_t peer = i / depth;
		const struct mc_netinfo *info = &n->peer[peer].info;
		uint64_t own = i * (uint64_t)l->stride, its = i % depth * (uint64_t)l->stride, at;
		bool write = writes(l, (unsigned)(i % depth));

		at = any_place(l, write ? n->memory.half : info->half);
		v->x[i] = (struct mc_netmemory_expected){own, (size_t)l->p.bytes,
							 write ? n->memory.seed : info->seed, at};
		v->r[i] =
		    request(l, peer, write, write ? (struct places){at, its} : (struct places){own, at});
		if (!write)
			continue;
		v->back[v->backs] = request(l, peer, false, (struct places){own, 0});
		v->back[v->backs++].remote = info->target + its;
	}
}

static int verify(struct mc_netload *l, struct verify *v, struct mc_err *err)
{
	int rc = mc_netmemory_spoil(&l->net->memory, 0, v->n * (size_t)l->stride, err);

	if (!rc)
		rc = whole(l, v->r, v->n, err);
	if (!rc && v->backs && !stopped(l))
		rc = whole(l, v->back, v->backs, err);
	for (size_t i = 0; i < v->n && !rc && !stopped(l); i++) {
		rc = mc_netmemory_check(&l->net->memory, &v->x[i], err);
		if (rc)
			named(l, i / (size_t)l->p.depth, err);
	}
	return rc;
}

int mc_netload_verify(struct mc_netload *l, struct mc_err *err)
{
	struct verify v = {.n = (size_t)(l->p.depth * l->p.peers)};
	int rc = drain(l, err);

	if (rc || stopped(l))
		return rc;
	v.r = mc_xcalloc(v.n, sizeof *v.r);
	v.back = mc_xcalloc(v.n, sizeof *v.back);
	v.x = mc_xcalloc(v.n, sizeof *v.x);
	plan(l, &v);
	rc = verify(l, &v, err);
	free(v.r);
	free(v.back);
	free(v.x);
	return rc;
}

void mc_netload_free(struct mc_netload *l)
{
	if (!l)
		return;
	if (!l->broken)
		drain(l, NULL);
	if (l->broken)
		mc_net_leave(l->net);
	for (size_t k = 0; k < (size_t)l->p.peers; k++)
		free(l->lane[k].batch);
	free(l->lane);
	free(l);
}
