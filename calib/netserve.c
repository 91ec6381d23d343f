#include "calib/netserve.h"

#include <stdlib.h>

#include "base/vec.h"
#include "calib/bareserve.h"
#include "calib/netinfo.h"

struct mc_netserve {
	struct mc_netmemory memory;
	struct mc_memory page; /* what is told */
	struct mc_engine *engine;
	struct mc_bareserve *bare;
};

static int open_engine(struct mc_netserve *s, const struct mc_netserve_want *want, struct mc_err *err)
{
	struct mc_engine_want w;
	int rc;

	mc_engine_defaults(&w);
	w.address = want->address;
	w.token = want->token;
	w.port = want->ports->at;
	w.ports = want->ports->n;
	rc = mc_engine_open(&s->engine, &w, err);
	if (!rc)
		rc = mc_engine_register(s->engine, &s->memory.m, MC_ACCESS_READ | MC_ACCESS_WRITE, err);
	/* What no port takes isn't wrong, but not there: memory of a GPU. */
	return rc == MC_FAIL && s->engine && s->memory.backend ? err->rc = MC_NOHW : rc;
}

static int open_bare(struct mc_netserve *s, const struct mc_netserve_want *want, struct mc_err *err)
{
	char host[MC_PORT_NAME];
	struct mc_bareserve_want w = {.host = host, .token = want->token, .memory = &s->memory};
	int rc;

	if (s->memory.backend)
		return 0; /* a plain socket doesn't reach it */
	rc = mc_netports_host(want->address, host, err);
	return rc ? rc : mc_bareserve_open(&s->bare, &w, err);
}

static int tell(struct mc_netserve *s, struct mc_err *err)
{
	struct mc_netinfo info = {.seed = s->memory.seed,
				  .source = (uintptr_t)mc_netmemory_source(&s->memory, 0),
				  .target = (uintptr_t)mc_netmemory_target(&s->memory, 0),
				  .half = s->memory.half};

	if (s->bare)
		snprintf(info.bare, sizeof info.bare, "%s", mc_bareserve_address(s->bare));
	mc_netinfo_encode(&info, s->page.base);
	return mc_engine_register(s->engine, &s->page, MC_ACCESS_READ, err);
}

int mc_netserve_open(struct mc_netserve **out, const struct mc_netserve_want *want, struct mc_err *err)
{
	struct mc_netserve *s = mc_xcalloc(1, sizeof *s);
	struct mc_netmemory_want m = {.bytes = want->bytes, .kind = want->kind};
	int rc = mc_auth_random(&m.seed, sizeof m.seed, err);

	*out = NULL;
	s->page.fd = -1;
	if (!rc)
		rc = mc_netmemory_alloc(&s->memory, &m, err);
	if (rc) {
		free(s);
		return rc;
	}
	rc = mc_memory_alloc(&s->page, MC_NETINFO_BYTES, "cpu:0", err);
	if (!rc)
		rc = open_engine(s, want, err);
	if (!rc)
		rc = open_bare(s, want, err);
	if (!rc)
		rc = tell(s, err);
	if (rc)
		mc_netserve_close(s);
	else
		*out = s;
	return rc;
}

const char *mc_netserve_address(const struct mc_netserve *s)
{
	return mc_engine_address(s->engine);
}

void mc_netserve_close(struct mc_netserve *s)
{
	if (!s)
		return;
	mc_bareserve_close(s->bare);
	mc_engine_close(s->engine);
	mc_memory_free(&s->page);
	mc_netmemory_free(&s->memory);
	free(s);
}
