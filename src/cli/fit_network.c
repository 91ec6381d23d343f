/* mooncake fit: what it says of the network part of a profile. */
#include <stdio.h>

#include "base/units.h"
#include "cli/fit_cli.h"
#include "out/fitpage.h"

static void ranges(FILE *out, const struct mc_netfit *f)
{
	static const enum mc_dim dims[] = {MC_DIM_BYTES, MC_DIM_DEPTH, MC_DIM_SLICE, MC_DIM_PEERS};

	fprintf(out, "network: %zu points, %zu of them reads, %zu flagged, over %u NIC%s", f->points, f->read,
		f->flagged, f->t.nics, f->t.nics == 1 ? "" : "s");
	for (size_t i = 0; i < sizeof dims / sizeof *dims; i++) {
		fprintf(out, "; %s %lld", mc_dim_names[dims[i]], (long long)f->low[dims[i]]);
		if (f->high[dims[i]] > f->low[dims[i]])
			fprintf(out, " to %lld", (long long)f->high[dims[i]]);
	}
	fputc('\n', out);
}

void mc_fit_cli_network(FILE *out, const struct mc_netfit *f, int64_t nics, bool fitted, bool faster)
{
	char a[MC_UNITS_TEXT], b[MC_UNITS_TEXT], c[MC_UNITS_TEXT], rate[MC_UNITS_TEXT];

	if (!fitted) {
		fprintf(out,
			"network: %zu points that are not flagged, of reads and writes over %u NICs; a fit "
			"takes %d, of several sizes, and larger ones that take longer\n",
			f->points, f->t.nics, MC_NETFIT_LEAST);
		return;
	}
	ranges(out, f);
	fprintf(
	    out,
	    "  start-up %s, a request %s, a slice %s of a NIC, which does %s (both ways at once %.3g times "
	    "that); %.3g %% more with each further peer\n",
	    mc_units_format_time(mc_time_from_s(f->t.startup_s), a),
	    mc_units_format_time(mc_time_from_s(f->t.request_s), b),
	    mc_units_format_time(mc_time_from_s(f->t.slice_s), c),
	    mc_units_format_rate(f->t.nic_bytes_per_s, rate), f->t.duplex, 100 * f->t.peer_loss);
	if (nics != f->t.nics)
		fprintf(out,
			"  the profile's node has %lld NICs, measured were %u: each of its NICs is taken to "
			"do as much; hardware.nics may say otherwise\n",
			(long long)nics, f->t.nics);
	if (faster)
		fprintf(out, "  faster than hardware.nic_bandwidth, which is replaced\n");
	mc_fitpage_net_text(out, f);
	if (f->flagged > f->points)
		fprintf(out,
			"  more samples are flagged than fitted: to be relied on, it is to be measured on a "
			"quieter machine\n");
}
