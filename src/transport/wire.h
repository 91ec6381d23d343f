/* Integers in messages: little-endian, of 1 to 8 bytes; and a reader that stops at the end of what came. */
#ifndef MC_TRANSPORT_WIRE_H
#define MC_TRANSPORT_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline void mc_wire_set(uint8_t *at, uint64_t v, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		at[i] = (uint8_t)(v >> 8 * i);
}

static inline uint64_t mc_wire_get(const uint8_t *at, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = 0; i < bytes; i++)
		v |= (uint64_t)at[i] << 8 * i;
	return v;
}

/* `bad` is set, and 0 or "" given, once something was asked for that is not there. */
struct mc_wire_reader {
	const uint8_t *at;
	size_t left;
	bool bad;
};

static inline uint64_t mc_wire_int(struct mc_wire_reader *w, unsigned bytes)
{
	uint64_t v;

	if (w->bad || w->left < bytes) {
		w->bad = true;
		return 0;
	}
	v = mc_wire_get(w->at, bytes);
	w->at += bytes;
	w->left -= bytes;
	return v;
}

/* A text of at most n - 1 bytes after its length in one byte, without a NUL within; NUL-terminated. */
static inline void mc_wire_text(struct mc_wire_reader *w, char *out, size_t n)
{
	size_t k = (size_t)mc_wire_int(w, 1);

	out[0] = 0;
	if (w->bad || k >= n || k > w->left || memchr(w->at, 0, k)) {
		w->bad = true;
		return;
	}
	memcpy(out, w->at, k);
	out[k] = 0;
	w->at += k;
	w->left -= k;
}

#endif
