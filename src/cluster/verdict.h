/* Two judgements on a whole run: was it steady, and what held it back. Both read the time series. */
#ifndef MC_CLUSTER_VERDICT_H
#define MC_CLUSTER_VERDICT_H

#include "cluster/metrics.h"

/* Fills m->steady and m->queue_growth; the rule is in mc_metric_defs ("steady.is_steady"). */
void mc_verdict_steady(const struct mc_scenario *s, const struct mc_result *r, struct mc_metrics *m);
/* Fills m->bottleneck. */
void mc_verdict_bottleneck(const struct mc_scenario *s, const struct mc_result *r, struct mc_metrics *m);

#endif
