/* mooncake config: look at a scenario without running it. */
#include <string.h>

#include "cli/args.h"
#include "cli/command.h"
#include "cli/simulate.h"

static const char usage[] =
    "usage: mooncake config show SCENARIO [--set KEY=VALUE]...   the resolved values, as JSON\n"
    "       mooncake config check SCENARIO [--set KEY=VALUE]...  is all of it good, and are model, profile "
    "and trace there?\n"
    "\n"
    "mooncake help config lists every key.\n";

static int show(struct mc_simulation *sim, const struct mc_setup *setup, struct mc_err *err)
{
	int rc = mc_simulation_configure(sim, setup, err);
	json_t *doc;

	if (rc)
		return rc;
	doc = mc_conf_dump(&sim->conf);
	mc_report_dump(stdout, doc);
	json_decref(doc);
	return MC_OK;
}

static int check(struct mc_simulation *sim, const struct mc_setup *setup, struct mc_err *err)
{
	struct mc_ignored_list list = {0};
	int rc;

	rc = mc_simulation_configure(sim, setup, err);
	if (!rc)
		rc = mc_simulation_resolve(sim, setup, err);
	if (rc)
		return rc;
	mc_report_ignored(&sim->conf, &sim->scenario, &sim->cost, &list);
	for (size_t i = 0; i < list.n; i++)
		printf("ignored: %s: %s\n", list.at[i].key, list.at[i].reason);
	mc_vec_fini(&list);
	printf("%s: ok (%s on %s, trace %s)\n", setup->path, sim->shape.name, sim->profile.name,
	       sim->trace_path);
	return MC_OK;
}

static int config_run(int argc, char **argv)
{
	static const struct mc_option options[] = {{"set", 's', "KEY=VALUE"}, {NULL, 0, NULL}};
	struct mc_setup setup = {0};
	struct mc_simulation sim = {0};
	struct mc_err err = {0};
	struct mc_args a;
	int code, rc = MC_USAGE;

	mc_args_init(&a, argc, argv, options, usage);
	while ((code = mc_args_next(&a)) > 0)
		mc_vec_push(&setup.set, a.value);
	if (code == MC_ARGS_STOP || !mc_args_operands(&a, 2, 2, "show or check, and a scenario")) {
		rc = a.rc;
	} else {
		setup.path = a.argv[1];
		if (!strcmp(a.argv[0], "show"))
			rc = show(&sim, &setup, &err);
		else if (!strcmp(a.argv[0], "check"))
			rc = check(&sim, &setup, &err);
		else
			mc_cli_misuse("config: '%s': expected show or check", a.argv[0]);
		if (err.rc)
			rc = mc_cli_error(&err);
	}
	mc_simulation_fini(&sim);
	mc_vec_fini(&setup.set);
	return rc;
}

const struct mc_command mc_command_config = {
    .name = "config",
    .help = "show or check a scenario without running it",
    .usage = usage,
    .run = config_run,
};
