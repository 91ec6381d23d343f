/*
 * Two guests as two hosts (hosts.sh): one serves, the other asks. They and the script talk by files in the
 * folder they share: "off" asks for the serving guest's power to be cut, "on" for it to come back, "quit" for
 * it to end.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../transport/matrix.h"
#include "guest.h"

enum {
	BYTES = 8 << 20,
	BOOT_S = 150, /* until the other guest is there */
	LIMIT_S = 60,
};

static void doze(int ms)
{
	nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = MS(ms % 1000)}, NULL);
}

/* serve ADDRESS PORTS */
int serve_main(char **argv)
{
	struct mc_engine_want want;
	struct mc_engine *e;
	struct store mem;
	struct mc_memory m = {.bytes = BYTES, .fd = -1};
	struct mc_err err = {0};
	size_t at = 0;
	bool whole;

	want_init(&want, "a token of the guest's tests");
	want.address = argv[2];
	store_open(&mem, BYTES, -1);
	m.base = mem.at;
	e = engine_open(&want, argv[3], &err);
	if (!e || mc_engine_register(e, &m, MC_ACCESS_READ | MC_ACCESS_WRITE, &err)) {
		say_not_ok("serving", "%s", err.text);
		return 1;
	}
	while (access("quit", F_OK))
		doze(200);
	mc_engine_close(e);
	whole = store_guards(&mem, &at);
	store_close(&mem);
	if (whole)
		say_ok("guards of the memory that was served");
	else
		say_not_ok("guards of the memory that was served", "byte %zu", at);
	return 0;
}

/* One request of the whole memory, from or into what this process has of it; how it ended in *out. */
static bool all(struct rig *r, enum mc_direction op, struct mc_batch_status *out)
{
	struct peer *p = &r->peer[0];
	struct mc_request one = {
	    .op = op, .peer = p->number, .local = p->mem.at, .remote = p->mem.base, .bytes = BYTES};
	struct batch b = {0};
	struct mc_err err = {0};

	if (mc_engine_submit(r->e, &one, 1, &b.id, &err)) {
		printf("%s\n", err.text);
		return false;
	}
	if (!batch_end(r, &b, LIMIT_S * MC_NS_PER_S))
		printf("no end within %d s\n", LIMIT_S);
	*out = b.status;
	return out->state == MC_BATCH_DONE;
}

/* The peer, as soon as it is there, with memory of random bytes. */
static bool meet(struct rig *r)
{
	int64_t until = mc_clock_ns() + BOOT_S * MC_NS_PER_S;
	struct peer *p = &r->peer[0];
	struct mc_engine_range range;
	struct mc_batch_status how = {0};
	struct mc_err err = {0};

	while (!rig_meet(r, &err) || mc_engine_ranges(r->e, p->number, &range, 1) != 1) {
		if (mc_clock_ns() > until) {
			printf("%s\n", err.text);
			return false;
		}
		doze(100);
	}
	p->mem.base = range.base;
	store_fill(&p->mem, &r->rng);
	if (range.bytes == BYTES && all(r, MC_OP_WRITE, &how))
		return true;
	printf("%s\n", how.err.text);
	return false;
}

/* Each byte as it is there, after a batch that is done. */
static uint64_t compare(struct rig *r, struct batch *b)
{
	memset(r->peer[0].mem.at, 0, BYTES);
	return all(r, MC_OP_READ, &b->status) ? batch_check(r, b) : 0;
}

/* Random batches that are done; how many bytes were checked, or 0. */
static uint64_t some(struct rig *r, struct batch *b, int n)
{
	uint64_t bytes = 0;

	while (n-- > 0) {
		uint64_t k = 0;

		if (batch_start(r, b) && batch_end(r, b, LIMIT_S * MC_NS_PER_S) &&
		    b->status.state == MC_BATCH_DONE)
			k = compare(r, b);
		if (!k) {
			printf("%s\n", b->status.err.text);
			return 0;
		}
		bytes += k;
	}
	return bytes;
}

static bool touch(const char *name)
{
	FILE *f = fopen(name, "w");

	return f && !fclose(f);
}

/* The other host's power goes, in the middle of a batch. What was local is checked. */
static bool cut_power(struct rig *r, struct batch *b, int64_t *fault)
{
	size_t at = 0;

	for (;;) {
		if (!batch_start(r, b))
			return false;
		while (batch_look(r, b) && b->status.bytes < b->status.total / 8)
			doze(1);
		if (!*fault)
			*fault = mc_clock_ns();
		if (!touch("off") || !batch_end(r, b, LIMIT_S * MC_NS_PER_S))
			return false;
		if (b->status.state == MC_BATCH_FAILED)
			return store_check(&r->local, true, &at);
		/* That batch was faster. Then the reading of its bytes isn't. */
		memset(r->peer[0].mem.at, 0, BYTES);
		if (!all(r, MC_OP_READ, &b->status))
			return store_check(&r->local, false, &at);
		if (!batch_check(r, b))
			return false;
	}
}

static bool open_rig(struct rig *r, char **argv)
{
	struct mc_memory local = {.bytes = BYTES, .fd = -1}, view = local;
	struct peer *p = &r->peer[0];
	struct mc_err err = {0};

	want_init(&r->want, "a token of the guest's tests");
	r->want.batch_timeout_ns = MS(20000);
	store_open(&r->local, BYTES, -1);
	store_fill(&r->local, &r->rng);
	store_open(&p->mem, BYTES, -1);
	snprintf(p->address, sizeof p->address, "%s", argv[2]);
	local.base = r->local.at;
	view.base = p->mem.at;
	r->e = engine_open(&r->want, argv[3], &err);
	if (r->e && !mc_engine_register(r->e, &local, 0, &err) && !mc_engine_register(r->e, &view, 0, &err))
		return true;
	printf("%s\n", err.text);
	return false;
}

/* hosts ADDRESS PORTS */
int hosts_main(char **argv)
{
	struct rig r = {.peers = 1, .rng = 7};
	struct batch *b = calloc(1, sizeof *b);
	int64_t fault = 0, ended;
	uint64_t n = 0;
	char what[640];

	if (open_rig(&r, argv) && meet(&r))
		n = some(&r, b, 3);
	if (!n) {
		say_not_ok("two hosts", "nothing can be tried");
		touch("quit");
		return 1;
	}
	matrix_line("two hosts: none", "verbs (Soft-RoCE)", "done", n, -1);
	say_ok("two hosts");
	if (cut_power(&r, b, &fault)) {
		ended = mc_clock_ns();
		snprintf(what, sizeof what, "failed after %.2f s: %s", (double)(ended - fault) / 1e9,
			 b->status.err.text);
		say_ok("the other host loses its power");
		n = touch("on") && meet(&r) ? some(&r, b, 2) : 0;
		matrix_line("two hosts: power of the other one cut", "verbs (Soft-RoCE)", what, BYTES,
			    n ? mc_clock_ns() - fault : -1);
	} else {
		say_not_ok("the other host loses its power", "%s", b->status.err.text);
		n = 0;
	}
	if (n) {
		matrix_line("two hosts: the other one is back", "verbs (Soft-RoCE)", "used again", n, -1);
		say_ok("the other host is back");
	} else {
		say_not_ok("the other host is back", "no batch was done");
	}
	mc_engine_close(r.e);
	touch("quit");
	store_close(&r.local);
	store_close(&r.peer[0].mem);
	free(b);
	return 0;
}
