/* One metric a line: key,value,unit. */
#include <math.h>

#include "out/flat.h"
#include "out/report.h"

static void csv_write(FILE *out, const struct mc_report *report)
{
	json_t *doc = mc_report_json(report);
	struct mc_flat_list list = {0};

	mc_flat_from_json(doc, &list);
	fputs("key,value,unit\n", out);
	for (size_t i = 0; i < list.n; i++) {
		const struct mc_flat *f = &list.at[i];

		if (isnan(f->value))
			fprintf(out, "%s,,%s\n", f->key, mc_metric_unit(f->key));
		else
			fprintf(out, "%s,%.*g,%s\n", f->key, f->whole ? 17 : 12, f->value,
				mc_metric_unit(f->key));
	}
	mc_vec_fini(&list);
	json_decref(doc);
}

const struct mc_sink mc_sink_csv = {
    .name = "csv",
    .help = "one metric a line: key,value,unit",
    .write = csv_write,
};
