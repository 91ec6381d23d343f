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
	for (; n->peers < want->peers->n; n->peers++)
		n->peer[n->peers].address = want->peers->at[n->peers];
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
	mc_engine_close(n->engine);
	n->engine = NULL;
}

static int open_engine(struct mc_net *n, struct mc_err *err)
{
	struct mc_engine_want w;
	char address[MC_ENGINE_ADDRESS];
	int rc;

	snprintf(address, sizeof address, strchr(n->host, ':') ? "[%s]:0" : "%s:0", n->host);
	mc_engine_defaults(&w);
	w.address = address;
	w.token = n->token;
	w.port = n->port;
	w.ports = (size_t)n->nics;
	w.slice_bytes = (uint32_t)n->slice;
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

/* The page that a peer tells of itself. */
static int ask(struct mc_net *n, struct mc_netpeer *p, struct mc_err *err)
{
	struct mc_engine_range range[16];
	size_t ranges = mc_engine_ranges(n->engine, p->number, range, 16);
	struct mc_request r = {
	    .op = MC_OP_READ, .peer = p->number, .local = n->page.base, .bytes = MC_NETINFO_BYTES};
	struct mc_batch_status s;
	uint64_t batch;
	int rc;

	for (size_t i = 0; i < ranges && i < 16; i++)
		if (range[i].access == MC_ACCESS_READ && range[i].bytes == MC_NETINFO_BYTES)
			r.remote = range[i].base;
	if (!r.remote)
		return mc_err_set(err, MC_FAIL, "no mooncake-calib net --serve is there");
	rc = mc_engine_submit(n->engine, &r, 1, &batch, err);
	if (!rc)
		rc = mc_engine_wait(n->engine, batch, -1, &s, err);
	if (rc)
		return rc;
	mc_engine_free(n->engine, batch, NULL);
	if (s.state != MC_BATCH_DONE)
		return mc_err_set(err, MC_FAIL, "it cannot be reached by %s: %.300s", n->transport->name,
				  s.err.text);
	return mc_netinfo_decode(&p->info, n->page.base, err);
}

static int meet(struct mc_net *n, struct mc_err *err)
{
	int rc = 0;

	for (size_t i = 0; i < n->peers && !rc; i++) {
		struct mc_netpeer *p = &n->peer[i];

		rc = mc_engine_connect(n->engine, p->address, &p->number, err);
		if (!rc && !p->known) {
			rc = ask(n, p, err);
			p->known = !rc;
			if (rc)
				mc_err_at(err, NULL, 0, 0, p->address);
		}
	}
	return rc;
}

int mc_net_use(struct mc_net *n, const struct mc_net_setting *s, struct mc_err *err)
{
	int rc;

	if (n->engine && n->transport == s->transport && n->slice == s->slice && n->nics == s->nics)
		return 0;
	mc_net_leave(n);
	n->transport = s->transport;
	n->slice = s->slice;
	n->nics = (int64_t)mc_netports_of(&n->ports, s->transport, (size_t)s->nics, n->port);
	rc = open_engine(n, err);
	if (!rc)
		rc = meet(n, err);
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
