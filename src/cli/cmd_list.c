/* mooncake list: what there is to choose from. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"
#include "cli/args.h"
#include "cli/command.h"
#include "fit/import.h"
#include "hw/profile.h"
#include "kv/evict.h"
#include "model/shape.h"
#include "out/report.h"
#include "out/textfmt.h"
#include "sched/conductor.h"
#include "trace/format.h"

static const char usage[] =
    "usage: mooncake list policies|evictors|formats|importers|profiles|models|sinks\n"
    "\n"
    "  policies  which prefill instance (conductor.policy), which decode node (conductor.decode_policy),\n"
    "            who is refused (conductor.admission), by what lengths (conductor.length_predictor)\n"
    "  evictors  what leaves a full KV pool (kv.evict)\n"
    "  formats   trace formats (trace.format)\n"
    "  importers tables that mooncake fit import reads\n"
    "  profiles  hardware profiles (hardware): source, ranges and errors\n"
    "  models    model shapes (model)\n"
    "  sinks     forms of a result (run --format)\n";

static void line(const char *name, const char *help)
{
	printf("  %-18s %s\n", name, help);
}

static int list_policies(void)
{
	printf("conductor.policy\n");
	for (const struct mc_policy *const *p = mc_policies; *p; p++)
		line((*p)->name, (*p)->help);
	printf("\nconductor.decode_policy\n");
	for (const struct mc_decode_policy *const *p = mc_decode_policies; *p; p++)
		line((*p)->name, (*p)->help);
	printf("\nconductor.admission\n");
	for (const struct mc_admission *const *a = mc_admissions; *a; a++)
		line((*a)->name, (*a)->help);
	printf("\nconductor.length_predictor\n");
	for (const struct mc_length_predictor *const *l = mc_length_predictors; *l; l++)
		line((*l)->name, (*l)->help);
	return MC_OK;
}

static int list_evictors(void)
{
	printf("kv.evict\n");
	for (const struct mc_evictor *const *p = mc_evictors; *p; p++)
		printf("  %-18s %s%s\n", (*p)->name, (*p)->help,
		       (*p)->foresee ? "; needs the future, so for comparison only" : "");
	return MC_OK;
}

static int list_formats(void)
{
	printf("trace.format\n");
	line("auto", "recognised by the first record (default)");
	for (const struct mc_trace_format *const *p = mc_trace_formats; *p; p++)
		line((*p)->name, (*p)->help);
	return MC_OK;
}

static int list_importers(void)
{
	printf("fit import\n");
	line("auto", "recognised by the columns of the table");
	for (const struct mc_importer *const *p = mc_importers; *p; p++)
		line((*p)->name, (*p)->help);
	return MC_OK;
}

static int list_sinks(void)
{
	printf("run --format\n");
	for (const struct mc_sink *const *p = mc_sinks; *p; p++)
		line((*p)->name, (*p)->help);
	return MC_OK;
}

/* What sets a shape apart from a dense one of grouped queries. */
static void apart(const struct mc_shape *s, char *text, size_t n)
{
	int at = 0;

	text[0] = 0;
	if (s->experts)
		at =
		    snprintf(text, n, "; %" PRId64 " of %" PRId64 " experts%s, %.1f G active",
			     s->experts_per_token, s->experts, s->shared_experts ? " beside shared ones" : "",
			     mc_shape_active_params(s) / 1e9);
	if (s->kv_lora_rank)
		snprintf(text + at, n - (size_t)at, "; latent KV of %" PRId64 " + %" PRId64, s->kv_lora_rank,
			 s->rope_head_dim);
}

static int list_models(void)
{
	char kv[MC_GROUPED], more[128];

	printf("model\n");
	for (const struct mc_shape *s = mc_shapes; s->name[0]; s++) {
		apart(s, more, sizeof more);
		printf("  %-18s %3" PRId64 " layers, hidden %5" PRId64 ", %3" PRId64 " heads, %3" PRId64
		       " KV heads, FFN %5" PRId64 "; %5.1f G parameters, %9s B of KV a token%s\n",
		       s->name, s->layers, s->hidden, s->heads, s->kv_heads, s->ffn, mc_shape_params(s) / 1e9,
		       mc_text_grouped(mc_shape_kv_bytes_per_token(s), kv), more);
	}
	printf("  Any other: the path of its config.json, or an object (mooncake-scenario(5)).\n");
	return MC_OK;
}

static void range(const char *what, const struct mc_range *r)
{
	char a[MC_GROUPED], b[MC_GROUPED], c[MC_GROUPED];

	printf("  %-9s%-8s prompts to %s tokens, contexts to %s tokens, batches to %s\n", "", what,
	       mc_text_grouped(r->prompt_max, a), mc_text_grouped(r->context_max, b),
	       mc_text_grouped(r->batch_max, c));
}

