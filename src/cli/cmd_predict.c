/* mooncake predict: seconds of prefill and decode from the measured operators of a profile. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "base/vec.h"
#include "cli/args.h"
#include "cli/command.h"
#include "hw/opsamples.h"
#include "hw/profile.h"
#include "model/compose.h"
#include "out/textfmt.h"

static const char usage[] =
    "usage: mooncake predict --hardware PROFILE --model MODEL [--tensor-parallel N]\n"
    "                        [--prefill SPEC]... [--decode SPEC]... [--points FILE] [--format FORMAT]\n"
    "\n"
    "Seconds of prefill and decode on one instance, as sums over the operators of the profile\n"
    "(mooncake-profile(5), \"operators\"), the parts of each, and how each part was got: from a curve of\n"
    "its dimensions, interpolated between those of others, scaled from another, or counted in bytes.\n"
    "\n"
    "  -H, --hardware PROFILE   name or path of a profile with operators\n"
    "  -m, --model MODEL        name of a model, or path of its config.json\n"
    "  -t, --tensor-parallel N  GPUs that share a layer; default 1\n"
    "  -p, --prefill SPEC       [BATCHx]TOKENS[:CACHED[:CHUNK]]: prompts of TOKENS tokens of which CACHED\n"
    "                           are cached, prefilled CHUNK tokens at a time (all at once without it)\n"
    "  -d, --decode SPEC        BATCHxCONTEXT: one iteration of BATCH requests, of CONTEXT tokens each\n"
    "                           with the new one\n"
    "      --points FILE        samples of whole iterations (op step, mooncake-samples(5)): predicted\n"
    "                           beside measured\n"
    "  -f, --format FORMAT      text, csv or json\n"
    "\n"
    "Gaps are what whole layers and iterations were measured to take beyond the sum of their operators;\n"
    "\"scaled\": of another model. Not in it: the load of a cached prefix, the gathering of logits over\n"
    "GPUs, and gaps and the host where the profile does not have them.\n";

#define TOKENS_MAX INT64_C(1000000000) /* of a batch: keeps every product of a shape below 2^63 */

struct prediction {
	char name[64];
	struct mc_parts parts;
	double measured_s; /* 0: not known */
};

struct spec {
	bool prefill;
	const char *text;
};

struct predict {
	const char *hardware, *model, *points;
	int64_t tensor_parallel;
	int format;
	struct mc_profile profile;
	struct mc_shape shape;
	struct mc_compose compose;
	struct {
		MC_VEC(struct spec)
	} specs;
	struct {
		MC_VEC(struct prediction)
	} done;
};

static const char *const formats[] = {"text", "csv", "json", NULL};
enum { TEXT, CSV, JSON };
static const char *const kinds[MC_PART_KINDS] = {"operators", "collectives", "host", "gaps"};

/* Counts apart by x and colons: number[0] stands before the x, 1 without it; returns how many follow it, 0:
 * none can be read. */
static int spec_numbers(const char *text, int64_t number[4])
{
	const char *x = strchr(text, 'x');
	char one[32];
	int n = 0;

	number[0] = 1;
	for (const char *s = text; *s || s == text; n++) {
		size_t len = strcspn(s, x && s == text ? "x" : ":");

		if (len >= sizeof one || n - (x != NULL) >= 3)
			return 0;
		snprintf(one, sizeof one, "%.*s", (int)len, s);
		if (mc_units_count(one, &number[x ? n : n + 1], NULL))
			return 0;
		s += len + (s[len] != 0);
		if (!*s && s[-1] == ':')
			return 0;
	}
	return n - (x != NULL);
}

static int bad_spec(const struct spec *spec, const char *what, struct mc_err *err)
{
	return mc_err_set(err, MC_USAGE, "predict: --%s '%.60s' is not %s",
			  spec->prefill ? "prefill" : "decode", spec->text, what);
}

static int predict_prefill(const struct predict *p, const struct spec *spec, struct prediction *out,
			   struct mc_err *err)
{
	int64_t v[4] = {1, 0, 0, 0};
	struct mc_prompts prompts;
	int n = spec_numbers(spec->text, v);

