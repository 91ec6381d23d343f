#include "calib/diskload.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/units.h"
#include "calib/ring.h"

/* A request and its buffer. */
struct slot {
	char *buffer;
	int64_t offset; /* -1: not used yet */
	size_t done;    /* bytes of it: results may be short */
	double since;
};

struct mc_diskload {
	struct mc_diskload_want want;
	struct mc_diskfile *file;
	struct mc_ring *ring;
	struct slot *slot; /* [depth] */
	char *memory;
	uint32_t *order; /* [places], shuffled anew when all had their turn; NULL: in order */
	uint64_t places, next, turns;
	struct mc_calib_series latency;
	int64_t requests;
	double began, window_from, waited_s;
	double waiting; /* share of the time at the end of the last window */
};

static double now(void)
{
	return mc_calib_clock.wall(mc_calib_clock.arg);
}

/* Fisher and Yates. */
static void shuffle(struct mc_diskload *l)
{
	uint64_t seed = mc_hash_pair(l->want.seed, l->turns++);

	for (uint64_t i = l->places - 1; i > 0; i--) {
		uint64_t k = mc_hash_pair(seed, i) % (i + 1);
		uint32_t t = l->order[i];

		l->order[i] = l->order[k];
		l->order[k] = t;
	}
}

/* The next place where no request is under way: a straggler of the last turn may be at one. */
static int64_t place(struct mc_diskload *l)
{
	for (;;) {
		int64_t offset;
		bool taken = false;

		if (l->next == l->places) {
			l->next = 0;
			if (l->order)
				shuffle(l);
		}
		offset = (int64_t)(l->order ? l->order[l->next] : l->next) * (int64_t)l->want.bytes;
		l->next++;
		for (unsigned i = 0; i < l->want.depth; i++)
			taken |= l->slot[i].done < l->want.bytes && l->slot[i].offset == offset;
		if (!taken)
			return offset;
	}
}

static int get_memory(struct mc_diskload *l, struct mc_err *err)
{
	size_t each = l->want.bytes, all = each * l->want.depth;
	char text[MC_UNITS_TEXT];
	void *p = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);

	if (p == MAP_FAILED)
		return mc_err_errno(err, MC_FAIL, "no memory for buffers of %s",
				    mc_units_format_bytes((double)all, text));
	l->memory = p;
	for (unsigned i = 0; i < l->want.depth; i++)
		l->slot[i] = (struct slot){.buffer = l->memory + each * i, .offset = -1, .done = each};
	return 0;
}

int mc_diskload_new(struct mc_diskload **out, struct mc_diskfile *file, const struct mc_diskload_want *want,
		    struct mc_err *err)
{
	struct mc_diskload *l = mc_xcalloc(1, sizeof *l);
	int rc;

	*out = NULL;
	assert(want->bytes && want->bytes % MC_DISK_BLOCK == 0 && want->bytes <= 1u << 30);
	l->want = *want;
	l->file = file;
	l->places = (uint64_t)file->bytes / want->bytes;
	assert(l->places >= want->depth && l->places <= UINT32_MAX);
	l->slot = mc_xcalloc(want->depth, sizeof *l->slot);
	rc = mc_ring_new(&l->ring, want->depth, err);
	if (!rc)
		rc = get_memory(l, err);
	if (rc) {
		mc_diskload_free(l);
		return rc;
	}
	if (!want->in_order) {
		l->order = mc_xcalloc(l->places, sizeof *l->order);
		for (uint64_t i = 0; i < l->places; i++)
			l->order[i] = (uint32_t)i;
		shuffle(l);
	}
	l->began = l->window_from = now();
	*out = l;
	return 0;
}

void mc_diskload_free(struct mc_diskload *l)
{
	if (!l)
		return;
	mc_ring_free(l->ring); /* waits */
	if (l->memory)
		munmap(l->memory, l->want.bytes * l->want.depth);
	free(l->slot);
	free(l->order);
	mc_vec_fini(&l->latency);
	free(l);
}

static bool stopped(const struct mc_diskload *l)
{
	return l->want.stop && *l->want.stop;
}

/* The rest of a slot's request. After a short one it begins at a whole block again, as O_DIRECT wants it. */
static void queue(struct mc_diskload *l, unsigned i)
{
	struct slot *s = &l->slot[i];
	struct mc_ring_request q = {.fd = l->file->fd, .write = l->want.write, .tag = i};

	s->done -= s->done % MC_DISK_BLOCK;
	q.buffer = s->buffer + s->done;
	q.bytes = (uint32_t)(l->want.bytes - s->done);
	q.offset = s->offset + (int64_t)s->done;
	mc_ring_queue(l->ring, &q);
}

