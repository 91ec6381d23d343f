/*
 * The points of a grid of transfers, visited in rounds over the budget, as calib/rounds.c does those of a
 * model's steps, and for its reason: a machine that others share changes its speed within minutes.
 */
#ifndef MC_CALIB_NETMEASURE_H
#define MC_CALIB_NETMEASURE_H

#include "calib/bare.h"
#include "calib/measure.h"
#include "calib/netgrid.h"
#include "calib/netload.h"
#include "calib/session.h"

struct mc_netmeasure {
	struct mc_net *net;
	const struct mc_transport *transport;
	struct mc_calib_session session;
	struct mc_bare *bare[MC_BARES];
	int bares;
	double precision, budget_s;
	bool busy_ok;
	const volatile sig_atomic_t *stop;
	struct mc_calib_drift drift;
	size_t trusted; /* samples before this one have a good reference on both sides */
	bool drifted;
	size_t measured, skipped; /* skipped: points that take longer than their share of the budget */
	double
	    visit_s_per_byte[64]; /* of a visit, the last one, by the binary logarithm of bytes under way */
};

/* Until every point was visited three times, the budget is spent, or *stop. The session is open, the bare
 * ways are. */
int mc_netmeasure_run(struct mc_netmeasure *m, const struct mc_netgrid *g, struct mc_err *err);

/* One point, within cap_s or so, and its bytes verified. */
int mc_netmeasure_point(struct mc_netmeasure *m, const struct mc_netpoint *p, double cap_s,
			struct mc_calib_result *out, struct mc_err *err);

#endif
