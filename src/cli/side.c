#include "cli/side.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"

#define RESULT_MAX   (64 << 20) /* bytes of a result file */
#define REQUESTS_MAX ((size_t)8 << 30)
#define FIELDS_MAX   64

void mc_side_fini(struct mc_side *side)
{
	mc_simulation_fini(&side->sim);
	json_decref(side->result);
	for (int k = 0; k < MC_PAIRED; k++)
		free(side->rows.v[k]);
	memset(side, 0, sizeof *side);
}

static void rows_init(struct mc_latencies *rows, size_t n)
{
	rows->n = n;
	for (int k = 0; k < MC_PAIRED; k++) {
		rows->v[k] = mc_xcalloc(n + 1, sizeof(double));
		for (size_t i = 0; i < n; i++)
			rows->v[k][i] = NAN;
	}
}

/* Split a line at its commas, in place. */
static size_t split(char *line, char **field)
{
	size_t n = 0;

	field[n++] = line;
	for (char *p = line; *p; p++)
		if (*p == ',' && n < FIELDS_MAX) {
			*p = 0;
			field[n++] = p + 1;
		}
	return n;
}

static int bad_row(const char *path, long line, const char *column, struct mc_err *err)
{
	mc_err_set(err, MC_USAGE, "is no requests.csv of mooncake run");
	return mc_err_at(err, path, line, 0, column);
}

struct layout {
	size_t fields, counted, at[MC_PAIRED];
};

static int heading(char *line, const char *path, struct layout *l, struct mc_err *err)
{
	char *field[FIELDS_MAX];

	l->fields = split(line, field);
	l->counted = SIZE_MAX;
	for (int k = 0; k < MC_PAIRED; k++)
		l->at[k] = SIZE_MAX;
	for (size_t i = 0; i < l->fields; i++) {
		for (int k = 0; k < MC_PAIRED; k++)
			if (!strcmp(field[i], mc_paired_keys[k]))
				l->at[k] = i;
		if (!strcmp(field[i], "counted"))
			l->counted = i;
	}
	for (int k = 0; k < MC_PAIRED; k++)
		if (l->at[k] == SIZE_MAX)
			return bad_row(path, 1, mc_paired_keys[k], err);
	return l->counted == SIZE_MAX ? bad_row(path, 1, "counted", err) : MC_OK;
}

static int read_row(char *line, const struct layout *l, double *v)
{
	char *field[FIELDS_MAX], *end;

	if (split(line, field) != l->fields)
		return MC_USAGE;
	for (int k = 0; k < MC_PAIRED; k++) {
		const char *text = field[l->at[k]];

		v[k] = NAN;
		if (!*text || strcmp(field[l->counted], "1"))
			continue;
		v[k] = strtod(text, &end);
		if (*end || !isfinite(v[k]))
			return MC_USAGE;
	}
	return MC_OK;
}

/* The lines of a requests.csv, cut in place. */
static int rows_from_text(struct mc_latencies *rows, char *text, const char *path, struct mc_err *err)
{
	struct layout l = {0};
	size_t lines = 0;
	char *next;
	int rc = MC_OK;

	for (const char *p = text; *p; p++)
		lines += *p == '\n';
	if (!lines)
		return bad_row(path, 1, NULL, err);
	rows_init(rows, lines - 1);
	for (size_t i = 0; i < lines && !rc; i++, text = next) {
		double v[MC_PAIRED];

		next = strchr(text, '\n');
		*next++ = 0;
		if (!i) {
			rc = heading(text, path, &l, err);
			continue;
		}
		if (read_row(text, &l, v))
			rc = bad_row(path, (long)i + 1, NULL, err);
		for (int k = 0; k < MC_PAIRED && !rc; k++)
			rows->v[k][i - 1] = v[k];
	}
	return rc;
}

/* requests.csv beside a result, if there is one. */
static int load_rows(struct mc_side *side, const char *path, struct mc_err *err)
{
	const char *slash = strrchr(path, '/');
	struct mc_str name = {0};
	char *text = NULL;
	size_t n;
	int rc = MC_OK;

	mc_str_add(&name, path, slash ? (size_t)(slash - path) + 1 : 0);
	mc_str_printf(&name, "requests.csv");
	if (!access(name.at, R_OK)) {
		rc = mc_file_read(name.at, REQUESTS_MAX, &text, &n, err);
		if (!rc)
			rc = rows_from_text(&side->rows, text, name.at, err);
		free(text);
	}
	mc_str_fini(&name);
	return rc;
}

