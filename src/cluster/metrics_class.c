/* Metrics by class, and who had objectives at all. */
#include <stdlib.h>
#include <string.h>

#include "cluster/metrics.h"

bool mc_row_ttft_met(const struct mc_row *row, const struct mc_class *class)
{
	return class->ttft && row->prefill_end - row->arrival <= class->ttft;
}

bool mc_row_tbt_met(const struct mc_row *row, const struct mc_class *class)
{
	return class->tbt && (row->output < 2 || row->tbt <= class->tbt);
}

struct mc_class mc_row_class(const struct mc_scenario *s, const struct mc_result *r, const struct mc_row *row)
{
	if (row->class < r->classes.n)
		return r->classes.at[row->class];
	return (struct mc_class){.ttft = s->slo.ttft, .tbt = s->slo.tbt};
}

static void count(const struct mc_row *row, const struct mc_class *class, struct mc_class_metrics *m)
{
	m->requests++;
	m->completed += row->outcome == MC_COMPLETED;
	m->rejected += row->outcome == MC_REJECTED;
	m->effective +=
	    row->outcome == MC_COMPLETED && mc_row_ttft_met(row, class) && mc_row_tbt_met(row, class);
}

/* TTFT and TBT of one class; v has room for a time of every request. */
static void summarize(const struct mc_result *r, uint32_t class, mc_time *v, struct mc_class_metrics *m)
{
	size_t n = 0;

	for (int64_t i = 0; i < r->n_rows; i++) {
		const struct mc_row *row = &r->row[i];

		if (row->counted && row->class == class && row->prefill_end >= 0)
			v[n++] = row->prefill_end - row->arrival;
	}
	mc_summary_times(v, n, &m->ttft);
	n = 0;
	for (int64_t i = 0; i < r->n_rows; i++) {
		const struct mc_row *row = &r->row[i];

		if (row->counted && row->class == class && row->outcome == MC_COMPLETED && row->output > 1)
			v[n++] = row->tbt;
	}
	mc_summary_times(v, n, &m->tbt);
	m->effective_ratio = m->requests ? (double)m->effective / (double)m->requests : 0;
}

void mc_metrics_classes(const struct mc_scenario *s, const struct mc_result *r, struct mc_metrics *m)
{
	bool given = r->classes.n && *r->classes.at[0].name;
	mc_time *v;

	for (int64_t i = 0; i < r->n_rows; i++) {
		const struct mc_row *row = &r->row[i];
		struct mc_class class = mc_row_class(s, r, row);

		if (!row->counted || !mc_row_arrived(r, row))
			continue;
		m->no_objective += !class.ttft || !class.tbt;
		if (given)
			count(row, &class, &m->by_class[row->class]);
	}
	if (!given)
		return;
	m->n_classes = (uint32_t)r->classes.n;
	v = mc_xcalloc((size_t)r->n_rows, sizeof *v);
	for (uint32_t k = 0; k < m->n_classes; k++) {
		m->by_class[k].class = r->classes.at[k];
		summarize(r, k, v, &m->by_class[k]);
	}
	free(v);
}
