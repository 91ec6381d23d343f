/* mooncake fit: measured times to a profile. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "cli/args.h"
#include "cli/command.h"
#include "cli/fit_cli.h"
#include "fit/fit.h"
#include "model/cost.h"
#include "model/roofline.h"

static const char usage[] =
    "usage: mooncake fit SAMPLES.csv... --hardware PROFILE [-o FILE] [--name NAME] [--date DATE]\n"
    "       mooncake fit --report FILE.html PROFILE [SAMPLES.csv...] [--compare PROFILE] [--model MODEL]\n"
    "       mooncake fit import FORMAT TABLE...   published tables to samples; see mooncake fit import "
    "--help\n"
    "\n"
    "Fits prefill and decode times to samples by weighted least squares and writes a profile: the\n"
    "hardware of PROFILE, its efficiencies for other shapes, and the fit with its source, ranges and\n"
    "residuals. An entry of the same model and degree is replaced. The same input gives the same bytes.\n"
    "A fit that is faster than the hardware allows is refused.\n"
    "\n"
    "  -H, --hardware PROFILE  name or path of a profile\n"
    "  -o, --output FILE       where to write; stdout without it\n"
    "  -n, --name NAME         name of the profile; default: FILE without .json\n"
    "  -d, --date DATE         date of the profile; default: that of the samples\n"
    "\n"
    "SAMPLES.csv: '# key: value' lines (model, tensor_parallel, date, source), then\n"
    "  kind,total_tokens,cached_tokens,batch,iterations,seconds\n"
    "  prefill,8192,7782,1,1,0.13514   prompt of 8,192 tokens, 7,782 of them cached\n"
    "  decode,8192,0,1,128,3.3949      128 iterations from a context of 8,192 tokens\n"
    "At least prompts of three lengths, cached ones of two, and decodes at two contexts; batch 1.\n"
    "\n"
    "Files of samples of operators (mooncake-samples(5)), several if they are of one dtype, give the\n"
    "profile's operators instead: for each operator and shape a curve that rises, never below the "
    "hardware's\n"
    "bound, with its error on points that it did not see. Flagged samples and outliers are left out and\n"
    "counted. Samples of disks and copies give figures of the hardware, stated as measured there, those of\n"
    "transfers between nodes its network; files of them alone, of any dtype, leave the operators as they "
    "are.\n"
    "\n"
    "With --report, a page that draws a profile: measured against fitted for each operator or entry, the\n"
    "most wrong samples with their file and line, errors on held-out points, ranges and sources. It opens\n"
    "without a network. Its figures are printed too.\n"
    "\n"
    "  -r, --report FILE        where to write the page\n"
    "  -c, --compare PROFILE    beside another profile: ratios of times for each operator\n"
    "  -m, --model MODEL        and what prefill and decode of this model take\n"
    "  -t, --tensor-parallel N  on so many GPUs; default: all of PROFILE's node\n";

struct fit_options {
	const char *samples, *hardware, *output, *name, *date;
	char **files; /* all of them, the first is samples */
	int n;
	bool operators; /* samples of operators, rather than of prefill and decode */
	const char *report, *compare, *model;
	int64_t tensor_parallel;
};

/* The hardware file is checked as a profile, and kept as it was written, units and all. */
static int fit_hardware(const char *path, struct mc_profile *p, json_t **root, struct mc_err *err)
{
	json_error_t je;
	int rc = mc_profile_load(p, path, err);

	if (rc)
		return rc;
	*root = json_load_file(p->path, JSON_REJECT_DUPLICATES, &je);
	if (*root && !json_object_get(*root, "base"))
		return 0;
	mc_err_set(err, MC_USAGE, *root ? "inherits; expected a whole profile" : "cannot be read again");
	mc_err_at(err, p->path, 0, 0, *root ? "base" : NULL);
	json_decref(*root);
	mc_profile_fini(p);
	return MC_USAGE;
}

