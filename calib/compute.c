#include "calib/compute.h"

#include <glob.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "base/file.h"
#include "base/str.h"
#include "calib/child.h"

enum { MOST = 2000 };

/* A config.json has its folder's name, whatever the way to it: files here are named by it. */
static void name_after_folder(struct mc_calib_compute *c, const char *path)
{
	char *folder = mc_xstrdup(path), *slash = strrchr(folder, '/'), *whole;

	if (slash)
		slash[1] = 0;
	whole = realpath(slash ? folder : ".", NULL);
	slash = whole ? strrchr(whole, '/') : NULL;
	snprintf(c->name, sizeof c->name, "%.63s", slash && slash[1] ? slash + 1 : "model");
	free(whole);
	free(folder);
}

static int resolve(struct mc_calib_compute *c, struct mc_err *err)
{
	const char *name = c->o->model, *dot = strrchr(name, '.');
	const struct mc_llama_shape *known;

	if (strchr(name, '/') || (dot && !strcmp(dot, ".json"))) {
		name_after_folder(c, name);
		return mc_llama_config_read(name, &c->shape, err);
	}
	known = mc_llama_shape_find(name, err);
	if (!known)
		return MC_USAGE;
	c->shape = *known;
	snprintf(c->name, sizeof c->name, "%s", name);
	return 0;
}

static int least(int64_t a, int64_t b)
{
	return (int)(a < b ? a : b);
}

int mc_calib_compute_init(struct mc_calib_compute *c, const char *backend, struct mc_err *err)
{
	const struct mc_calib_compute_options *o = c->o;
	int rc;

	c->backend = mc_backend_find(backend, err);
	rc = c->backend ? resolve(c, err) : MC_USAGE;
	if (rc)
		return rc;
	if (o->block_tokens % 16)
		return mc_err_set(err, MC_USAGE, "--block-tokens is %d; expected a multiple of 16",
				  (int)o->block_tokens);
	if (o->max_context < o->max_tokens)
		return mc_err_set(err, MC_USAGE, "--max-context is %d, less than --max-tokens (%d)",
				  (int)o->max_context, (int)o->max_tokens);
	c->want = (struct mc_calib_model_want){.backend = c->backend,
					       .shape = c->shape,
					       .dtype = MC_F32,
					       .device = (int)o->device,
					       .threads = (int)o->threads,
					       .block_tokens = (int)o->block_tokens};
	c->want.limits.context = least(o->max_context, c->shape.max_position);
	c->want.limits.tokens = least(o->max_tokens, c->want.limits.context);
	c->want.limits.batch = o->max_batch;
	c->goal =
	    (struct mc_calib_goal){.precision = o->common.precision,
				   .warm_s = fmin(0.03, o->common.budget_s / 1000),
				   .cap_s = fmax(0.01, fmin(3, o->common.budget_s / 60)) / MC_CALIB_ROUNDS,
				   .fewest = MC_CALIB_FEWEST,
				   .most = MOST,
				   .stop = &mc_calib_stop,
				   .clock = mc_calib_clock};
	c->goal.tolerant = o->common.busy_ok;
	return 0;
}

char *mc_calib_compute_path(const struct mc_calib_compute *c, const char *end)
{
	struct mc_str s = {0};

	mc_str_printf(&s, "%s/%s-%s%s", c->o->common.samples, c->prefix, c->name, end);
	return s.at;
}

json_t *mc_calib_compute_json(const struct mc_calib_compute *c)
{
	const struct mc_llama_shape *s = &c->want.shape;
	int e = (int)mc_dtype_bytes(c->want.dtype);

	return json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "name", c->name, "layers",
			 s->layers, "hidden", s->hidden, "heads", s->heads, "kv_heads", s->kv_heads,
			 "head_dim", s->head_dim, "ffn", s->ffn, "vocab", s->vocab, "tied_embeddings",
			 s->tied, "weight_bytes_per_param", e, "kv_bytes_per_value", e);
}

char *mc_calib_compute_config(const struct mc_calib_compute *c, struct mc_err *err)
{
	static const char *const dtypes[] = {"float32", "bfloat16", "float16"};
	const struct mc_llama_shape *s = &c->want.shape;
	struct mc_str path = {0};
	struct mc_file f;
	json_t *o;

	mkdir(c->o->common.samples, 0777);
	mc_str_printf(&path, "%s/%s", c->o->common.samples, c->name);
	mkdir(path.at, 0777);
	mc_str_printf(&path, "/config.json");
	if (mc_file_create(&f, path.at, err)) {
		mc_str_fini(&path);
		return NULL;
	}
	o = json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:b, s:s}", "model_type", "llama",
		      "num_hidden_layers", s->layers, "hidden_size", s->hidden, "num_attention_heads",
		      s->heads, "num_key_value_heads", s->kv_heads, "head_dim", s->head_dim,
		      "intermediate_size", s->ffn, "vocab_size", s->vocab, "tie_word_embeddings", s->tied,
		      "torch_dtype", dtypes[c->want.dtype]);
	json_dumpf(o, f.fp, JSON_INDENT(2));
	fputc('\n', f.fp);
	json_decref(o);
	if (mc_file_commit(&f, err)) {
		mc_str_fini(&path);
		return NULL;
	}
	return path.at;
}

