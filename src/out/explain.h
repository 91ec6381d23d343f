/* Why one request went where it went, and what became of it. */
#ifndef MC_OUT_EXPLAIN_H
#define MC_OUT_EXPLAIN_H

#include <stdio.h>

#include "cluster/cluster.h"
#include "out/report.h"

/* The explanation was found. format: text or json. */
void mc_explain_write(FILE *out, const char *format, const struct mc_report *report,
		      const struct mc_explanation *x);

#endif
