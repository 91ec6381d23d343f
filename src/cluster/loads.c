#include "cluster/loads.h"

#include <math.h>

/* The last arrival that was simulated. */
static mc_time last_arrival(const struct mc_result *r)
{
	mc_time last = 0;

	for (int64_t i = 0; i < r->n_rows && mc_row_arrived(r, &r->row[i]); i++)
		last = r->row[i].arrival;
	return last;
}

/* Pearson's correlation in two passes; 0 where one of them never changes. */
void mc_metrics_loads(const struct mc_scenario *s, const struct mc_result *r, struct mc_metrics *m)
{
	mc_time last = last_arrival(r);
	double n = 0, a = 0, b = 0, aa = 0, bb = 0, ab = 0;

	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < r->samples.n; i++) {
			const struct mc_sample *x = &r->samples.at[i];
			double p = x->prefill_load - a, d = x->decode_load - b;

			if (x->at < s->run.warmup || x->at > last)
				continue;
			n += !pass;
			aa += pass ? p * p : p;
			bb += pass ? d * d : d;
			ab += pass ? p * d : 0;
		}
		if (!pass && n) {
			a = m->prefill_load_mean = aa / n;
			b = m->decode_load_mean = bb / n;
		}
		if (!pass)
			aa = bb = 0;
	}
	m->load_correlation = aa > 0 && bb > 0 ? ab / sqrt(aa * bb) : 0;
}