/* "dir/a800-x8.json" names the profile a800-x8. */
static void fit_name(char name[64], const struct fit_options *o, const struct mc_profile *hw)
{
	const char *base = o->output ? strrchr(o->output, '/') : NULL, *end;

	if (o->name || !o->output || !strcmp(o->output, "-")) {
		snprintf(name, 64, "%s", o->name ? o->name : hw->name);
		return;
	}
	base = base ? base + 1 : o->output;
	end = strrchr(base, '.');
	snprintf(name, 64, "%.*s", end && end > base ? (int)(end - base) : 63, base);
}

static void fit_report(FILE *out, const struct mc_fit *f, const struct mc_cost *c, const struct mc_profile *p)
{
	struct mc_roofline_margin m;

	mc_roofline_margins(c, p, &m);
	fprintf(out, "prefill  a %.7g s, b %.7g s/token, c %.7g s/token^2, load %.7g s/token\n",
		f->prefill[0], f->prefill[1], f->prefill[2], f->prefill[3]);
	fprintf(out, "decode   base %.7g s, %.7g s/context token\n", f->decode[0], f->decode[1]);
	fprintf(out, "error    prefill %.2f %%, decode %.2f %% at most\n", 100 * f->prefill_error_ratio,
		100 * f->decode_error_ratio);
	fprintf(out, "fitted   prompts to %lld, contexts to %lld, batch %lld\n",
		(long long)f->fitted.prompt_max, (long long)f->fitted.context_max,
		(long long)f->fitted.batch_max);
	fprintf(out, "trusted  prompts to %lld, contexts to %lld, batch %lld\n",
		(long long)f->trusted.prompt_max, (long long)f->trusted.context_max,
		(long long)f->trusted.batch_max);
	fprintf(out, "roofline at least %.2f times the least time of prefill (n %.0f, cached %.0f),\n",
		m.prefill, m.prefill_n, m.prefill_p);
	fprintf(out, "         %.2f of decode (batch %.0f, context %.0f), %.3f of loads, %.3f of transfers\n",
		m.decode, m.decode_batch, m.decode_context, m.load, m.net);
	fprintf(out, "room     %lld tokens of KV in VRAM\n", (long long)c->vram_kv_tokens);
}

static int fit_write(const char *text, const char *path, struct mc_err *err)
{
	struct mc_file f;
	int rc = mc_file_create(&f, path, err);

	if (rc)
		return rc;
	fputs(text, f.fp);
	return mc_file_commit(&f, err);
}

/* The text must load, and be no faster than its hardware, before anything is written. */
static int fit_check(const char *text, const struct fit_options *o, const struct mc_samples *s,
		     const struct mc_fit *f, struct mc_err *err)
{
	bool to_file = o->output && strcmp(o->output, "-");
	struct mc_profile p;
	struct mc_cost c;
	int rc = mc_profile_load_text(&p, text, to_file ? o->output : "profile", err);

	if (rc)
		return rc;
	rc = mc_cost_init(&c, &p, &s->shape, NULL, err);
	if (rc) {
		mc_profile_fini(&p);
		return rc;
	}
	rc = fit_write(text, to_file ? o->output : "-", err);
	if (!rc)
		fit_report(to_file ? stdout : stderr, f, &c, &p);
	mc_cost_fini(&c);
	mc_profile_fini(&p);
	return rc;
}

static int fit_profile(const struct fit_options *o, struct mc_err *err)
{
	struct mc_profile hw;
	struct mc_samples s;
	struct mc_fit f;
	json_t *root;
	char name[64], *text;
	int rc = fit_hardware(o->hardware, &hw, &root, err);

	if (rc)
		return rc;
	fit_name(name, o, &hw);
	if (o->operators) {
		const struct mc_fit_cli c = {o->files, o->n, o->output, name, o->date};

		rc = mc_fit_cli_operators(&c, &hw, root, err);
		json_decref(root);
		mc_profile_fini(&hw);
		return rc;
	}
	rc = mc_samples_read(&s, o->samples, err);
	if (!rc) {
		rc = mc_fit_samples(&f, &s, &hw, err);
		if (rc)
			mc_err_at(err, o->samples, 0, 0, NULL);
		if (!rc) {
			text = mc_fit_profile_text(&f, &s, root, name, o->date);
			rc = fit_check(text, o, &s, &f, err);
			free(text);
		}
		mc_samples_fini(&s);
	}
	json_decref(root);
	mc_profile_fini(&hw);
	return rc;
}

