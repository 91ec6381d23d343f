#include "calib/gate.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

static int one_ratio(const char *from, size_t n, double *v)
{
	char part[32];
	bool percent = n > 1 && from[n - 1] == '%';

	if (n >= sizeof part)
		return MC_USAGE;
	snprintf(part, sizeof part, "%.*s", (int)(n - percent), from);
	if (mc_units_real(part, v, NULL) || *v < 0)
		return MC_USAGE;
	*v /= percent ? 100 : 1;
	return 0;
}

int mc_calib_gate_parse(struct mc_calib_gate *g, const char *text, struct mc_err *err)
{
	const char *comma = text ? strchr(text, ',') : NULL;

	*g = (struct mc_calib_gate){.given = text != NULL};
	if (!text || (comma && !one_ratio(text, (size_t)(comma - text), &g->median) &&
		      !one_ratio(comma + 1, strlen(comma + 1), &g->p95)))
		return 0;
	return mc_err_set(err, MC_USAGE, "--require is '%.60s'; expected MEDIAN,P95, as in 5%%,15%%", text);
}

int mc_calib_gate_judge(const struct mc_calib_gate *g, double median, double p95, struct mc_err *err)
{
	if (!g->given || (median <= g->median && p95 <= g->p95))
		return 0;
	return mc_err_set(err, MC_FAIL,
			  "errors of %.1f %% (median) and %.1f %% (p95); required are %.1f %% and %.1f %%",
			  100 * median, 100 * p95, 100 * g->median, 100 * g->p95);
}