/* "  label    text", wrapped. */
static void entry(const char *label, const char *text)
{
	printf("  %-9s", label);
	mc_text_wrapped(stdout, text, 11, 11);
}

static void show_measured(const struct mc_measured *m)
{
	printf("  %-9s%s at tensor parallel %" PRId64 ", %s\n", "measured", m->model, m->tensor_parallel,
	       m->date);
	entry("", m->source);
	range("fitted", &m->fit);
	range("trusted", &m->trust);
	printf("  %-9slargest error of a fitted point: prefill %.1f %%, decode %.1f %%\n", "",
	       100 * m->prefill_error_ratio, 100 * m->decode_error_ratio);
	entry("", "growth with the batch:");
	entry("", m->batch_growth);
}

static void show_limit(const char *what, double bytes_per_s)
{
	char rate[MC_UNITS_TEXT];

	if (bytes_per_s > 0)
		printf("; %s %s", mc_units_format_rate(bytes_per_s, rate), what);
}

static void show_time(const char *what, double s)
{
	char time[MC_UNITS_TEXT];

	if (s > 0)
		printf("; %s %s", mc_units_format_time(mc_time_from_s(s), time), what);
}

static void show_network(const struct mc_profile *p)
{
	char rate[MC_UNITS_TEXT];
	struct mc_nics nics;

	mc_profile_nics(p, &nics);
	printf("  %-9s%s of a node", "network", mc_units_format_rate(mc_nics_bytes_per_s(&nics), rate));
	if (nics.sockets > 1 || nics.switches > 1)
		printf("; sockets: %u, PCIe switches: %u", nics.sockets, nics.switches);
	show_limit("a switch", nics.switch_bytes_per_s);
	show_limit("out of a socket", nics.socket_bytes_per_s);
	show_limit("from host memory", nics.host_bytes_per_s);
	show_time("before the first byte", p->net_startup_s);
	show_time("of a NIC for a transfer", p->net_request_s);
	show_time("of a NIC for a slice", p->net_slice_s);
	if (p->net_peer_loss > 0)
		printf("; %.3g %% longer with each further peer", 100 * p->net_peer_loss);
	if (p->net_duplex < 2)
		printf("; both ways at once %.3g times one way", p->net_duplex);
	putchar('\n');
}

/* ", rows 1 to 8,192", or ", n 1,024" where it is one value. */
static size_t span(char *text, size_t n, const char *dim, double low, double high)
{
	char a[MC_GROUPED], b[MC_GROUPED];
	int len;

	if (high <= 0)
		return 0;
	if (low == high)
		len = snprintf(text, n, ", %s %s", dim, mc_text_grouped((int64_t)low, a));
	else
		len = snprintf(text, n, ", %s %s to %s", dim, mc_text_grouped((int64_t)low, a),
			       mc_text_grouped((int64_t)high, b));
	return len < 0 || (size_t)len >= n ? 0 : (size_t)len;
}

static void show_left_out(const struct mc_curve_error *e)
{
	char text[128];

	if (!e->points)
		return;
	snprintf(text, sizeof text, "  of a shape left out: median %.1f %%, p95 %.1f %%, worst %.0f %%",
		 100 * e->median, 100 * e->p95, 100 * e->worst);
	entry("", text);
}

static void show_operator(const struct mc_operators *o, enum mc_op op)
{
	struct mc_operators_summary s;
	char text[1024], points[MC_GROUPED];
	size_t at;

	mc_operators_summary(o, op, &s);
	if (!s.curves)
		return;
	at = (size_t)snprintf(text, sizeof text, "%s: %zu curve%s", mc_op_names[op], s.curves,
			      s.curves == 1 ? "" : "s");
	for (int d = 0; d < MC_DIMS; d++)
		at += span(text + at, sizeof text - at, mc_dim_names[d], s.low[d], s.high[d]);
	if (s.points)
		snprintf(text + at, sizeof text - at,
			 "; error at %s points held out: median %.1f %%, p95 %.1f %%, worst %.0f %%",
			 mc_text_grouped(s.points, points), 100 * s.median, 100 * s.p95, 100 * s.worst);
	else
		snprintf(text + at, sizeof text - at, "; error not known");
	entry("", text);
	show_left_out(&o->held_out[op][MC_LEFT_SHAPE]);
}

