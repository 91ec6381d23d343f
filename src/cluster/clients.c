#include "cluster/clients.h"

#include <math.h>
#include <string.h>

#include "des/stream.h"

#define HALF_MOST 1.5 /* jitter "half": 0.5 to this times the backoff */

bool mc_clients_closed(const struct mc_scenario *s)
{
	return !strcmp(s->clients.mode, "closed");
}

static bool thinks_at_random(const struct mc_scenario *s)
{
	return s->clients.think && !strcmp(s->clients.think_shape, "exponential");
}

static bool has_jitter(const struct mc_scenario *s)
{
	return s->clients.backoff && strcmp(s->clients.jitter, "off") != 0;
}

bool mc_clients_random(const struct mc_scenario *s)
{
	return (mc_clients_closed(s) && thinks_at_random(s)) || (s->clients.retries && has_jitter(s));
}

static mc_time think(const struct mc_scenario *s, const char *component, int64_t index)
{
	double u;

	if (!thinks_at_random(s))
		return s->clients.think;
	u = mc_stream_draw((uint64_t)s->seed, component, (uint64_t)index);
	return mc_time_from_s(-log1p(-u) * mc_time_to_s(s->clients.think));
}

mc_time mc_clients_think(const struct mc_scenario *s, int64_t request)
{
	return think(s, "clients.think", request);
}

mc_time mc_clients_first(const struct mc_scenario *s, int64_t client)
{
	return think(s, "clients.first", client);
}

static mc_time doubled(const struct mc_scenario *s, uint32_t n)
{
	mc_time t = s->clients.backoff, max = s->clients.backoff_max;

	while (--n && t && t < max)
		t *= 2;
	return t < max ? t : max;
}

mc_time mc_clients_backoff(const struct mc_scenario *s, int64_t request, uint32_t n)
{
	mc_time t = doubled(s, n);
	double u;

	if (!has_jitter(s))
		return t;
	u = mc_stream_draw((uint64_t)s->seed, "clients.backoff", (uint64_t)request << 16 | n);
	if (!strcmp(s->clients.jitter, "half"))
		u += HALF_MOST - 1;
	return mc_time_from_s(u * mc_time_to_s(t));
}

double mc_clients_backoffs_max_s(const struct mc_scenario *s)
{
	double sum = 0;

	for (int64_t n = 1; n <= s->clients.retries; n++)
		sum += HALF_MOST * mc_time_to_s(doubled(s, (uint32_t)n));
	return sum;
}

double mc_clients_think_max_s(const struct mc_scenario *s)
{
	/* -ln(2^-53), the least that a draw leaves of 1 */
	return mc_time_to_s(s->clients.think) * (thinks_at_random(s) ? 36.8 : 1);
}

int mc_clients_check(const struct mc_scenario *s, struct mc_err *err)
{
	if (s->clients.backoff <= s->clients.backoff_max)
		return MC_OK;
	return mc_scenario_bad(err, "clients.backoff_max",
			       "is less than clients.backoff; expected as much or more");
}
