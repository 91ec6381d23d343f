/* Random batches between an engine and its peers, followed while they are under way, and checked. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "base/vec.h"
#include "guest.h"

#define TOKEN "a token of the guest's tests"

void say_ok(const char *name)
{
	printf("ok - %s\n", name);
	fflush(stdout);
}

void say_not_ok(const char *name, const char *why, ...)
{
	va_list ap;

	va_start(ap, why);
	vprintf(why, ap);
	va_end(ap);
	printf("\nnot ok - %s\n", name);
	fflush(stdout);
}

bool rig_meet(struct rig *r, struct mc_err *err)
{
	for (size_t i = 0; i < r->peers; i++)
		if (mc_engine_connect(r->e, r->peer[i].address, &r->peer[i].number, err))
			return false;
	return true;
}

bool rig_open(struct rig *r, const char *mine, const char *its, size_t bytes)
{
	struct mc_memory m = {.bytes = bytes, .fd = -1};
	struct mc_err err = {0};

	if (!r->want.token.n)
		want_init(&r->want, TOKEN);
	r->its = its;
	store_open(&r->local, bytes, -1);
	store_fill(&r->local, &r->rng);
	m.base = r->local.at;
	for (size_t i = 0; i < r->peers; i++) {
		struct peer *p = &r->peer[i];

		store_open(&p->mem, bytes / r->peers, -1);
		store_fill(&p->mem, &r->rng);
		strcpy(p->address, "127.0.0.1:0");
		if (!peer_start(p, its, TOKEN))
			return false;
	}
	r->e = engine_open(&r->want, mine, &err);
	if (r->e && !mc_engine_register(r->e, &m, 0, &err) && rig_meet(r, &err))
		return true;
	printf("%s\n", err.text);
	return false;
}

bool rig_close(struct rig *r)
{
	size_t at = 0;
	bool well;

	mc_engine_close(r->e);
	well = store_check(&r->local, false, &at);
	for (size_t i = 0; i < r->peers; i++) {
		well &= peer_end(&r->peer[i], 0);
		well &= store_check(&r->peer[i].mem, false, &at);
		store_close(&r->peer[i].mem);
	}
	store_close(&r->local);
	return well;
}

/* One more request between byte `l` of local and byte `o` of the peer's; what comes after it is made to have
 * it.
 */
static void add(struct rig *r, struct batch *b, struct peer *p, const size_t where[3])
{
	size_t l = where[0], o = where[1], bytes = where[2];
	enum mc_direction op = r->rng >> 40 & 1 ? MC_OP_READ : MC_OP_WRITE;

	b->request[b->n++] = (struct mc_request){
	    .op = op, .peer = p->number, .local = r->local.at + l, .remote = p->mem.base + o, .bytes = bytes};
	if (op == MC_OP_READ)
		memcpy(r->local.spare + l, p->mem.next + o, bytes);
	else
		memcpy(p->mem.spare + o, r->local.next + l, bytes);
}

/* Both memories are cut in the same order into stretches, some of them in no request. */
static void cut(struct rig *r, struct batch *b)
{
	b->n = 0;
	for (size_t i = 0; i < r->peers; i++) {
		struct peer *p = &r->peer[i];
		size_t part = r->local.bytes / r->peers, l = 0, o = 0;

		while (b->n < REQUESTS) {
			uint64_t x = r->rng = mc_hash_u64(r->rng), y = r->rng = mc_hash_u64(r->rng);
			size_t bytes = 1 + (size_t)(x >> 8) % (x & 3 ? 200000 : 5000);
			size_t where[3];

			l += y % 3000;
			o += (y >> 20) % 3000;
			if (l + bytes > part || o + bytes > p->mem.bytes)
				break;
			where[0] = i * part + l;
			where[1] = o;
			where[2] = bytes;
			add(r, b, p, where);
			l += bytes;
			o += bytes;
		}
	}
}

static void copy(struct store *s)
{
	memcpy(s->spare, s->next, s->bytes);
}

static void rotate(struct store *s)
{
	uint8_t *before = s->model;

	s->model = s->next;
	s->next = s->spare;
	s->spare = before;
}

void batch_cut(struct rig *r, struct batch *b)
{
	copy(&r->local);
	for (size_t i = 0; i < r->peers; i++)
		copy(&r->peer[i].mem);
	cut(r, b);
}

bool batch_go(struct rig *r, struct batch *b)
{
	struct mc_err err = {0};

	b->moved = mc_clock_ns();
	b->status = (struct mc_batch_status){0};
	if (mc_engine_submit(r->e, b->request, b->n, &b->id, &err)) {
		printf("%s\n", err.text);
		return false;
	}
	rotate(&r->local);
	for (size_t i = 0; i < r->peers; i++)
		rotate(&r->peer[i].mem);
	return true;
}

bool batch_start(struct rig *r, struct batch *b)
{
	batch_cut(r, b);
	return batch_go(r, b);
}

bool batch_look(struct rig *r, struct batch *b)
{
	uint64_t before = b->status.bytes;
	int64_t now = mc_clock_ns();

	if (b->id && mc_engine_poll(r->e, b->id, &b->status, NULL))
		abort();
	if (b->fault && now - b->moved > b->pause)
		b->pause = now - b->moved;
	if (b->status.bytes != before)
		b->moved = now;
	return b->status.state == MC_BATCH_PENDING;
}

bool batch_end(struct rig *r, struct batch *b, int64_t ns)
{
	int64_t until = mc_clock_ns() + ns;

	while (batch_look(r, b)) {
		if (mc_clock_ns() >= until)
			return false;
		nanosleep(&(struct timespec){.tv_nsec = MS(1)}, NULL);
	}
	mc_engine_free(r->e, b->id, NULL);
	b->id = 0;
	return true;
}

uint64_t batch_check(struct rig *r, struct batch *b)
{
	bool mixed = b->status.state != MC_BATCH_DONE;
	uint64_t n = r->local.bytes;
	size_t at = 0;

	if (!mixed && b->status.bytes != b->status.total) {
		printf("done, but %" PRIu64 " of %" PRIu64 " bytes\n", b->status.bytes, b->status.total);
		return 0;
	}
	if (!store_check(&r->local, mixed, &at)) {
		printf("local byte %zu is not the model's\n", at);
		return 0;
	}
	for (size_t i = 0; i < r->peers; i++) {
		n += r->peer[i].mem.bytes;
		if (!store_check(&r->peer[i].mem, mixed, &at)) {
			printf("byte %zu of peer %zu is not the model's\n", at, i);
			return 0;
		}
	}
	return n;
}