	if (!n || v[0] < 1 || v[1] < 1 || v[2] < 0 || v[2] >= v[1] || v[3] < 0 || (n == 3 && !v[3]) ||
	    v[1] > TOKENS_MAX / v[0])
		return bad_spec(
		    spec, "[BATCHx]TOKENS[:CACHED[:CHUNK]], fewer cached than tokens, at most 1G of them",
		    err);
	prompts = (struct mc_prompts){.tokens = v[1], .cached = v[2], .chunk = v[3], .seqs = v[0]};
	return mc_compose_prefill(&p->compose, &prompts, &out->parts, err);
}

static int predict_decode(const struct predict *p, const struct spec *spec, struct prediction *out,
			  struct mc_err *err)
{
	int64_t v[4] = {1, 0, 0, 0};

	if (!strchr(spec->text, 'x') || spec_numbers(spec->text, v) != 1 || v[0] < 1 || v[1] < 1 ||
	    v[1] > TOKENS_MAX / v[0])
		return bad_spec(spec, "BATCHxCONTEXT, at most 1G tokens", err);
	return mc_compose_add(&p->compose, &(struct mc_iteration){1, v[1] - 1, v[0], v[0]}, &out->parts, err);
}

static int predict_specs(struct predict *p, struct mc_err *err)
{
	for (size_t i = 0; i < p->specs.n; i++) {
		const struct spec *spec = &p->specs.at[i];
		struct prediction one = {.measured_s = 0};
		int rc;

		snprintf(one.name, sizeof one.name, "%s %s", spec->prefill ? "prefill" : "decode",
			 spec->text);
		rc = spec->prefill ? predict_prefill(p, spec, &one, err) : predict_decode(p, spec, &one, err);
		if (rc)
			return rc;
		mc_vec_push(&p->done, one);
	}
	return MC_OK;
}

static int predict_point(struct predict *p, const struct mc_opsample *s, struct mc_err *err)
{
	const int64_t *d = s->point.dim;
	struct mc_iteration i = {d[MC_DIM_ROWS], d[MC_DIM_CONTEXT], d[MC_DIM_SEQS], d[MC_DIM_SEQS]};
	struct prediction one = {.measured_s = s->seconds};
	int rc;

	if (i.rows > TOKENS_MAX / i.seqs || i.context > TOKENS_MAX / i.seqs)
		rc = mc_err_set(err, MC_USAGE, "more than 1G tokens");
	else
		rc = mc_compose_add(&p->compose, &i, &one.parts, err);
	if (rc)
		mc_err_at(err, p->points, s->line, 0, NULL);
	snprintf(one.name, sizeof one.name, "step %" PRId64 "x%" PRId64 " after %" PRId64, i.seqs, i.rows,
		 i.context);
	mc_vec_push(&p->done, one);
	return rc;
}

/* Flagged rows, and those of other operators, are left out. */
static int predict_points(struct predict *p, struct mc_err *err)
{
	struct mc_opsamples s;
	int rc;

	if (!p->points)
		return MC_OK;
	rc = mc_opsamples_read(&s, p->points, err);
	if (rc)
		return rc;
	for (size_t i = 0; i < s.n && !rc; i++)
		if (s.at[i].point.op == MC_OP_STEP && !s.at[i].flag[0])
			rc = predict_point(p, &s.at[i], err);
	mc_opsamples_fini(&s);
	return rc;
}

static int64_t outside(const struct mc_parts *parts)
{
	int64_t n = 0;

	for (int i = 0; i < parts->n; i++)
		n += parts->part[i].outside;
	return n;
}

static void write_csv(const struct predict *p)
{
	printf("prediction,part,kind,calls,outside,how,seconds,measured_seconds\n");
	for (const struct prediction *d = p->done.at; d < p->done.at + p->done.n; d++) {
		for (int i = 0; i < d->parts.n; i++) {
			const struct mc_compose_part *t = &d->parts.part[i];

			printf("%s,%s,%s,%" PRId64 ",%" PRId64 ",%s,%.6g,\n", d->name, t->name,
			       kinds[t->kind], t->calls, t->outside, mc_op_hows[t->how], t->seconds);
		}
		printf("%s,total,,%" PRId64 ",%" PRId64 ",,%.6g,", d->name, d->parts.iterations,
		       outside(&d->parts), d->parts.seconds);
		if (d->measured_s > 0)
			printf("%.6g", d->measured_s);
		putchar('\n');
	}
}

