/* mooncake trace gen: a trace from a spec. */
#include <stdlib.h>

#include "base/str.h"
#include "base/vec.h"
#include "cli/command.h"
#include "cli/trace_cli.h"
#include "cli/watch.h"
#include "trace/gen.h"
#include "trace/write.h"

#define GEN_HELP_SPEC 310

static int generate(const struct mc_gen_spec *spec, const char *output, struct mc_err *err)
{
	struct mc_trace_writer w;
	struct mc_watch watch;
	struct mc_gen g;
	uint64_t *id;
	int rc = mc_gen_init(&g, spec, err);

	if (rc)
		return rc;
	mc_watch_start(&watch, true);
	rc = mc_trace_writer_open(&w, output, err);
	if (!rc) {
		w.stop = watch.hooks.interrupted;
		id = mc_xcalloc((size_t)(spec->context_tokens / spec->block_tokens + 1), sizeof *id);
		for (int64_t i = 0; i < g.n; i++) {
			const struct mc_gen_request *r = &g.request[i];
			struct mc_trace_row row = {
			    r->arrival, r->input, r->output, id, mc_gen_ids(&g, i, id), i, g.parent[i]};

			mc_trace_writer_put(&w, &row);
		}
		free(id);
		rc = mc_trace_writer_close(&w, err);
	}
	mc_gen_fini(&g);
	return rc;
}

/* Assignments of --set and --seed, applied in order once the spec is loaded. */
struct assignments {
	MC_VEC(char *)
};

static void assign(struct assignments *set, const char *key, const char *value)
{
	struct mc_str s = {0};

	mc_str_printf(&s, "%s%s", key, value);
	mc_vec_push(set, s.at);
}

static int load(struct mc_conf *conf, const char *path, const struct assignments *set, struct mc_err *err)
{
	int rc = mc_conf_load(conf, path, err);

	for (size_t i = 0; !rc && i < set->n; i++)
		rc = mc_conf_set(conf, set->at[i], err);
	return rc ? rc : mc_conf_check(conf, err);
}

static int run(const char *path, const struct assignments *set, const char *output)
{
	struct mc_gen_spec spec;
	struct mc_err err = {0};
	struct mc_conf conf;
	int rc = mc_conf_init(&conf, mc_gen_fields, &spec, &err);

	if (!rc)
		rc = load(&conf, path, set, &err);
	if (!rc) {
		rc = generate(&spec, output, &err);
		if (rc == MC_USAGE)
			mc_err_at(&err, path, 0, 0, NULL);
	}
	mc_conf_fini(&conf);
	return rc ? mc_cli_error(&err) : MC_OK;
}

int mc_trace_cli_gen(int argc, char **argv, const char *usage)
{
	static const struct mc_option options[] = {{"seed", 306, "N"},
						   {"set", 's', "KEY=VALUE"},
						   {"output", 'o', "FILE"},
						   {"help-spec", GEN_HELP_SPEC, NULL},
						   {0}};
	struct assignments set = {0};
	const char *output = "-";
	struct mc_args a;
	int c, rc;

	mc_args_init(&a, argc, argv, options, usage);
	while ((c = mc_args_next(&a)) > 0) {
		if (c == 306)
			assign(&set, "seed=", a.value);
		else if (c == 's')
			assign(&set, "", a.value);
		else if (c == 'o')
			output = a.value;
		else
			break;
	}
	if (c == GEN_HELP_SPEC) {
		mc_conf_help(mc_gen_fields, stdout);
		rc = MC_OK;
	} else if (c == MC_ARGS_STOP || !mc_args_operands(&a, 1, 1, "one spec")) {
		rc = a.rc;
	} else {
		rc = run(a.argv[0], &set, output);
	}
	for (size_t i = 0; i < set.n; i++)
		free(set.at[i]);
	mc_vec_fini(&set);
	return rc;
}
