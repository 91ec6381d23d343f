#include "calib/bare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "calib/netgrid.h"

void mc_bare_close(struct mc_bare *b[MC_BARES], int count)
{
	for (int i = 0; i < count; i++)
		b[i]->close(b[i]);
}

static int open_tcp(struct mc_bare *out[MC_BARES], int *count, struct mc_net *n, struct mc_err *err)
{
	static const int streams[MC_BARES] = {1, MC_NET_STREAMS};

	for (int i = 0; i < MC_BARES && n->peer[0].info.bare[0]; i++) {
		int rc = mc_bare_tcp_open(&out[i], n, streams[i], err);

		if (rc) {
			mc_bare_close(out, *count);
			*count = 0;
			return rc;
		}
		++*count;
	}
	return 0;
}

int mc_bare_open(struct mc_bare *out[MC_BARES], int *count, struct mc_net *n, struct mc_err *err)
{
	const char *name = n->transport->name;
	int rc = 0;

	*count = 0;
	if (n->memory.backend)
		return 0;
	if (!strcmp(name, "tcp"))
		return open_tcp(out, count, n, err);
	if (!strcmp(name, "shm"))
		rc = mc_bare_copy_open(&out[0], n, err);
	else if (!strcmp(name, "verbs"))
		rc = mc_bare_verbs_open(&out[0], n, err);
	else
		return 0;
	*count = !rc;
	return rc;
}

/* A copy within this process: the pools as the engine's requests go through them. */
struct copies {
	struct mc_bare b;
	struct mc_netmemory *m;
	uint64_t at;
};

static int copy(struct mc_bare *b, const struct mc_bare_task *t, double *seconds, struct mc_err *err)
{
	struct copies *c = (struct copies *)b;
	size_t stride = (size_t)mc_net_stride((int64_t)t->bytes);
	int64_t from = mc_clock_ns();

	(void)err;
	for (size_t i = 0; i < t->requests; i++) {
		uint64_t at = mc_net_advance(&c->at, stride, c->m->half);

		memcpy(mc_netmemory_target(c->m, at), mc_netmemory_source(c->m, at), t->bytes);
	}
	*seconds = (double)(mc_clock_ns() - from) * 1e-9;
	return 0;
}

static void copy_close(struct mc_bare *b)
{
	free(b);
}

int mc_bare_copy_open(struct mc_bare **out, struct mc_net *n, struct mc_err *err)
{
	struct copies *c = mc_xcalloc(1, sizeof *c);

	(void)err;
	*c = (struct copies){.b = {"bare", copy, copy_close}, .m = &n->memory};
	*out = &c->b;
	return 0;
}
