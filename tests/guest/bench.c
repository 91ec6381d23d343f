/* What the engine moves over verbs, for perf.sh: requests of one size, so many at once, as perftest does it.
 */
#include <stdlib.h>
#include <string.h>

#include "guest.h"

enum {
	MEMORY = 1 << 20,
	BATCHES = 4, /* at once: those under way share the depth */
};

struct load {
	struct rig rig;
	enum mc_direction op;
	uint64_t bytes; /* of a request */
	size_t depth;   /* requests of one batch */
	uint64_t batch[BATCHES];
};

static bool submit(struct load *l, size_t slot)
{
	struct mc_request r[REQUESTS];
	struct mc_err err = {0};

	for (size_t i = 0; i < l->depth; i++)
		r[i] = (struct mc_request){.op = l->op,
					   .peer = l->rig.peer[0].number,
					   .local = l->rig.local.at,
					   .remote = l->rig.peer[0].mem.base,
					   .bytes = l->bytes};
	if (!mc_engine_submit(l->rig.e, r, l->depth, &l->batch[slot], &err))
		return true;
	fprintf(stderr, "%s\n", err.text);
	return false;
}

/* Batches that move so many bytes in all, with `depth` requests at most under way; false: one failed. */
static bool move(struct load *l, uint64_t bytes)
{
	uint64_t n = (bytes / l->bytes + l->depth - 1) / l->depth, out = 0;
	struct mc_batch_status s;

	for (uint64_t in = 0; in < n; in++) {
		size_t slot = in % BATCHES;

		while (out < n && out < in + BATCHES)
			if (!submit(l, out++ % BATCHES))
				return false;
		if (mc_engine_wait(l->rig.e, l->batch[slot], -1, &s, NULL) || s.state != MC_BATCH_DONE) {
			fprintf(stderr, "%s\n", s.err.text);
			return false;
		}
		mc_engine_free(l->rig.e, l->batch[slot], NULL);
	}
	return true;
}

/* bench read|write BYTES DEPTH MIB PORT: MB/s (of 1e6), between that port and itself. */
int bench_main(char **argv)
{
	struct load l = {.rig = {.peers = 1, .rng = 1}, .bytes = strtoull(argv[3], NULL, 10)};
	size_t depth = strtoull(argv[4], NULL, 10);
	uint64_t bytes = strtoull(argv[5], NULL, 10) << 20;
	int64_t t0;

	l.op = strcmp(argv[2], "read") ? MC_OP_WRITE : MC_OP_READ;
	l.depth = depth >= BATCHES ? depth / BATCHES : 1;
	want_init(&l.rig.want, "a token of the guest's tests");
	l.rig.want.slice_bytes = l.bytes > MC_SLICE_BYTES_MAX ? MC_SLICE_BYTES_MAX : (uint32_t)l.bytes;
	l.rig.want.depth = (uint32_t)depth;
	if (l.bytes < MC_SLICE_BYTES_MIN || l.bytes > MEMORY || !depth || depth > 256 ||
	    !rig_open(&l.rig, argv[6], argv[6], MEMORY) || !move(&l, bytes / 8))
		return 1;
	t0 = mc_clock_ns();
	if (!move(&l, bytes))
		return 1;
	printf("%.1f\n", (double)bytes / ((double)(mc_clock_ns() - t0) / 1e9) / 1e6);
	mc_engine_close(l.rig.e);
	peer_end(&l.rig.peer[0], 0);
	return 0;
}
