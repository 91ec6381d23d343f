#include "calib/net.h"

#include <stdio.h>
#include <string.h>

#include "base/time.h"

enum { TIMEOUT_S = 120 };

int mc_net_init(struct mc_net *n, const struct mc_net_want *want, struct mc_err *err)
{
	struct mc_netmemory_want m = {.bytes = want->bytes, .kind = want->kind};
	int rc;

	*n = (struct mc_net){.token = want->token, .memory = {.m = {.fd = -1}}, .page = {.fd = -1}};
	for (; n->peers < want->peers->n; n->peers++) {
		n->peer[n->peers].address = want->peers->at[n->peers];
		for (size_t i = 0; i < n->peers; i++)
			if (!strcmp(n->peer[i].address, n->peer[n->peers].address))
				return mc_err_set(err, MC_USAGE, "--peer %s is given twice",
						  n->peer[i].address);
	}
	rc = mc_netports_near(n->peer[0].address, n->host, err);
	if (!rc)
		rc = mc_netports_find(&n->ports, want->ports, n->host, err);
	if (!rc)
		rc = mc_auth_random(&m.seed, sizeof m.seed, err);
	if (!rc)
		rc = mc_memory_alloc(&n->page, MC_NETINFO_BYTES, "cpu:0", err);
	return rc ? rc : mc_netmemory_alloc(&n->memory, &m, err);
}

void mc_net_fini(struct mc_net *n)
{
	mc_net_leave(n);
	mc_memory_free(&n->page);
	mc_netmemory_free(&n->memory);
}

void mc_net_leave(struct mc_net *n)
{
	for (size_t i = 0; i < n->opened; i++)
		mc_engine_close(n->open[i].engine);
	n->opened = n->turn = 0;
	n->engine = NULL;
}

static int open_engine(struct mc_net *n, const struct mc_net_setting *s, struct mc_err *err)
{
	struct mc_engine_want w;
	char address[MC_ENGINE_ADDRESS];
	int rc;

	snprintf(address, sizeof address, strchr(n->host, ':') ? "[%s]:0" : "%s:0", n->host);
	mc_engine_defaults(&w);
	w.address = address;
	w.token = n->token;
	w.port = n->port;
	w.ports = mc_netports_of(&n->ports, s->transport, (size_t)s->nics, n->port);
	w.slice_bytes = (uint32_t)s->slice;
	w.batch_timeout_ns = TIMEOUT_S * MC_NS_PER_S;
	rc = mc_engine_open(&n->engine, &w, err);
	if (!rc)
		rc = mc_engine_register(n->engine, &n->page, 0, err);
	if (rc)
		return rc;
	rc = mc_engine_register(n->engine, &n->memory.m, 0, err);
	/* What no port takes isn't wrong, but not there: memory of a GPU. */
	return rc == MC_FAIL && n->memory.backend ? err->rc = MC_NOHW : rc;
}

/* One batch to a peer, to its end. */
static int move(struct mc_net *n, const struct mc_request *r, size_t count, struct mc_err *err)
{
	struct mc_batch_status s;
	uint64_t batch;
	int rc = mc_engine_submit(n->engine, r, count, &batch, err);

	if (!rc)
		rc = mc_engine_wait(n->engine, batch, -1, &s, err);
	if (rc)
		return rc;
	mc_engine_free(n->engine, batch, NULL);
	return s.state == MC_BATCH_DONE ? 0
					: mc_err_set(err, MC_FAIL, "it cannot be reached by %s: %.300s",
						     n->transport->name, s.err.text);
}