static int fit_report_run(const struct fit_options *o, struct mc_args *a, struct mc_err *err)
{
	struct mc_fit_cli_report r = {.output = o->report,
				      .other = o->compare,
				      .model = o->model,
				      .tensor_parallel = o->tensor_parallel};

	if (o->hardware || o->output || o->name || o->date)
		return mc_cli_misuse("fit: --report draws a profile that there is; it takes no --%s",
				     o->hardware ? "hardware"
				     : o->output ? "output"
				     : o->name   ? "name"
						 : "date");
	if (!mc_args_operands(a, 1, 1000, "a profile, and files of samples"))
		return a->rc;
	r.profile = a->argv[0];
	r.samples = a->argv + 1;
	r.files = a->argc - 1;
	return mc_fit_cli_report(&r, err) ? mc_cli_error(err) : MC_OK;
}

/* False: a mistake was told. */
static bool fit_option(struct fit_options *o, struct mc_args *a, int c)
{
	switch (c) {
	case 'H':
		o->hardware = a->value;
		break;
	case 'o':
		o->output = a->value;
		break;
	case 'n':
		o->name = a->value;
		break;
	case 'd':
		o->date = a->value;
		break;
	case 'r':
		o->report = a->value;
		break;
	case 'c':
		o->compare = a->value;
		break;
	case 'm':
		o->model = a->value;
		break;
	default:
		return mc_args_int(a, 1, 1024, &o->tensor_parallel);
	}
	return true;
}

static int fit_run(int argc, char **argv)
{
	static const struct mc_option options[] = {
	    {"hardware", 'H', "PROFILE"}, {"output", 'o', "FILE"},       {"name", 'n', "NAME"},
	    {"date", 'd', "DATE"},        {"report", 'r', "FILE"},       {"compare", 'c', "PROFILE"},
	    {"model", 'm', "MODEL"},      {"tensor-parallel", 't', "N"}, {0}};
	struct fit_options o = {0};
	struct mc_err err = {0};
	struct mc_args a;
	int c;

	if (argc > 1 && !strcmp(argv[1], "import"))
		return mc_fit_cli_import(argc - 1, argv + 1);
	mc_args_init(&a, argc, argv, options, usage);
	while ((c = mc_args_next(&a)) > 0)
		if (!fit_option(&o, &a, c))
			return a.rc;
	if (c == MC_ARGS_STOP)
		return a.rc;
	if (o.report)
		return fit_report_run(&o, &a, &err);
	if (o.compare || o.model || o.tensor_parallel)
		return mc_cli_misuse("fit: --%s is of --report", o.compare ? "compare"
								 : o.model ? "model"
									   : "tensor-parallel");
	o.operators = a.argc > 0 && mc_fit_cli_is_operators(a.argv[0]);
	if (!mc_args_operands(&a, 1, o.operators ? 1000 : 1,
			      o.operators ? "files of samples" : "one file of samples"))
		return a.rc;
	if (!o.hardware)
		return mc_cli_misuse(
		    "fit: --hardware is missing; it names the profile that says what the node is");
	o.samples = a.argv[0];
	o.files = a.argv;
	o.n = a.argc;
	return fit_profile(&o, &err) ? mc_cli_error(&err) : MC_OK;
}

const struct mc_command mc_command_fit = {
    .name = "fit",
    .help = "measured times to a hardware profile",
    .usage = usage,
    .run = fit_run,
};