/* The first line of a file, without its end; "" where there is none. */
static void first_line(const char *path, char *text, size_t n)
{
	FILE *f = fopen(path, "r");

	if (!f || !fgets(text, (int)n, f))
		*text = 0;
	text[strcspn(text, "\n")] = 0;
	if (f)
		fclose(f);
}

/* What else there is to know of the machine. */
static char *comments(const struct mc_calib_compute *c)
{
	char clock_khz[64], governor[64], load[128];
	struct mc_str s = {0};
	struct utsname u;

	first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", clock_khz, sizeof clock_khz);
	first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", governor, sizeof governor);
	first_line("/proc/loadavg", load, sizeof load);
	if (!uname(&u))
		mc_str_printf(&s, "# system: %s %s %s\n", u.sysname, u.release, u.machine);
	mc_str_printf(&s, "# clock: %s%s%s%s\n", *clock_khz ? clock_khz : "not readable",
		      *clock_khz ? " kHz" : "", *governor ? ", " : "", governor);
	mc_str_printf(&s, "# load_at_start: %s\n", load);
	mc_str_printf(&s, "# method: %s; precision %g; KV blocks of %d tokens\n", c->way, c->goal.precision,
		      c->want.block_tokens);
	return s.at;
}

static int open_session(struct mc_calib_compute *c, struct mc_err *err)
{
	const struct mc_device_info *info = &c->model.info;
	char device[192], software[320], date[16], *path = mc_calib_compute_path(c, ".csv"),
						   *more = comments(c);
	struct mc_opsamples head = {.device = device, .software = software, .date = date};
	struct mc_calib_session_want want = {.path = path,
					     .fresh = c->o->common.fresh,
					     .budget_s = c->o->common.budget_s,
					     .quiet = c->o->common.quiet,
					     .head = &head,
					     .comments = more};
	char dtype[8], source[] = "mooncake-calib";
	int rc;

	if (!strcmp(c->backend->name, "cpu"))
		snprintf(device, sizeof device, "%s, %d threads", info->name, info->units);
	else
		snprintf(device, sizeof device, "%s", info->name);
	snprintf(software, sizeof software, "%s", info->software);
	snprintf(dtype, sizeof dtype, "%s", mc_dtype_name(c->want.dtype));
	mc_calib_today(date);
	head.dtype = dtype;
	head.source = source;
	head.model = mc_calib_compute_json(c);
	head.tensor_parallel = 1;
	rc = mc_calib_session_open(&c->session, &want, err);
	json_decref(head.model);
	free(path);
	free(more);
	return rc;
}

int mc_calib_compute_open(struct mc_calib_compute *c, struct mc_err *err)
{
	int rc = mc_calib_model_open(&c->model, &c->want, err);

	if (rc)
		return rc;
	rc = mc_calib_model_compare(&c->model, err);
	if (!rc)
		rc = open_session(c, err);
	if (rc)
		mc_calib_model_close(&c->model);
	return rc;
}

void mc_calib_compute_close(struct mc_calib_compute *c)
{
	mc_calib_session_close(&c->session);
	mc_calib_model_close(&c->model);
}

int mc_calib_compute_fit(const struct mc_calib_compute *c, const char *hardware, struct mc_err *err)
{
	struct mc_str pattern = {0};
	const char **argv;
	size_t n = 0;
	glob_t files;
	int rc;

	mc_str_printf(&pattern, "%s/%s-*.csv", c->o->common.samples, c->prefix);
	rc = glob(pattern.at, 0, NULL, &files);
	mc_str_fini(&pattern);
	if (rc)
		return mc_err_set(err, MC_FAIL, "no samples in %s", c->o->common.samples);
	argv = mc_xcalloc(files.gl_pathc + 6, sizeof *argv);
	argv[n++] = "fit";
	for (size_t i = 0; i < files.gl_pathc; i++)
		argv[n++] = files.gl_pathv[i];
	argv[n++] = "--hardware";
	argv[n++] = hardware;
	argv[n++] = "--output";
	argv[n++] = c->o->common.output;
	rc = mc_calib_child(argv, NULL, err);
	free(argv);
	globfree(&files);
	return rc;
}

int mc_calib_compute_stopped(const struct mc_calib_compute *c)
{
	fprintf(stderr, "mooncake-calib: interrupted; the %zu samples so far are kept\n", c->session.all.n);
	return MC_CALIB_INTERRUPTED;
}

int mc_calib_compute_report(const struct mc_calib_compute *c)
{
	char *path;

	if (mc_calib_stop)
		return mc_calib_compute_stopped(c);
	path = mc_calib_compute_path(c, ".csv");
	printf(
	    "%s: %zu points measured in %.0f s, %zu flagged%s; %zu samples, of which %zu were there before\n",
	    path, c->measured, mc_calib_session_elapsed_s(&c->session), c->flagged,
	    c->drifted ? ", others for drift" : "", c->session.all.n, c->session.before);
	free(path);
	mc_calib_compute_table(c);
	if (c->flagged > c->measured / 2)
		mc_calib_warn("most points were disturbed by others on this machine");
	return 0;
}
