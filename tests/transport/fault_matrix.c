/*
 * fault_matrix [TRANSPORT...]: the fault matrix (matrix.h) of what this host can do to TCP, shared memory,
 * and verbs on the false library. A line of the matrix and one of TAP each; whatever is not as it should be
 * fails.
 */
#include <stdlib.h>
#include <string.h>

#include "../unit/proxy.h"
#include "base/time.h"
#include "matrix_faults.h"
#ifdef MATRIX_VERBS
#include "fakeverbs.h"
#endif

enum { TCP = 1, SHM = 2, VERBS = 4, PROCESSES = TCP | SHM, ALL = PROCESSES | VERBS, MS = MC_NS_PER_MS };

static const struct row {
	const char *fault;
	unsigned on;
	bool here,
	    soon; /* the owner is in this process; a failure is expected, and not to be waited for long */
	const char *expect; /* what happened begins so */
	void (*run)(struct matrix_world *w, struct outcome *o);
} rows[] = {
#ifdef MATRIX_VERBS
    {"an operation fails", VERBS, true, false, "done, resent", matrix_wrong_status},
    {"retries exceeded", VERBS, true, false, "done, resent", matrix_retries_exceeded},
    {"a completion is lost", VERBS, true, true, "done, resent", matrix_completion_lost},
    {"completion queue overruns", VERBS, true, false, "done", matrix_overrun},
    {"device gone, of two", VERBS, true, false, "done over another path", matrix_device_gone},
    {"device back", VERBS, true, false, "done over the same path again", matrix_device_back},
    {"port without link, of two", VERBS, true, false, "done over another path", matrix_link_down},
    {"link up again", VERBS, true, false, "done over the same path again", matrix_link_up},
    {"no link at all", VERBS, true, true, "failed: not done in time", matrix_no_link},
#endif
    {"connections cut", PROCESSES, false, false, "done", matrix_connections_cut},
    {"one of two paths cut", TCP, true, false, "done over another path", matrix_path_cut},
    {"that path joined again", TCP, true, false, "done over the same path again", matrix_path_back},
    {"peer killed", PROCESSES, false, true, "failed: ", matrix_peer_killed},
    {"peer restarted", PROCESSES, false, true, "failed: ", matrix_peer_restarted},
    {"peer silent", SHM, false, false, "done", matrix_peer_silent},
    {"peer silent", TCP, false, true, "failed: ", matrix_peer_silent},
    {"memory unregistered", ALL, false, false, "failed: peer", matrix_memory_gone},
    {"no descriptors left", TCP, false, true, "failed: ", matrix_no_descriptors},
    {"wrong token", ALL, false, false, "failed: the peer has hung up", matrix_wrong_token},
    {"out of bounds", ALL, false, false, "failed: refused", matrix_out_of_bounds},
    {"peer talks nonsense", ALL, false, false, "done", matrix_nonsense},
    {"more peers than endpoints", ALL, true, false, "done by at most 2 endpoints", matrix_over_the_cap},
};

static const struct {
	const char *name;
	unsigned bit;
	const char *ports[3];
	size_t bytes;
} kinds[] = {{"tcp", TCP, {"127.0.0.1", "127.0.0.1"}, 2 << 20},
	     {"shm", SHM, {""}, 2 << 20},
#ifdef MATRIX_VERBS
	     {"verbs", VERBS, {"fake0", "fake1"}, 1 << 20}
#endif
};

static void prepare(struct matrix_world *w, const struct row *row)
{
	mc_engine_defaults(&w->want);
	mc_token_set(&w->want.token, "a token of the tests", NULL);
	w->want.slice_bytes = 16384;
	w->want.retry_ns = MS / 2;
	w->want.depth = 8;
	w->want.lanes = 2;
	w->want.retries = row->soon ? 4 : 6;
	w->want.connect_timeout_ns = (row->soon ? 400 : 1000) * (int64_t)MS;
	w->want.slice_timeout_ns = (row->soon ? 150 : 1000) * (int64_t)MS;
	w->want.batch_timeout_ns = (row->soon ? 2000 : 20000) * (int64_t)MS;
	if (row->run == matrix_over_the_cap)
		w->want.endpoints = 2;
}

/* One cell. Returns whether it is as expected. */
static bool cell(const struct row *row, size_t kind, int number)
{
	struct matrix_world w = {.t = mc_transport_find(kinds[kind].name, NULL),
				 .names = kinds[kind].ports,
				 .bytes = kinds[kind].bytes,
				 .must_fail = !strncmp(row->expect, "failed: ", 8),
				 .here = row->here || kinds[kind].bit == VERBS};
	struct outcome o = {.recovery = -1};
	struct mc_transport via;
	bool cut = row->run == matrix_path_cut || row->run == matrix_path_back, good;

#ifdef MATRIX_VERBS
	if (kinds[kind].bit == VERBS) {
		fake_reset();
		fake_chaos(&(struct fake_chaos){.slow_us = 200}, 1);
	}
#endif
	prepare(&w, row);
	if (cut) {
		proxy_start(1);
		matrix_via_proxy(&w, &via);
	}
	matrix_open(&w);
	row->run(&w, &o);
	matrix_close(&w);
	if (cut)
		proxy_stop();
#ifdef MATRIX_VERBS
	if (kinds[kind].bit == VERBS)
		fake_chaos(NULL, 0);
#endif
	good = !strncmp(o.what, row->expect, strlen(row->expect));
	matrix_line(row->fault, kinds[kind].name, o.what, w.checked, o.recovery);
	printf("%sok %d - %s, over %s\n", good ? "" : "not ", number, row->fault, kinds[kind].name);
	return good;
}

static bool wanted(const char *name, int argc, char **argv)
{
	bool found = argc < 2;

	for (int i = 1; i < argc; i++)
		found |= !strcmp(argv[i], name);
	return found && mc_transport_find(name, NULL);
}

static bool known(const char *name)
{
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		if (!strcmp(kinds[k].name, name))
			return true;
	return false;
}

int main(int argc, char **argv)
{
	int n = 0, bad = 0;

	for (int i = 1; i < argc; i++)
		if (!known(argv[i])) {
			fprintf(stderr, "usage: fault_matrix [tcp|shm|verbs]...\n");
			return 2;
		}
	printf("%s\n", MATRIX_HEAD);
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
		for (size_t i = 0; i < sizeof rows / sizeof *rows && wanted(kinds[k].name, argc, argv); i++)
			if (rows[i].on & kinds[k].bit)
				bad += !cell(rows + i, k, ++n);
	printf("1..%d\n", n);
	return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
