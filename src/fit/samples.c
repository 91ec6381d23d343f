#include "fit/samples.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "base/units.h"

#define COLUMNS    6
#define TOKENS_MAX INT64_C(1000000000)

static const char *const columns[COLUMNS] = {"kind",  "total_tokens", "cached_tokens",
					     "batch", "iterations",   "seconds"};

static int header_model(struct mc_samples *s, const char *value, struct mc_err *err)
{
	json_error_t je;
	json_t *v = value[0] == '{' ? json_loads(value, JSON_REJECT_DUPLICATES, &je) : json_string(value);
	int rc;

	if (!v)
		return mc_err_set(err, MC_USAGE, "is no JSON object: %s", je.text);
	rc = mc_shape_from_json(&s->shape, v, NULL, err);
	json_decref(v);
	return rc;
}

/* "# key: value"; a comment with another key, or without one, is for people. */
static int header_line(struct mc_samples *s, char *line, struct mc_err *err)
{
	static const char *const keys[] = {"model", "tensor_parallel", "date", "source"};
	char *value;
	size_t k;
	int rc = 0;

	line += strspn(line, "# \t");
	for (k = 0; k < 4; k++)
		if (!strncmp(line, keys[k], strlen(keys[k])) && line[strlen(keys[k])] == ':')
			break;
	if (k == 4)
		return 0;
	value = line + strlen(keys[k]) + 1;
	value += strspn(value, " \t");
	if (k == 0 && s->shape.layers)
		rc = mc_err_set(err, MC_USAGE, "is given twice");
	else if (k == 0)
		rc = header_model(s, value, err);
	else if (k == 1)
		rc = mc_units_int(value, &s->tensor_parallel, err);
	else if (k == 2 ? s->date != NULL : s->source != NULL)
		rc = mc_err_set(err, MC_USAGE, "is given twice");
	else
		*(k == 2 ? &s->date : &s->source) = mc_xstrdup(value);
	if (!rc && k == 1 && (s->tensor_parallel < 1 || s->tensor_parallel > 1024))
		rc = mc_err_set(err, MC_USAGE, "is not a number of GPUs from 1 to 1024");
	if (rc)
		mc_err_at(err, NULL, 0, 0, keys[k]);
	return rc;
}

static int sample_check(const struct mc_sample *p, struct mc_err *err)
{
	if (p->total < 1 || p->total > TOKENS_MAX)
		return mc_err_key(err, MC_USAGE, "total_tokens", "is not from 1 to 1,000,000,000");
	if (p->cached < 0 || p->cached >= p->total)
		return mc_err_key(err, MC_USAGE, "cached_tokens", "is not from 0 to below total_tokens");
	if (p->batch < 1 || p->batch > 1000000)
		return mc_err_key(err, MC_USAGE, "batch", "is not from 1 to 1,000,000");
	if (p->iterations < 1 || p->iterations > TOKENS_MAX)
		return mc_err_key(err, MC_USAGE, "iterations", "is not from 1 to 1,000,000,000");
	if (!(p->seconds > 0 && p->seconds <= 1e6))
		return mc_err_key(err, MC_USAGE, "seconds", "is not above 0 and at most 1,000,000");
	if (p->batch != 1)
		return mc_err_key(
		    err, MC_USAGE, "batch",
		    "is not 1: growth with the batch comes from operation counts, not from samples");
	if (!p->decode && p->iterations != 1)
		return mc_err_key(err, MC_USAGE, "iterations", "is not 1: a prefill is one pass");
	return 0;
}

static int sample_line(struct mc_samples *s, char *line, struct mc_err *err)
{
	struct mc_sample p = {0};
	int64_t *const numbers[] = {&p.total, &p.cached, &p.batch, &p.iterations};
	char *f[COLUMNS];
	int i, n = mc_str_fields(line, ',', f, COLUMNS);

	if (n != COLUMNS)
		return mc_err_set(err, MC_USAGE, "has %d fields; expected the %d of the column line", n,
				  COLUMNS);
	p.decode = !strcmp(f[0], "decode");
	if (!p.decode && strcmp(f[0], "prefill"))
		return mc_err_key(err, MC_USAGE, "kind", "is neither prefill nor decode");
	for (i = 0; i < 4; i++)
		if (mc_units_int(f[i + 1], numbers[i], err))
			return mc_err_at(err, NULL, 0, 0, columns[i + 1]), MC_USAGE;
	if (mc_units_real(f[5], &p.seconds, err))
		return mc_err_at(err, NULL, 0, 0, columns[5]), MC_USAGE;
	if (sample_check(&p, err))
		return MC_USAGE;
	mc_vec_push(s, p);
	return 0;
}

static int column_line(const char *line, struct mc_err *err)
{
	return strcmp(line, "kind,total_tokens,cached_tokens,batch,iterations,seconds")
		   ? mc_err_set(err, MC_USAGE,
				"is not the column line; expected "
				"kind,total_tokens,cached_tokens,batch,iterations,seconds")
		   : 0;
}

static int samples_complete(const struct mc_samples *s, struct mc_err *err)
{
	const char *key = !s->shape.layers      ? "model"
			  : !s->tensor_parallel ? "tensor_parallel"
			  : !s->date            ? "date"
			  : !s->source          ? "source"
						: NULL;

	return key ? mc_err_key(err, MC_USAGE, key, "is missing; samples start with '# key: value' lines")
		   : 0;
}

static int samples_lines(struct mc_samples *s, char *text, long *number, struct mc_err *err)
{
	bool head = false;
	char *line, *next;
	int rc;

	for (line = text; line && *line; line = next) {
		size_t n = strcspn(line, "\n");

		next = line[n] ? line + n + 1 : NULL;
		line[n] = '\0';
		if (n && line[n - 1] == '\r')
			line[n - 1] = '\0';
		++*number;
		if (!*line)
			continue;
		if (*line == '#') {
			rc = header_line(s, line, err);
		} else if (!head) {
			rc = column_line(line, err);
			head = true;
		} else {
			rc = sample_line(s, line, err);
			if (!rc)
				s->at[s->n - 1].line = *number;
		}
		if (rc)
			return rc;
	}
	*number = 0;
	return samples_complete(s, err);
}

int mc_samples_parse(struct mc_samples *s, const char *text, const char *path, struct mc_err *err)
{
	char *copy = mc_xstrdup(text);
	long line = 0;
	int rc;

	memset(s, 0, sizeof *s);
	rc = samples_lines(s, copy, &line, err);
	free(copy);
	if (rc) {
		mc_err_at(err, path, line, 0, NULL);
		mc_samples_fini(s);
	}
	return rc;
}

int mc_samples_read(struct mc_samples *s, const char *path, struct mc_err *err)
{
	char *text;
	size_t n;
	int rc = mc_file_read(path, 64 << 20, &text, &n, err);

	memset(s, 0, sizeof *s);
	if (rc)
		return rc;
	rc = strlen(text) == n ? mc_samples_parse(s, text, path, err)
			       : mc_err_set(err, MC_USAGE, "holds a NUL byte; expected CSV");
	free(text);
	if (rc)
		mc_err_at(err, path, 0, 0, NULL);
	return rc;
}

void mc_samples_fini(struct mc_samples *s)
{
	mc_vec_fini(s);
	free(s->source);
	free(s->date);
	memset(s, 0, sizeof *s);
}
