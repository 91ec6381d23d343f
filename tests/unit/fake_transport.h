/*
 * A transport within one process, with faults on demand: a wire that a thread runs, on which operations are
 * late, done half, done and not reported, refused without reason, or lost with their endpoint; which lets
 * lost writes come in later, until a fence; and ports that go down. So it is as bad as the contract allows.
 */
#ifndef MC_TESTS_FAKE_TRANSPORT_H
#define MC_TESTS_FAKE_TRANSPORT_H

#include "transport/transport.h"

/* Chances in 1/1000 of an operation or call, delays in ns. */
struct fake_faults {
	unsigned lose;       /* the endpoint breaks in the middle of the operation */
	unsigned drop;       /* done, and never reported */
	unsigned refuse;     /* without reason */
	unsigned late;       /* of a lost or unreported write: comes in (again) after the endpoint is gone */
	unsigned no_connect; /* connecting fails */
	unsigned no_fence;   /* a fence fails */
	unsigned slow;       /* of an operation: it takes up to slow_ns */
	unsigned slow_ns;
};

/* Start and end the wire; ports are named by what they are opened with ("a0", "b1", ...), which is also their
 * address. Endpoints open at once, at most, are counted. */
void fake_start(uint64_t seed);
void fake_stop(void);
void fake_set(const struct fake_faults *f);
void fake_port_up(const char *name, bool up);
/* Who connects to it waits, as long as it likes. */
void fake_port_silent(const char *name, bool silent);
unsigned fake_endpoints_most(void);
unsigned fake_late_writes(void); /* that have come in */

extern const struct mc_transport fake_transport;
/* The same at a higher cost, of other ports. */
extern const struct mc_transport fake_transport_costly;

#endif
