#include "calib/netmemory.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/units.h"

static const double most_of_available = 0.8;
enum { STAGE = 1 << 20, BLOCK = 4096, SPOILT = 0x5a };

void mc_netmemory_pattern(uint64_t seed, uint64_t offset, void *to, size_t n)
{
	char *p = to;

	for (size_t i = 0; i < n; i += 8) {
		uint64_t w = mc_hash_u64(seed + offset + i);

		memcpy(p + i, &w, n - i < 8 ? n - i : 8);
	}
}

/* Bytes of host memory that can be had without taking them from others. */
static double available(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	char line[128];
	double kib = 0;

	while (f && fgets(line, sizeof line, f) && sscanf(line, "MemAvailable: %lf", &kib) != 1)
		;
	if (f)
		fclose(f);
	return kib > 0 ? kib * 1024 : (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
}

static int alloc_host(struct mc_netmemory *m, size_t bytes, struct mc_err *err)
{
	double most = most_of_available * available();
	char text[MC_UNITS_TEXT];

	/* The kernel gives more than it has, and ends who uses it. */
	if ((double)bytes > most)
		return mc_err_set(err, MC_FAIL, "--memory is more than is free; expected at most %s",
				  mc_units_format_bytes(most, text));
	return mc_memory_alloc(&m->m, bytes, "cpu:0", err);
}

static int copy(struct mc_netmemory *m, void *to, const void *from, size_t n, struct mc_err *err)
{
	const struct mc_copy c = {.to = to, .from = from, .bytes = n, .rows = 1};

	m->backend->copy(m->stream, &c);
	return m->backend->stream_sync(m->stream, err);
}

static int fill_source(struct mc_netmemory *m, struct mc_err *err)
{
	int rc = 0;

	if (!m->backend) {
		mc_netmemory_pattern(m->seed, 0, m->m.base, m->half);
		memset(mc_netmemory_target(m, 0), SPOILT, m->half);
		return 0;
	}
	for (size_t at = 0; at < m->half && !rc; at += STAGE) {
		size_t n = m->half - at < STAGE ? m->half - at : STAGE;

		mc_netmemory_pattern(m->seed, at, m->stage, n);
		rc = copy(m, mc_netmemory_source(m, at), m->stage, n, err);
	}
	return rc ? rc : mc_netmemory_spoil(m, 0, m->half, err);
}

static int alloc_device(struct mc_netmemory *m, const char *kind, size_t bytes, struct mc_err *err)
{
	const struct mc_device_want first = {0};
	const struct mc_backend *b = mc_backend_find(kind, err);
	int n = 0, rc;

	if (!b)
		return MC_USAGE;
	rc = b->count(&n, err);
	if (!rc && !n)
		rc = mc_err_set(err, MC_NOHW, "no device of %s", kind);
	if (!rc)
		rc = b->device_open(&m->device, &first, err);
	if (rc)
		return rc;
	m->backend = b;
	rc = b->stream_open(&m->stream, m->device, MC_COMPUTE, err);
	if (rc)
		return rc;
	m->stage = b->alloc(m->device, MC_PINNED, STAGE, err);
	m->m.base = m->stage ? b->alloc(m->device, MC_DEVICE, bytes, err) : NULL;
	m->m.bytes = bytes;
	snprintf(m->m.place, sizeof m->m.place, "%.13s:0", kind);
	return m->m.base ? 0 : MC_FAIL;
}

int mc_netmemory_alloc(struct mc_netmemory *n, const struct mc_netmemory_want *want, struct mc_err *err)
{
	size_t half = want->bytes / 2 / BLOCK * BLOCK;
	int rc;

	*n = (struct mc_netmemory){.m = {.fd = -1}, .half = half, .seed = want->seed};
	if (!strcmp(want->kind, "host"))
		rc = alloc_host(n, 2 * half, err);
	else if (!strcmp(want->kind, "cuda"))
		rc = alloc_device(n, want->kind, 2 * half, err);
	else
		rc = mc_err_set(err, MC_USAGE, "--memory-kind is '%.60s'; expected host or cuda", want->kind);
	if (!rc)
		rc = fill_source(n, err);
	if (rc)
		mc_netmemory_free(n);
	return rc;
}

void mc_netmemory_free(struct mc_netmemory *n)
{
	const struct mc_backend *b = n->backend;

	if (!b) {
		mc_memory_free(&n->m);
		return;
	}
	if (n->m.base)
		b->release(n->device, MC_DEVICE, n->m.base);
	if (n->stage)
		b->release(n->device, MC_PINNED, n->stage);
	b->stream_close(n->stream);
	b->device_close(n->device);
	*n = (struct mc_netmemory){.m = {.fd = -1}};
}

int mc_netmemory_spoil(struct mc_netmemory *m, size_t at, size_t n, struct mc_err *err)
{
	if (m->backend) {
		m->backend->fill(m->stream, mc_netmemory_target(m, at), SPOILT, n);
		return m->backend->stream_sync(m->stream, err);
	}
	memset(mc_netmemory_target(m, at), SPOILT, n);
	return 0;
}

static int compare(const char *is, const struct mc_netmemory_expected *x, size_t from, size_t n,
		   struct mc_err *err)
{
	char should[BLOCK];

	for (size_t at = 0; at < n; at += BLOCK) {
		size_t k = n - at < BLOCK ? n - at : BLOCK, i = 0;

		mc_netmemory_pattern(x->seed, x->offset + from + at, should, k);
		if (!memcmp(is + at, should, k))
			continue;
		while (is[at + i] == should[i])
			i++;
		return mc_err_set(err, MC_FAIL, "byte %zu of %zu that were moved is wrong", from + at + i,
				  x->n);
	}
	return 0;
}

int mc_netmemory_check(struct mc_netmemory *m, const struct mc_netmemory_expected *x, struct mc_err *err)
{
	int rc = 0;

	if (!m->backend)
		return compare(mc_netmemory_target(m, x->at), x, 0, x->n, err);
	for (size_t at = 0; at < x->n && !rc; at += STAGE) {
		size_t n = x->n - at < STAGE ? x->n - at : STAGE;

		rc = copy(m, m->stage, mc_netmemory_target(m, x->at + at), n, err);
		if (!rc)
			rc = compare(m->stage, x, at, n, err);
	}
	return rc;
}
