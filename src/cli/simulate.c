#include "cli/simulate.h"

#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/tracepath.h"
#include "config.h"
#include "trace/reshape.h"

void mc_simulation_fini(struct mc_simulation *sim)
{
	if (sim->has_conf)
		mc_conf_fini(&sim->conf);
	mc_cost_fini(&sim->cost);
	if (sim->has_profile)
		mc_profile_fini(&sim->profile);
	if (sim->has_result)
		mc_result_fini(&sim->result);
	if (sim->timed.n)
		mc_trace_retime_fini(&sim->timed);
	if (sim->own.n)
		mc_trace_fini(&sim->own);
	free(sim->trace_path);
	memset(sim, 0, sizeof *sim);
}

/* Was the key given on the command line? */
static bool set_by_option(const struct mc_setup *setup, const char *key)
{
	size_t n = strcspn(key, "["); /* an element of a list is given with it */

	for (size_t i = 0; i < setup->set.n; i++)
		if (!strncmp(setup->set.at[i], key, n) && setup->set.at[i][n] == '=')
			return true;
	return false;
}

/* An error of a setting comes from where it was given. */
static int bad_setting(const struct mc_setup *setup, const char *key, struct mc_err *err)
{
	return mc_err_at(err, set_by_option(setup, key) ? "--set" : setup->path, 0, 0, key);
}

int mc_simulation_configure(struct mc_simulation *sim, const struct mc_setup *setup, struct mc_err *err)
{
	int rc;

	memset(sim, 0, sizeof *sim);
	sim->name = setup->path;
	rc = mc_conf_init(&sim->conf, mc_scenario_fields, &sim->scenario, err);
	if (rc)
		return rc;
	sim->has_conf = true;
	rc = mc_conf_load(&sim->conf, setup->path, err);
	for (size_t i = 0; !rc && i < setup->set.n; i++)
		rc = mc_conf_set(&sim->conf, setup->set.at[i], err);
	if (!rc)
		rc = mc_conf_check(&sim->conf, err);
	if (!rc)
		rc = mc_scenario_check(&sim->scenario, err);
	if (rc)
		return bad_setting(setup, err->key, err);
	if (!strcmp(setup->path, "-") && !strcmp(sim->scenario.trace.path, "-")) {
		mc_err_set(err, MC_USAGE, "standard input cannot be both the scenario and the trace");
		return mc_err_at(err, NULL, 0, 0, "trace.path");
	}
	return MC_OK;
}

/* The reader of shapes names the key inside the model. */
static int bad_model(const struct mc_setup *setup, struct mc_err *err)
{
	char key[sizeof err->key];

	snprintf(key, sizeof key, "model%s%.100s", *err->key ? "." : "", err->key);
	snprintf(err->key, sizeof err->key, "%s", key);
	return bad_setting(setup, "model", err);
}

/* Tokens of a pass at most where nodes compute prompts; 0: whole prompts. */
static int64_t pass_tokens(const struct mc_scenario *s)
{
	if (!s->cluster.coupled)
		return s->cluster.prefill_chunk;
	return strcmp(s->cluster.batching, "chunked") ? 0 : s->cluster.max_batched_tokens;
}

static int init_cost(struct mc_simulation *sim, const struct mc_setup *setup, struct mc_err *err)
{
	const struct mc_scenario *s = &sim->scenario;
	struct mc_cost_params params = {MC_TIMES_AUTO, pass_tokens(s)};
	int rc;

	while (strcmp(s->hardware_times, mc_times_names[params.times]))
		params.times++; /* one of them, by the table of fields */
	rc = mc_cost_init(&sim->cost, &sim->profile, &sim->shape, &params, err);
	return rc && !err->file[0] ? bad_setting(setup, "hardware_times", err) : rc;
}

/* What a scenario says in place of the profile. */
static void override(struct mc_cost *cost, const struct mc_scenario *s)
{
	if (s->net.bandwidth > 0)
		mc_cost_set_bandwidth(cost, s->net.bandwidth);
	if (s->kv.ssd_read_bandwidth > 0)
		cost->ssd_read_bytes_per_s = s->kv.ssd_read_bandwidth;
	if (s->kv.ssd_write_bandwidth > 0)
		cost->ssd_write_bytes_per_s = s->kv.ssd_write_bandwidth;
	if (s->kv.vram_tokens)
		cost->vram_kv_tokens = s->kv.vram_tokens;
	else if (s->kv.vram_bytes)
		cost->vram_kv_tokens = (int64_t)((double)s->kv.vram_bytes / cost->kv_bytes);
	if (s->net.host_bandwidth > 0)
		mc_cost_set_host_bandwidth(cost, s->net.host_bandwidth);
}

