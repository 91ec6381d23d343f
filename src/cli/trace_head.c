/* mooncake trace head, and convert: requests as rows for people, or as JSON lines. */
#include <inttypes.h>
#include <stdio.h>

#include "cli/command.h"
#include "cli/trace_cli.h"
#include "cli/watch.h"
#include "trace/write.h"

#define HEAD_IDS 4 /* ids shown of each request */

static void row(const struct mc_trace *t, int64_t i)
{
	uint64_t n = mc_trace_blocks(t, i);

	printf("%8" PRId64 " %13.6f %9" PRIu32 " %9" PRIu32 " %7" PRIu64 "  ", i, mc_time_to_s(t->arrival[i]),
	       t->input[i], t->output[i], n);
	for (uint64_t k = 0; k < n && k < HEAD_IDS; k++)
		printf(" %" PRIu64, t->block[t->first[i] + k]);
	puts(n > HEAD_IDS ? " ..." : "");
}

int mc_trace_cli_head(int argc, char **argv, const char *usage)
{
	static const struct mc_option options[] = {MC_TRACE_CLI_OPTIONS, {"rows", 'n', "N"}, {0}};
	struct mc_trace_params p = MC_TRACE_PARAMS_DEFAULT;
	struct mc_trace t;
	struct mc_args a;
	int64_t rows = 10;
	int c, rc;

	mc_args_init(&a, argc, argv, options, usage);
	while ((c = mc_args_next(&a)) > 0) {
		if (!mc_trace_cli_option(&a, c, &p))
			mc_args_int(&a, 1, INT64_MAX, &rows);
		if (a.rc)
			return a.rc;
	}
	if (c == MC_ARGS_STOP || !mc_args_operands(&a, 1, 1, "one trace"))
		return a.rc;
	rc = mc_trace_cli_read(&a, &p, &t);
	if (rc)
		return rc;
	printf("%8s %13s %9s %9s %7s   ids\n", "request", "arrival_s", "input", "output", "blocks");
	for (int64_t i = 0; i < t.n && i < rows; i++)
		row(&t, i);
	mc_trace_fini(&t);
	return MC_OK;
}

int mc_trace_cli_convert(int argc, char **argv, const char *usage)
{
	static const struct mc_option options[] = {MC_TRACE_CLI_OPTIONS, {"output", 'o', "FILE"}, {0}};
	struct mc_trace_params p = MC_TRACE_PARAMS_DEFAULT;
	const char *output = "-";
	struct mc_err err = {0};
	struct mc_watch watch;
	struct mc_trace t;
	struct mc_args a;
	int c, rc;

	mc_args_init(&a, argc, argv, options, usage);
	while ((c = mc_args_next(&a)) > 0) {
		if (!mc_trace_cli_option(&a, c, &p))
			output = a.value;
		if (a.rc)
			return a.rc;
	}
	if (c == MC_ARGS_STOP || !mc_args_operands(&a, 1, 1, "one trace"))
		return a.rc;
	rc = mc_trace_cli_read(&a, &p, &t);
	if (rc)
		return rc;
	mc_watch_start(&watch, true);
	rc = mc_trace_write(&t, output, watch.hooks.interrupted, &err);
	mc_trace_fini(&t);
	return rc ? mc_cli_error(&err) : MC_OK;
}