static void begin(struct mc_diskload *l, unsigned i)
{
	struct slot *s = &l->slot[i];

	s->offset = place(l);
	s->done = 0;
	if (l->want.write)
		mc_diskfile_next(l->file, s->offset, l->want.bytes, s->buffer);
	s->since = now();
	queue(l, i);
}

static int wrong(const struct slot *s, const char *what, struct mc_err *err)
{
	return mc_err_set(err, MC_FAIL, "%s at byte %lld of the file is not what was written", what,
			  (long long)s->offset);
}

/* A result: an error, the end of a request, or a part of one, whose rest is asked for. */
static int arrived(struct mc_diskload *l, const struct mc_ring_done *d, bool *whole, struct mc_err *err)
{
	struct slot *s = &l->slot[d->tag];
	const char *verb = l->want.write ? "writing" : "reading";
	double at = now();

	*whole = false;
	if (d->result < 0)
		return mc_err_set(err, MC_FAIL, "%s %zu bytes at byte %lld of the file: %s", verb,
				  l->want.bytes, (long long)s->offset, strerror(-d->result));
	if (d->result == 0)
		return mc_err_set(err, MC_FAIL, "%s at byte %lld of the file: nothing more comes", verb,
				  (long long)s->offset + (long long)s->done);
	s->done += (size_t)d->result;
	if (s->done < l->want.bytes)
		return queue(l, (unsigned)d->tag), 0;
	*whole = true;
	l->requests++;
	if (l->want.depth == 1)
		mc_vec_push(&l->latency, at - s->since);
	if (!l->want.write && !mc_diskfile_holds(l->file, s->offset, l->want.bytes, s->buffer, false))
		return wrong(s, "what was read", err);
	return 0;
}

/* Wait for results and take all that there are; another request for each that is done, if `more`. */
static int step(struct mc_diskload *l, bool more, int64_t *ended, struct mc_err *err)
{
	struct mc_ring_done d;
	double from = now();
	int rc = mc_ring_wait(l->ring, 1, err);

	l->waited_s += now() - from;
	while (!rc && mc_ring_take(l->ring, &d)) {
		bool whole;

		rc = arrived(l, &d, &whole, err);
		if (rc || !whole)
			continue;
		++*ended;
		if (more)
			begin(l, (unsigned)d.tag);
	}
	return rc;
}

int mc_diskload_go(struct mc_diskload *l, double window_s, double *seconds, struct mc_err *err)
{
	size_t first = l->latency.n;
	int64_t ended = 0;
	double end, sum = 0;
	int rc = 0;

	for (unsigned i = mc_ring_under_way(l->ring); i < l->want.depth && !stopped(l); i++)
		begin(l, i); /* only the first time: then all are under way */
	do {
		rc = mc_ring_under_way(l->ring) ? step(l, !stopped(l), &ended, err) : 0;
		end = now();
	} while (!rc && !stopped(l) && (end - l->window_from < window_s || !ended));
	*seconds = (end - l->window_from) / (double)(ended ? ended : 1);
	l->window_from = end;
	l->waiting = end > l->began ? l->waited_s / (end - l->began) : 1;
	for (size_t i = first; i < l->latency.n; i++)
		sum += l->latency.at[i];
	if (l->latency.n > first)
		*seconds = sum / (double)(l->latency.n - first);
	return rc;
}

static int read_back(struct mc_diskload *l, struct slot *s, struct mc_err *err)
{
	for (size_t done = 0; done < l->want.bytes;) {
		ssize_t n =
		    pread(l->file->fd, s->buffer + done, l->want.bytes - done, s->offset + (int64_t)done);

		if (n <= 0)
			return mc_err_errno(err, MC_FAIL, "reading at byte %lld of the file",
					    (long long)s->offset + (long long)done);
		done += (size_t)n;
		done -= done % MC_DISK_BLOCK;
	}
	return 0;
}

int mc_diskload_verify(struct mc_diskload *l, struct mc_err *err)
{
	int64_t ended = 0;
	int rc = 0;

	while (!rc && mc_ring_under_way(l->ring))
		rc = step(l, false, &ended, err);
	for (unsigned i = 0; i < l->want.depth && !rc; i++) {
		struct slot *s = &l->slot[i];

		if (s->offset < 0 || s->done < l->want.bytes)
			continue;
		if (l->want.write)
			rc = read_back(l, s, err);
		if (!rc && !mc_diskfile_holds(l->file, s->offset, l->want.bytes, s->buffer, true))
			rc = wrong(s, l->want.write ? "what was written" : "what was read", err);
	}
	return rc;
}

int64_t mc_diskload_requests(const struct mc_diskload *l)
{
	return l->requests;
}

double mc_diskload_waiting(const struct mc_diskload *l)
{
	return l->waiting;
}

struct mc_calib_series *mc_diskload_latencies(struct mc_diskload *l)
{
	return &l->latency;
}
