/* The NICs of a profile, as net/topology.h sees a node. */
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "hw/internal.h"

/* The line rates; returns how many the list has, all alike where there is none; -1 and err: not a rate. */
static int line_rates(const struct mc_profile *p, double rate[MC_NICS_MAX], struct mc_err *err)
{
	const char *s = p->nic_list;
	int n = 0;

	for (int64_t i = 0; i < p->nics; i++)
		rate[i] = p->nic_bytes_per_s;
	if (!*s)
		return (int)p->nics;
	for (;; n++) {
		size_t len = strcspn(s, ",");
		char text[64];
		double v;

		if (len >= sizeof text)
			len = sizeof text - 1;
		memcpy(text, s, len);
		text[len] = 0;
		if (mc_units_rate(text + strspn(text, " "), &v, err))
			return -1;
		if (!(v > 0)) {
			mc_err_set(err, MC_USAGE, "'%s' is no rate above 0", text);
			return -1;
		}
		if (n < MC_NICS_MAX)
			rate[n] = v;
		s += strcspn(s, ",");
		if (!*s++)
			return n + 1;
	}
}

int mc_profile_check_nics(const struct mc_profile *p, struct mc_err *err)
{
	double rate[MC_NICS_MAX];
	int n = line_rates(p, rate, err);

	if (n == p->nics)
		return MC_OK;
	if (n >= 0)
		mc_err_set(err, MC_USAGE, "has %d rates; expected %d, one for each of hardware.nics", n,
			   (int)p->nics);
	return mc_err_at(err, NULL, 0, 0, "hardware.nic_bandwidths");
}

void mc_profile_nics(const struct mc_profile *p, struct mc_nics *n)
{
	*n = (struct mc_nics){.n = (uint32_t)p->nics,
			      .gpus = (uint32_t)p->gpus,
			      .sockets = (uint32_t)p->sockets,
			      .switches = (uint32_t)p->pcie_switches,
			      .switch_bytes_per_s = p->pcie_bytes_per_s,
			      .socket_bytes_per_s = p->socket_bytes_per_s,
			      .host_bytes_per_s = p->host_nic_bytes_per_s,
			      .failover_s = p->nic_failover_s};
	line_rates(p, n->bytes_per_s, NULL);
	for (uint32_t i = 0; i < n->n; i++)
		n->bytes_per_s[i] *= p->net_efficiency;
}

double mc_profile_line_bytes_per_s(const struct mc_profile *p)
{
	double rate[MC_NICS_MAX], sum = 0;
	int n = line_rates(p, rate, NULL);

	for (int i = 0; i < n; i++)
		sum += rate[i];
	return sum;
}

double mc_nics_sum(const struct mc_nics *n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n->n; i++)
		sum += n->bytes_per_s[i];
	return sum;
}

double mc_nics_bytes_per_s(const struct mc_nics *n)
{
	double least = mc_nics_sum(n);

	if (n->host_bytes_per_s > 0 && n->host_bytes_per_s < least)
		least = n->host_bytes_per_s;
	if (n->switch_bytes_per_s > 0 && n->switches * n->switch_bytes_per_s < least)
		least = n->switches * n->switch_bytes_per_s;
	return least;
}