static json_t *json_of(const struct prediction *d)
{
	json_t *o = json_pack("{s:s, s:f, s:I}", "prediction", d->name, "seconds", d->parts.seconds,
			      "iterations", (json_int_t)d->parts.iterations);
	json_t *parts = json_array();

	if (d->measured_s > 0)
		json_object_set_new(o, "measured_seconds", json_real(d->measured_s));
	for (int k = 0; k < MC_PART_KINDS; k++) {
		char key[32];

		snprintf(key, sizeof key, "%s_seconds", kinds[k]);
		json_object_set_new(o, key, json_real(d->parts.kind_s[k]));
	}
	for (int i = 0; i < d->parts.n; i++) {
		const struct mc_compose_part *t = &d->parts.part[i];

		json_array_append_new(parts, json_pack("{s:s, s:s, s:I, s:I, s:s, s:f}", "part", t->name,
						       "kind", kinds[t->kind], "calls", (json_int_t)t->calls,
						       "outside", (json_int_t)t->outside, "how",
						       mc_op_hows[t->how], "seconds", t->seconds));
	}
	json_object_set_new(o, "parts", parts);
	return o;
}

static void write_json(const struct predict *p)
{
	json_t *all = json_array();

	for (size_t i = 0; i < p->done.n; i++)
		json_array_append_new(all, json_of(&p->done.at[i]));
	json_dumpf(all, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(6));
	putchar('\n');
	json_decref(all);
}

/* What is known of how far a part may be off, beyond how it was got. */
static void part_note(const struct predict *p, const struct mc_compose_part *part, char text[96])
{
	const struct mc_curve_error *e = &p->profile.operators.held_out[part->point.op][MC_LEFT_SHAPE];
	bool guessed = part->how == MC_HOW_INTERPOLATED || part->how == MC_HOW_SCALED;
	char calls[MC_GROUPED];

	*text = 0;
	if (part->kind == MC_PART_GAP && part->how == MC_HOW_SCALED)
		snprintf(text, 96, "measured on %.60s", p->compose.gaps->model);
	else if (part->outside)
		snprintf(text, 96, "%s outside of the range", mc_text_grouped(part->outside, calls));
	else if (guessed && e->points)
		snprintf(text, 96, "of shapes left out: median %.0f %% off, p95 %.0f %%", 100 * e->median,
			 100 * e->p95);
}

static void write_parts(const struct predict *p, const struct prediction *d)
{
	struct mc_text_table *t = mc_text_table_new(6, 1 | 1 << 4 | 1 << 5);
	static const char *const heads[] = {"  part", "calls", "ms", "share", "how", ""};
	char calls[MC_GROUPED], text[96];

	for (int i = 0; i < 6; i++)
		mc_text_cell(t, "%s", heads[i]);
	for (int i = 0; i < d->parts.n; i++) {
		const struct mc_compose_part *part = &d->parts.part[i];

		mc_text_cell(t, "  %s", part->name);
		mc_text_cell(t, "%s", mc_text_grouped(part->calls, calls));
		mc_text_cell(t, "%.3f", 1e3 * part->seconds);
		mc_text_cell(t, "%.1f %%", 100 * part->seconds / d->parts.seconds);
		mc_text_cell(t, "%s", mc_op_hows[part->how]);
		part_note(p, part, text);
		mc_text_cell(t, "%s", text);
	}
	mc_text_table_write(t, stdout);
	mc_text_table_free(t);
}

