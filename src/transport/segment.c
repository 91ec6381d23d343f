#include "transport/segment.h"

#include <stdlib.h>
#include <string.h>

#include "base/vec.h"
#include "transport/wire.h"

enum { FORMAT = 1 };

static void add_int(struct mc_str *s, uint64_t v, unsigned bytes)
{
	uint8_t at[8];

	mc_wire_set(at, v, bytes);
	mc_str_add(s, (const char *)at, bytes);
}

static void add_text(struct mc_str *s, const char *text)
{
	size_t n = strlen(text);

	add_int(s, n, 1);
	mc_str_add(s, text, n);
}

void mc_segment_encode(const struct mc_segment *s, struct mc_str *out)
{
	add_int(out, FORMAT, 2);
	add_int(out, s->life, 8);
	add_int(out, s->version, 8);
	add_int(out, s->ports, 2);
	add_int(out, s->ranges, 4);
	for (size_t i = 0; i < s->ports; i++) {
		add_text(out, s->port[i].transport);
		add_text(out, s->port[i].name);
		add_text(out, s->port[i].address);
	}
	for (size_t i = 0; i < s->ranges; i++) {
		const struct mc_segment_range *r = &s->range[i];

		add_int(out, r->base, 8);
		add_int(out, r->bytes, 8);
		add_int(out, r->access, 1);
		add_text(out, r->place);
		for (size_t k = 0; k < s->ports; k++) {
			add_int(out, r->at[k].key, 8);
			add_int(out, r->at[k].rank, 1);
		}
	}
}

static void read_range(struct mc_wire_reader *w, struct mc_segment *s, struct mc_segment_range *r)
{
	r->base = mc_wire_int(w, 8);
	r->bytes = mc_wire_int(w, 8);
	r->access = (unsigned)mc_wire_int(w, 1);
	mc_wire_text(w, r->place, sizeof r->place);
	for (size_t k = 0; k < s->ports; k++) {
		r->at[k].key = mc_wire_int(w, 8);
		r->at[k].rank = (uint8_t)mc_wire_int(w, 1);
		if (r->at[k].rank > MC_RANK_NONE)
			w->bad = true;
	}
	if (!r->bytes || r->bytes > SIZE_MAX / 2 || r->base + r->bytes < r->base ||
	    r->access & ~(unsigned)(MC_ACCESS_READ | MC_ACCESS_WRITE))
		w->bad = true;
	if (r > s->range && r->base < r[-1].base + r[-1].bytes)
		w->bad = true;
}

int mc_segment_decode(struct mc_segment **out, const uint8_t *at, size_t n, struct mc_err *err)
{
	struct mc_wire_reader w = {.at = at, .left = n};
	struct mc_segment *s = mc_xcalloc(1, sizeof *s);
	uint64_t format = mc_wire_int(&w, 2);

	*out = NULL;
	s->life = mc_wire_int(&w, 8);
	s->version = mc_wire_int(&w, 8);
	s->ports = (size_t)mc_wire_int(&w, 2);
	s->ranges = (size_t)mc_wire_int(&w, 4);
	/* Each takes some bytes, so that what is asked for is bounded by what came. */
	if (format != FORMAT || s->ports > MC_SEGMENT_PORTS || s->ranges > MC_SEGMENT_RANGES ||
	    s->ports * 3 + s->ranges * (18 + 9 * s->ports) > w.left)
		w.bad = true;
	if (!w.bad) {
		s->port = mc_xcalloc(s->ports + 1, sizeof *s->port);
		s->range = mc_xcalloc(s->ranges + 1, sizeof *s->range);
	}
	for (size_t i = 0; i < s->ports && !w.bad; i++) {
		mc_wire_text(&w, s->port[i].transport, sizeof s->port[i].transport);
		mc_wire_text(&w, s->port[i].name, sizeof s->port[i].name);
		mc_wire_text(&w, s->port[i].address, sizeof s->port[i].address);
	}
	for (size_t i = 0; i < s->ranges && !w.bad; i++)
		read_range(&w, s, &s->range[i]);
	if (w.bad || w.left) {
		mc_segment_free(s);
		return mc_err_set(err, MC_FAIL, "what the peer says of its memory is malformed");
	}
	*out = s;
	return 0;
}

void mc_segment_free(struct mc_segment *s)
{
	if (!s)
		return;
	free(s->port);
	free(s->range);
	free(s);
}

const struct mc_segment_range *mc_segment_find(const struct mc_segment *s, uint64_t base, uint64_t bytes)
{
	size_t low = 0, high = s->ranges; /* the last one that begins at base or before */

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (s->range[mid].base <= base)
			low = mid + 1;
		else
			high = mid;
	}
	if (!low)
		return NULL;
	const struct mc_segment_range *r = &s->range[low - 1];
	uint64_t into = base - r->base;

	return into <= r->bytes && bytes <= r->bytes - into ? r : NULL;
}