int mc_simulation_resolve(struct mc_simulation *sim, const struct mc_setup *setup, struct mc_err *err)
{
	const struct mc_scenario *s = &sim->scenario;
	const char *folder = set_by_option(setup, "trace.path") ? NULL : setup->path;
	int rc;

	rc = mc_shape_from_json(&sim->shape, s->model, set_by_option(setup, "model") ? NULL : setup->path,
				err);
	if (rc)
		return bad_model(setup, err);
	rc = mc_profile_load(&sim->profile, s->hardware, err);
	if (rc)
		return bad_setting(setup, "hardware", err);
	sim->has_profile = true;
	rc = init_cost(sim, setup, err);
	if (rc)
		return rc;
	override(&sim->cost, s);
	rc = mc_cli_trace_find(s->trace.path, folder, &sim->trace_path, err);
	return rc ? bad_setting(setup, "trace.path", err) : MC_OK;
}

/* Would reading give the same requests? Times apart: those are set afterwards. */
static bool same_trace(const struct mc_simulation *a, const struct mc_simulation *b)
{
	struct mc_trace_params p = mc_scenario_trace(&a->scenario), q = mc_scenario_trace(&b->scenario);

	return !strcmp(a->trace_path, b->trace_path) && !strcmp(p.format, q.format) &&
	       p.block_tokens == q.block_tokens && p.kv_block_tokens == q.kv_block_tokens &&
	       p.limit == q.limit && p.max_output == q.max_output && p.start == q.start &&
	       p.max_bad == q.max_bad;
}

/* What is wrong with the file names it; the rest are settings, which the reader calls by their last name. */
static int bad_trace(const struct mc_setup *setup, struct mc_err *err)
{
	char key[sizeof err->key];

	if (err->file[0])
		return err->rc;
	snprintf(key, sizeof key, "trace.%.100s", err->key);
	err->key[0] = 0;
	return bad_setting(setup, key, err);
}

static int read_recorded(struct mc_simulation *sim, const struct mc_setup *setup,
			 const struct mc_simulation *like, struct mc_err *err)
{
	struct mc_trace_params params = mc_scenario_trace(&sim->scenario);
	int rc;

	if (like && like->recorded && same_trace(sim, like)) {
		sim->recorded = like->recorded;
		return MC_OK;
	}
	if (like && !strcmp(sim->trace_path, "-")) {
		mc_err_set(err, MC_USAGE,
			   "standard input can be read only once, and these runs need it read differently");
		return mc_err_at(err, NULL, 0, 0, "trace.path");
	}
	params.path = sim->trace_path;
	params.rate = 1;
	params.spread_ticks = false;
	rc = mc_trace_read(&sim->own, &params, err);
	if (rc)
		return bad_trace(setup, err);
	sim->recorded = &sim->own;
	if (sim->own.bad)
		mc_cli_warn("%lld malformed records were left out: %s", (long long)sim->own.bad, err->text);
	*err = (struct mc_err){0};
	return MC_OK;
}

int mc_simulation_read(struct mc_simulation *sim, const struct mc_setup *setup,
		       const struct mc_simulation *like, struct mc_err *err)
{
	struct mc_trace_params params = mc_scenario_trace(&sim->scenario);
	int rc = read_recorded(sim, setup, like, err);

	if (rc)
		return rc;
	sim->trace = sim->recorded;
	if (params.rate == 1 && !params.spread_ticks)
		return MC_OK;
	rc = mc_trace_retime(sim->recorded, &params, &sim->timed, err);
	if (rc)
		return bad_trace(setup, err);
	sim->trace = &sim->timed;
	return MC_OK;
}

int mc_simulation_run(struct mc_simulation *sim, const struct mc_cluster_hooks *hooks, struct mc_err *err)
{
	static const struct mc_cluster_hooks none = {0};
	struct mc_cluster_setup run = {&sim->scenario, &sim->cost, sim->trace, hooks ? hooks : &none};
	int rc;

	rc = mc_cluster_run(&run, &sim->result, err);
	if (rc)
		return mc_err_at(err, sim->name, 0, 0, NULL);
	sim->has_result = true;
	mc_metrics_compute(&sim->scenario, &sim->cost, &sim->result, &sim->metrics);
	return MC_OK;
}

int mc_simulation_open(struct mc_simulation *sim, const struct mc_setup *setup,
		       const struct mc_simulation *like, struct mc_err *err)
{
	int rc;

	rc = mc_simulation_configure(sim, setup, err);
	if (!rc)
		rc = mc_simulation_resolve(sim, setup, err);
	return rc ? rc : mc_simulation_read(sim, setup, like, err);
}

struct mc_report mc_simulation_report(const struct mc_simulation *sim)
{
	return (struct mc_report){
	    .version = PACKAGE_VERSION,
	    .name = sim->name,
	    .conf = &sim->conf,
	    .scenario = &sim->scenario,
	    .trace = sim->trace,
	    .model = sim->shape.name,
	    .profile = sim->profile.name,
	    .result = &sim->result,
	    .metrics = &sim->metrics,
	    .hardware = &sim->profile,
	    .cost = &sim->cost,
	};
}

bool mc_simulation_is_random(const struct mc_simulation *sim)
{
	return mc_scenario_is_random(&sim->scenario);
}