/* The page that a peer tells of itself. */
static int ask(struct mc_net *n, struct mc_netpeer *p, struct mc_err *err)
{
	struct mc_engine_range range[16];
	size_t ranges = mc_engine_ranges(n->engine, p->number, range, 16);
	struct mc_request r = {
	    .op = MC_OP_READ, .peer = p->number, .local = n->page.base, .bytes = MC_NETINFO_BYTES};
	int rc;

	for (size_t i = 0; i < ranges && i < 16; i++)
		if (range[i].access == MC_ACCESS_READ && range[i].bytes == MC_NETINFO_BYTES)
			r.remote = range[i].base;
	if (!r.remote)
		return mc_err_set(err, MC_FAIL, "no mooncake-calib net --serve is there");
	rc = move(n, &r, 1, err);
	if (rc)
		return rc;
	return mc_netinfo_decode(&p->info, n->page.base, err);
}

/* A memory that is mapped by this engine for the first time takes a fault for each page: that is over with
 * before anything is timed. */
static int touch(struct mc_net *n, const struct mc_netpeer *p, struct mc_err *err)
{
	uint64_t bytes = p->info.half < n->memory.half ? p->info.half : n->memory.half;
	const struct mc_request r[2] = {{.op = MC_OP_READ,
					 .peer = p->number,
					 .local = mc_netmemory_target(&n->memory, 0),
					 .remote = p->info.source,
					 .bytes = bytes},
					{.op = MC_OP_WRITE,
					 .peer = p->number,
					 .local = mc_netmemory_source(&n->memory, 0),
					 .remote = p->info.target,
					 .bytes = bytes}};

	return strcmp(n->transport->name, "shm") ? 0 : move(n, r, 2, err);
}

static int meet(struct mc_net *n, struct mc_net_engine *e, struct mc_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < n->peers && !rc; i++) {
		struct mc_netpeer *p = &n->peer[i];

		rc = mc_engine_connect(n->engine, p->address, &p->number, err);
		e->number[i] = p->number;
		n->met |= !rc;
		if (!rc && !p->known) {
			rc = ask(n, p, err);
			p->known = !rc;
		}
		if (!rc)
			rc = touch(n, p, err);
		if (rc)
			mc_err_at(err, NULL, 0, 0, p->address);
	}
	return rc;
}

/* What is asked for, but for ports that aren't there: the same engine, which needn't be opened again. */
static struct mc_net_setting possible(const struct mc_net *n, const struct mc_net_setting *s)
{
	struct mc_engine_port all[MC_ENGINE_PORTS];
	int64_t have = (int64_t)mc_netports_of(&n->ports, s->transport, MC_ENGINE_PORTS, all);

	return (struct mc_net_setting){s->transport, s->slice, s->nics < have ? s->nics : have};
}

static struct mc_net_engine *find(struct mc_net *n, const struct mc_net_setting *s)
{
	for (size_t i = 0; i < n->opened; i++) {
		const struct mc_net_setting *is = &n->open[i].setting;

		if (is->transport == s->transport && is->slice == s->slice && is->nics == s->nics)
			return &n->open[i];
	}
	return NULL;
}

/* A place for one more, empty. */
static struct mc_net_engine *make_room(struct mc_net *n)
{
	struct mc_net_engine *e;

	if (n->opened < MC_NET_ENGINES)
		return &n->open[n->opened++];
	e = &n->open[n->turn++ % MC_NET_ENGINES];
	mc_engine_close(e->engine);
	return e;
}

int mc_net_use(struct mc_net *n, const struct mc_net_setting *setting, struct mc_err *err)
{
	const struct mc_net_setting s = possible(n, setting);
	struct mc_net_engine *e = find(n, &s);
	int rc;

	n->transport = s.transport;
	if (e) {
		n->engine = e->engine;
		for (size_t i = 0; i < n->peers; i++)
			n->peer[i].number = e->number[i];
		return 0;
	}
	e = make_room(n);
	e->setting = s;
	rc = open_engine(n, &s, err);
	e->engine = n->engine;
	if (!rc)
		rc = meet(n, e, err);
	if (rc)
		mc_net_leave(n);
	return rc;
}

int64_t mc_net_half(const struct mc_net *n)
{
	uint64_t least = UINT64_MAX;

	for (size_t i = 0; i < n->peers; i++)
		if (n->peer[i].info.half < least)
			least = n->peer[i].info.half;
	return (int64_t)least;
}