static int check_schema(const json_t *doc, const char *path, struct mc_err *err)
{
	const char *schema = json_string_value(json_object_get(doc, "schema"));

	if (schema && atoi(schema) == atoi(MC_RESULT_SCHEMA))
		return MC_OK;
	mc_err_set(err, MC_USAGE, "schema %s of a result; this program reads %s", schema ? schema : "(none)",
		   MC_RESULT_SCHEMA);
	return mc_err_at(err, path, 0, 0, "schema");
}

static int load_result(struct mc_side *side, const char *path, bool *stored, struct mc_err *err)
{
	const char *base = strrchr(path, '/'), *kind;
	struct stat st;
	char *text;
	size_t n;
	json_t *doc;
	int rc;

	if (!strcmp(path, "-") || (!stat(path, &st) && !S_ISREG(st.st_mode)))
		return MC_OK;
	rc = mc_file_read(path, RESULT_MAX, &text, &n, err);
	if (rc)
		return rc;
	doc = json_loadb(text, n, 0, NULL);
	free(text);
	kind = json_string_value(json_object_get(doc, "kind"));
	*stored = kind && !strcmp(kind, "mooncake-result");
	if (*stored) {
		side->result = json_incref(doc);
		rc = check_schema(doc, path, err);
		if (!rc && !strcmp(base ? base + 1 : path, "result.json"))
			rc = load_rows(side, path, err);
	} else if (kind) {
		mc_err_set(err, MC_USAGE, "is a %s; expected a result of mooncake run, or a scenario", kind);
		rc = mc_err_at(err, path, 0, 0, "kind");
	}
	json_decref(doc);
	return rc;
}

int mc_side_load(struct mc_side *side, const char *path, bool *stored, struct mc_err *err)
{
	struct mc_str name = {0};
	struct stat st;
	int rc;

	*stored = false;
	if (stat(path, &st) || !S_ISDIR(st.st_mode))
		return load_result(side, path, stored, err);
	mc_str_printf(&name, "%s/result.json", path);
	rc = load_result(side, name.at, stored, err);
	if (!rc && !*stored) {
		mc_err_set(err, MC_USAGE, "is no result of mooncake run --out-dir");
		rc = mc_err_at(err, name.at, 0, 0, NULL);
	}
	mc_str_fini(&name);
	return rc;
}

static void rows_from_result(struct mc_latencies *rows, const struct mc_result *r)
{
	rows_init(rows, (size_t)r->n_rows);
	for (int64_t i = 0; i < r->n_rows; i++) {
		const struct mc_row *row = &r->row[i];

		if (!row->counted)
			continue;
		if (row->prefill_end >= 0)
			rows->v[MC_PAIRED_TTFT][i] = mc_time_to_s(row->prefill_end - row->arrival);
		if (row->outcome != MC_COMPLETED)
			continue;
		if (row->output > 1)
			rows->v[MC_PAIRED_TBT][i] = mc_time_to_s(row->tbt);
		rows->v[MC_PAIRED_E2E][i] = mc_time_to_s(row->end - row->arrival);
	}
}

int mc_side_run(struct mc_side *side, const struct mc_setup *setup, const struct mc_side *like,
		struct mc_watch *watch, struct mc_err *err)
{
	struct mc_report report;
	int rc;

	rc = mc_simulation_open(&side->sim, setup, like ? &like->sim : NULL, err);
	if (!rc)
		rc = mc_simulation_run(&side->sim, &watch->hooks, err);
	if (rc)
		return rc;
	watch->requests += side->sim.trace->n;
	if (side->sim.result.interrupted)
		return mc_err_set(err, MC_FAIL, "interrupted");
	report = mc_simulation_report(&side->sim);
	side->result = mc_report_json(&report);
	rows_from_result(&side->rows, &side->sim.result);
	/* Only figures are needed from here on; the trace may be lent. */
	mc_result_fini(&side->sim.result);
	side->sim.has_result = false;
	return MC_OK;
}
