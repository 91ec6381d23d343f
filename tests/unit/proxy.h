/*
 * A bad network between sockets of this process: connections to an address go through here, where they are
 * reset, cut in the middle of whatever they carry, stalled, swallowed, or end late: what was on its way when
 * the asking side left still arrives. No byte is altered. One thread.
 */
#ifndef MC_TESTS_PROXY_H
#define MC_TESTS_PROXY_H

#include <stdbool.h>
#include <stdint.h>

/* Chances in 1/1000, of a new connection or of a piece (up to 16 KiB) that is carried; times in us. */
struct proxy_faults {
	unsigned refuse; /* a connection is reset at once */
	unsigned mute;   /* a connection is taken, and nothing ever comes of it */
	unsigned cut;    /* both sides are reset, when part of the piece has gone on */
	unsigned hush;   /* no more comes of the connection, to either side; its end isn't told, either */
	unsigned stall, stall_us; /* the piece comes later */
	unsigned late,
	    late_us; /* the piece comes later if its sender has gone: so its end is told later, too */
};

void proxy_start(uint64_t seed);
void proxy_stop(void);
/* No faults, f NULL: what is silent is reset as well. */
void proxy_set(const struct proxy_faults *f);
/* Reset all that there is; and until false, all that comes. */
void proxy_cut(const char *address, bool on);
/* From now on, or no more, nothing goes on from or to that address. */
void proxy_hold(const char *address, bool on);
/* The address that leads to that one; valid until proxy_stop(). */
const char *proxy_to(const char *address);
/* Pieces that came after their sender had gone. */
unsigned proxy_late(void);

#endif
