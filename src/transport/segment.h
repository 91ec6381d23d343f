/*
 * What an engine tells its peers: its ports, and the memory it has registered, with a key for each port that
 * can reach it. As bytes, little-endian: format, life, ports, ranges. What came from a peer is checked:
 * lengths, limits, texts; ranges that don't wrap or overlap.
 */
#ifndef MC_TRANSPORT_SEGMENT_H
#define MC_TRANSPORT_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"
#include "transport/memory.h"
#include "transport/topology.h"
#include "transport/transport.h"

enum {
	MC_SEGMENT_PORTS = 64,
	MC_SEGMENT_RANGES = 4096,
	MC_SEGMENT_BYTES = 4 << 20, /* encoded, at most */
	MC_TRANSPORT_NAME = 16,     /* bytes of a transport's name with its NUL */
};

/* What an engine is asked, the first byte of a message. */
enum { MC_CONTROL_SEGMENT = 1, MC_CONTROL_FENCE = 2 };

struct mc_segment_port {
	char transport[MC_TRANSPORT_NAME], name[MC_PORT_NAME], address[MC_PORT_ADDRESS];
};

struct mc_segment_range {
	uint64_t base, bytes;
	unsigned access;
	char place[MC_PLACE];
	struct {
		uint64_t key; /* 0: not at this port */
		uint8_t rank; /* enum mc_rank: how near the port is */
	} at[MC_SEGMENT_PORTS];
};

struct mc_segment {
	uint64_t life;    /* random: another one after a restart */
	uint64_t version; /* goes up with each change of the ranges */
	size_t ports, ranges;
	struct mc_segment_port *port;
	struct mc_segment_range *range; /* by base */
};

void mc_segment_encode(const struct mc_segment *s, struct mc_str *out);
/* *out is the caller's to free with mc_segment_free. MC_FAIL: that is no segment. */
int mc_segment_decode(struct mc_segment **out, const uint8_t *at, size_t n, struct mc_err *err);
void mc_segment_free(struct mc_segment *s);

/* The range that holds all of [base, base + bytes), or NULL. */
const struct mc_segment_range *mc_segment_find(const struct mc_segment *s, uint64_t base, uint64_t bytes);

#endif