static void write_text(const struct predict *p)
{
	const struct mc_operators *o = &p->profile.operators;

	printf("%s on %" PRId64 " GPU%s of %s: %s, %s%s%s, %s\n", p->shape.name, p->tensor_parallel,
	       p->tensor_parallel == 1 ? "" : "s", p->profile.name, o->device, o->dtype,
	       o->software[0] ? ", " : "", o->software, o->date);
	for (const struct prediction *d = p->done.at; d < p->done.at + p->done.n; d++) {
		printf("\n%s: %.6g s", d->name, d->parts.seconds);
		for (int k = 0; k < MC_PART_KINDS; k++)
			if (d->parts.kind_s[k] != 0)
				printf("%s %s %.1f %%", k ? "," : ";", kinds[k],
				       100 * d->parts.kind_s[k] / d->parts.seconds);
		if (d->measured_s > 0)
			printf("; measured %.6g s, %+.1f %%", d->measured_s,
			       100 * (d->parts.seconds / d->measured_s - 1));
		putchar('\n');
		write_parts(p, d);
	}
}

static int predict_resolved(struct predict *p, struct mc_err *err)
{
	int rc;

	if (!p->profile.operators.n) {
		mc_err_set(err, MC_USAGE, "%s has none; predictions are made of them", p->profile.name);
		mc_err_at(err, p->profile.path, 0, 0, "operators");
		return MC_USAGE;
	}
	rc = mc_compose_init(&p->compose, &p->profile.operators, &p->shape, p->tensor_parallel, err);
	if (!rc)
		rc = predict_specs(p, err);
	if (!rc)
		rc = predict_points(p, err);
	if (rc)
		return rc;
	if (p->format == CSV)
		write_csv(p);
	else if (p->format == JSON)
		write_json(p);
	else
		write_text(p);
	return MC_OK;
}

static int predict_all(struct predict *p, struct mc_err *err)
{
	json_t *name = json_string(p->model);
	int rc = mc_shape_from_json(&p->shape, name, NULL, err);

	json_decref(name);
	if (!rc)
		rc = mc_profile_load(&p->profile, p->hardware, err);
	if (rc)
		return rc;
	rc = predict_resolved(p, err);
	mc_profile_fini(&p->profile);
	return rc;
}

static bool predict_option(struct predict *p, struct mc_args *a, int c)
{
	struct spec spec = {c == 'p', a->value};

	switch (c) {
	case 'H':
		p->hardware = a->value;
		return true;
	case 'm':
		p->model = a->value;
		return true;
	case 't':
		return mc_args_int(a, 1, 1024, &p->tensor_parallel);
	case 'f':
		return mc_args_choice(a, formats, &p->format);
	case 256:
		p->points = a->value;
		return true;
	default:
		mc_vec_push(&p->specs, spec);
		return true;
	}
}

static int predict_options(struct predict *p, int argc, char **argv)
{
	static const struct mc_option options[] = {{"hardware", 'H', "PROFILE"},  {"model", 'm', "MODEL"},
						   {"tensor-parallel", 't', "N"}, {"prefill", 'p', "SPEC"},
						   {"decode", 'd', "SPEC"},       {"points", 256, "FILE"},
						   {"format", 'f', "FORMAT"},     {0}};
	struct mc_args a;
	int c;

	mc_args_init(&a, argc, argv, options, usage);
	while ((c = mc_args_next(&a)) > 0)
		if (!predict_option(p, &a, c))
			return a.rc ? a.rc : MC_USAGE;
	if (c == MC_ARGS_STOP || !mc_args_operands(&a, 0, 0, "options only"))
		return a.rc ? a.rc : -1;
	if (!p->hardware || !p->model)
		return mc_cli_misuse("predict: --%s is missing", p->hardware ? "model" : "hardware");
	if (!p->specs.n && !p->points)
		return mc_cli_misuse("predict: nothing to predict; give --prefill, --decode or --points");
	return MC_OK;
}

static int predict_run(int argc, char **argv)
{
	struct predict p = {.tensor_parallel = 1};
	struct mc_err err = {0};
	int rc = predict_options(&p, argc, argv);

	if (!rc && predict_all(&p, &err))
		rc = mc_cli_error(&err);
	mc_vec_fini(&p.specs);
	mc_vec_fini(&p.done);
	return rc < 0 ? MC_OK : rc; /* below 0: help was shown */
}

const struct mc_command mc_command_predict = {
    .name = "predict",
    .help = "seconds of prefill and decode from measured operators",
    .usage = usage,
    .run = predict_run,
};