static void show_gaps(const struct mc_gaps *g)
{
	const struct mc_gap_level *const levels[] = {&g->layer, &g->step};
	static const char *const names[] = {"layers", "iterations"};
	char text[192];

	for (int k = 0; k < 2; k++) {
		if (!levels[k]->error.points)
			continue;
		snprintf(text, sizeof text,
			 "whole %s of %.64s on %" PRId64 " GPU%s: error at %" PRId64
			 " points held out: median %.1f %%, p95 %.1f %%, worst %.0f %%",
			 names[k], g->model, g->tensor_parallel, g->tensor_parallel == 1 ? "" : "s",
			 levels[k]->error.points, 100 * levels[k]->error.median, 100 * levels[k]->error.p95,
			 100 * levels[k]->error.worst);
		entry("", text);
	}
}

static void show_operators(const struct mc_operators *o)
{
	if (!o->n)
		return;
	printf("  operators %s on %s%s%s, %s\n", o->dtype, o->device, o->software[0] ? ", " : "", o->software,
	       o->date);
	entry("", o->source);
	for (int op = 0; op < MC_OPS; op++)
		show_operator(o, (enum mc_op)op);
	for (size_t i = 0; i < o->n_gaps; i++)
		show_gaps(&o->gaps[i]);
}

static void show_profile(const struct mc_profile *p)
{
	char flops[MC_UNITS_TEXT], mem[MC_UNITS_TEXT], vram[MC_UNITS_TEXT], nic[MC_UNITS_TEXT];

	printf("%s (%s)\n", p->name, p->date);
	entry("source", p->source);
	printf("  %-9s%" PRId64 " GPUs of %s, %s, %s; %" PRId64 " NICs of %s\n", "node", p->gpus,
	       mc_units_format_flops(p->peak_flops, flops),
	       mc_units_format_bytes((double)p->vram_bytes, vram),
	       mc_units_format_rate(p->memory_bytes_per_s, mem), p->nics,
	       p->nic_list[0] ? p->nic_list : mc_units_format_rate(p->nic_bytes_per_s, nic));
	if (p->ssds)
		printf("  %-9s%" PRId64 " of %s, %s read, %s written\n", "SSDs", p->ssds,
		       mc_units_format_bytes((double)p->ssd_bytes, vram),
		       mc_units_format_rate(p->ssd_read_bytes_per_s, mem),
		       mc_units_format_rate(p->ssd_write_bytes_per_s, nic));
	show_network(p);
	for (int64_t i = 0; i < p->n_measured; i++)
		show_measured(&p->measured[i]);
	show_operators(&p->operators);
	printf(
	    "  %-9s%s: operation counts at %.2f of peak FLOP/s (attention %.2f), %.2f of memory bandwidth\n",
	    "analytic", p->n_measured ? "other shapes" : "every shape", p->flops_efficiency,
	    p->attention_efficiency, p->memory_efficiency);
	range("trusted", &p->trust);
}

static int list_profiles(void)
{
	char **names = mc_profile_list();
	int rc = MC_OK;

	if (!names || !*names)
		fprintf(stderr,
			"mooncake: no profiles in %s; MOONCAKE_PROFILE_DIR may name another folder "
			"(calib/profiles "
			"of the source)\n",
			MC_PROFILE_DIR);
	for (char **n = names; n && *n; n++) {
		struct mc_profile p;
		struct mc_err err = {0};

		if (n != names)
			putchar('\n');
		if (mc_profile_load(&p, *n, &err)) {
			rc = mc_cli_error(&err);
		} else {
			show_profile(&p);
			mc_profile_fini(&p);
		}
		free(*n);
	}
	free(names);
	return rc;
}

static const struct {
	const char *name;
	int (*show)(void);
} lists[] = {
    {"evictors", list_evictors}, {"formats", list_formats},   {"importers", list_importers},
    {"models", list_models},     {"policies", list_policies}, {"profiles", list_profiles},
    {"sinks", list_sinks},
};

static int list_run(int argc, char **argv)
{
	static const struct mc_option options[] = {{NULL, 0, NULL}};
	const char *names[sizeof lists / sizeof *lists + 1] = {NULL}, *near;
	struct mc_args a;

	mc_args_init(&a, argc, argv, options, usage);
	if (mc_args_next(&a) == MC_ARGS_STOP ||
	    !mc_args_operands(&a, 1, 1, "policies, evictors, formats, importers, profiles, models or sinks"))
		return a.rc;
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		names[i] = lists[i].name;
		if (!strcmp(lists[i].name, a.argv[0]))
			return lists[i].show();
	}
	near = mc_suggest(a.argv[0], names);
	return mc_cli_misuse("list: no list '%s'%s%s; expected policies, evictors, formats, importers, "
			     "profiles, models or sinks",
			     a.argv[0], near ? "; did you mean " : "", near ? near : "");
}

const struct mc_command mc_command_list = {
    .name = "list",
    .help = "policies, evictors, formats, importers, profiles, models, sinks",
    .usage = usage,
    .run = list_run,
};
