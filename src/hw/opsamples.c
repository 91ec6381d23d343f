#include "hw/opsamples.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/str.h"
#include "base/units.h"

#define FILE_MAX (256u << 20)
#define FIRST    "# mooncake-samples:"
#define DIM_MAX                                                                                              \
	INT64_C(                                                                                             \
	    1000000000000000) /* a petabyte; products stay within double's exact integers where they must */

enum { COL_OP = 0, COL_DIM = 1, COL_SECONDS = COL_DIM + MC_DIMS, COL_SPREAD, COL_REPEATS, COL_FLAG, COLUMNS };

/* Columns that came with 1.1: MC_DIM_SLICE and those after it. */
enum { COL_NEW = COL_DIM + MC_DIM_SLICE, NEW_COLUMNS = COL_SECONDS - COL_NEW };

static const char *column_name(int i)
{
	static const char *const last[] = {"seconds", "spread_ratio", "repeats", "flag"};

	return i == COL_OP ? "op" : i < COL_SECONDS ? mc_dim_names[i - COL_DIM] : last[i - COL_SECONDS];
}

int64_t mc_opsamples_element_bytes(const char *dtype)
{
	return !strcmp(dtype, "f32") ? 4 : !strcmp(dtype, "bf16") || !strcmp(dtype, "f16") ? 2 : 0;
}

bool mc_opsamples_is(const char *text)
{
	return !strncmp(text, FIRST, sizeof FIRST - 1);
}

static int header_schema(const char *value, struct mc_err *err)
{
	if (strncmp(value, "1.", 2) || strspn(value + 2, "0123456789") != strlen(value + 2) || !value[2])
		return mc_err_key(err, MC_USAGE, "mooncake-samples", "is %.32s; expected 1.N", value);
	return MC_OK;
}

static int header_model(struct mc_opsamples *s, const char *value, struct mc_err *err)
{
	json_error_t je;

	s->model = value[0] == '{' ? json_loads(value, JSON_REJECT_DUPLICATES, &je) : json_string(value);
	return s->model ? MC_OK : mc_err_set(err, MC_USAGE, "is no JSON object: %s", je.text);
}

static int header_value(struct mc_opsamples *s, const char *key, const char *value, struct mc_err *err)
{
	char **const texts[] = {&s->device, &s->software, &s->dtype, &s->date, &s->source};
	static const char *const names[] = {"device", "software", "dtype", "date", "source"};

	for (size_t i = 0; i < 5; i++) {
		if (strcmp(key, names[i]))
			continue;
		if (*texts[i])
			return mc_err_set(err, MC_USAGE, "is given twice");
		*texts[i] = mc_xstrdup(value);
		if (i == 2 && !mc_opsamples_element_bytes(value))
			return mc_err_set(err, MC_USAGE, "is '%.16s'; expected f32, bf16 or f16", value);
		return MC_OK;
	}
	if (!strcmp(key, "model"))
		return s->model ? mc_err_set(err, MC_USAGE, "is given twice") : header_model(s, value, err);
	if (strcmp(key, "tensor_parallel"))
		return MC_OK; /* for people */
	if (s->tensor_parallel)
		return mc_err_set(err, MC_USAGE, "is given twice");
	if (mc_units_int(value, &s->tensor_parallel, err))
		return err ? err->rc : MC_USAGE;
	if (s->tensor_parallel >= 1 && s->tensor_parallel <= 1024)
		return MC_OK;
	return mc_err_set(err, MC_USAGE, "is not a number of GPUs from 1 to 1024");
}

/* "# key: value"; a comment without a key, or with one that is not known, is for people. */
static int header_line(struct mc_opsamples *s, char *line, struct mc_err *err)
{
	char *key = line + strspn(line, "# \t"), *value = strstr(key, ": ");

	if (!value)
		return MC_OK;
	*value = '\0';
	value += 2 + strspn(value + 2, " \t");
	if (header_value(s, key, value, err))
		return mc_err_at(err, NULL, 0, 0, key);
	return MC_OK;
}

/* Cut a line at its commas into f, of which there must be as many as columns; without those that came later
 * (old) they are empty. */
static int cut(char *line, char *f[COLUMNS], bool old, struct mc_err *err)
{
	int columns = old ? COLUMNS - NEW_COLUMNS : COLUMNS, n = mc_str_fields(line, ',', f, columns);

	if (n > columns)
		return mc_err_set(err, MC_USAGE, "has more than %d columns", columns);
	if (n < columns)
		return mc_err_set(err, MC_USAGE, "has %d columns; expected %d", n, columns);
	for (int i = COLUMNS - 1; old && i >= COL_NEW; i--)
		f[i] = i >= COL_SECONDS ? f[i - NEW_COLUMNS] : line + strlen(line);
	return MC_OK;
}

static int dimension(struct mc_op_point *p, int d, const char *text, struct mc_err *err)
{
	bool has = mc_op_dims[p->op] >> d & 1;
	int64_t least = d == MC_DIM_CONTEXT && p->op != MC_OP_ATTENTION_DECODE ? 0 : 1;

	if (!has && *text)
		return mc_err_key(err, MC_USAGE, mc_dim_names[d], "is given; expected none for %s",
				  mc_op_names[p->op]);
	if (!has)
		return MC_OK;
	if (!*text)
		return mc_err_key(err, MC_USAGE, mc_dim_names[d], "is missing; expected a number for %s",
				  mc_op_names[p->op]);
	if (mc_units_int(text, &p->dim[d], err))
		return mc_err_at(err, NULL, 0, 0, mc_dim_names[d]);
	if (p->dim[d] >= least && p->dim[d] <= DIM_MAX)
		return MC_OK;
	return mc_err_key(err, MC_USAGE, mc_dim_names[d], "is not from %d to 1e15", (int)least);
}

static int measured(struct mc_opsample *p, char *f[COLUMNS], struct mc_err *err)
{
	p->spread_ratio = -1;
	p->repeats = 1;
	if (mc_units_real(f[COL_SECONDS], &p->seconds, err))
		return mc_err_at(err, NULL, 0, 0, "seconds");
	if (!(p->seconds > 0 && p->seconds <= 1e6))
		return mc_err_key(err, MC_USAGE, "seconds", "is not above 0 and at most 1,000,000");
	if (*f[COL_SPREAD] && mc_units_real(f[COL_SPREAD], &p->spread_ratio, err))
		return mc_err_at(err, NULL, 0, 0, "spread_ratio");
	if (*f[COL_SPREAD] && !(p->spread_ratio >= 0))
		return mc_err_key(err, MC_USAGE, "spread_ratio", "is below 0");
	if (*f[COL_REPEATS] && mc_units_int(f[COL_REPEATS], &p->repeats, err))
		return mc_err_at(err, NULL, 0, 0, "repeats");
	if (p->repeats < 1)
		return mc_err_key(err, MC_USAGE, "repeats", "is below 1");
	if (strlen(f[COL_FLAG]) >= sizeof p->flag)
		return mc_err_key(err, MC_USAGE, "flag", "is longer than a word of 15 letters");
	memcpy(p->flag, f[COL_FLAG], strlen(f[COL_FLAG]) + 1);
	return MC_OK;
}

static int sample_line(struct mc_opsamples *s, char *line, long number, bool old, struct mc_err *err)
{
	struct mc_opsample p = {.line = number};
	char *f[COLUMNS];
	int rc = cut(line, f, old, err);

	if (rc)
		return rc;
	p.point.op = mc_op_find(f[COL_OP]);
	if (p.point.op == MC_OPS)
		return mc_err_key(err, MC_USAGE, "op", "'%.32s' is no operator; see mooncake-samples(5)",
				  f[COL_OP]);
	for (int d = 0; d < MC_DIMS && !rc; d++)
		rc = dimension(&p.point, d, f[COL_DIM + d], err);
	if (!rc && p.point.op == MC_OP_NET_BOTH && p.point.dim[MC_DIM_DEPTH] < 2)
		rc = mc_err_key(err, MC_USAGE, "depth", "is below 2; a request reads while another writes");
	if (!rc)
		rc = measured(&p, f, err);
	if (!rc)
		mc_vec_push(s, p);
	return rc;
}

/* old: without the columns that came later. */
static int names_line(char *line, bool *old, struct mc_err *err)
{
	char *f[COLUMNS];

	*old = !strstr(line, column_name(COL_NEW));
	if (cut(line, f, *old, err))
		return err ? err->rc : MC_USAGE;
	for (int i = 0; i < COLUMNS; i++)
		if (strcmp(f[i], column_name(i)) && !(*old && i >= COL_NEW && i < COL_SECONDS))
			return mc_err_set(err, MC_USAGE, "column %d is '%.32s'; expected %s", i + 1, f[i],
					  column_name(i));
	return MC_OK;
}

static int parse(struct mc_opsamples *s, char *text, struct mc_err *err)
{
	bool named = false, old = false;
	long number = 1;
	int rc = MC_OK;

	if (!mc_opsamples_is(text))
		return mc_err_set(err, MC_USAGE,
				  "is no file of samples; expected '" FIRST " 1.0' as its first line");
	for (char *line = text, *next; line && *line && !rc; line = next, number++) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		line[strcspn(line, "\r")] = '\0';
		if (number == 1)
			rc = header_schema(line + sizeof FIRST - 1 + strspn(line + sizeof FIRST - 1, " \t"),
					   err);
		else if (*line == '#')
			rc = named ? MC_OK : header_line(s, line, err);
		else if (*line && !named)
			rc = names_line(line, &old, err), named = true;
		else if (*line)
			rc = sample_line(s, line, number, old, err);
		if (rc)
			return mc_err_at(err, NULL, number, 0, NULL);
	}
	if (!named)
		return mc_err_set(err, MC_USAGE, "ends before the names of the columns");
	if (!s->dtype)
		return mc_err_key(err, MC_USAGE, "dtype", "is missing; expected '# dtype: f32', bf16 or f16");
	return MC_OK;
}

int mc_opsamples_parse(struct mc_opsamples *s, char *text, const char *path, struct mc_err *err)
{
	char **const texts[] = {&s->device, &s->software, &s->dtype, &s->date, &s->source};
	int rc;

	memset(s, 0, sizeof *s);
	rc = parse(s, text, err);
	if (rc) {
		mc_opsamples_fini(s);
		return mc_err_at(err, path, 0, 0, NULL);
	}
	for (size_t i = 0; i < 5; i++)
		if (!*texts[i])
			*texts[i] = mc_xstrdup("");
	return MC_OK;
}

int mc_opsamples_read(struct mc_opsamples *s, const char *path, struct mc_err *err)
{
	char *text;
	size_t n;
	int rc = mc_file_read(path, FILE_MAX, &text, &n, err);

	memset(s, 0, sizeof *s);
	if (rc)
		return rc;
	if (strlen(text) != n) {
		mc_err_set(err, MC_USAGE, "holds a NUL; expected text");
		rc = mc_err_at(err, path, 0, 0, NULL);
	} else {
		rc = mc_opsamples_parse(s, text, path, err);
	}
	free(text);
	return rc;
}

void mc_opsamples_fini(struct mc_opsamples *s)
{
	mc_vec_fini(s);
	free(s->device);
	free(s->software);
	free(s->dtype);
	free(s->date);
	free(s->source);
	json_decref(s->model);
	memset(s, 0, sizeof *s);
}

/* One line, whatever the text holds. */
static void header_text(FILE *out, const char *key, const char *value)
{
	if (!value || !*value)
		return;
	fprintf(out, "# %s: ", key);
	for (; *value; value++)
		fputc((unsigned char)*value < ' ' ? ' ' : *value, out);
	fputc('\n', out);
}

void mc_opsamples_write_header(const struct mc_opsamples *s, FILE *out)
{
	char *model = s->model && !json_is_string(s->model)
			  ? json_dumps(s->model, JSON_COMPACT | JSON_SORT_KEYS)
			  : NULL;

	fputs(FIRST " 1.1\n", out);
	header_text(out, "device", s->device);
	header_text(out, "software", s->software);
	header_text(out, "dtype", s->dtype);
	header_text(out, "date", s->date);
	header_text(out, "source", s->source);
	header_text(out, "model", model ? model : json_string_value(s->model));
	if (s->tensor_parallel)
		fprintf(out, "# tensor_parallel: %lld\n", (long long)s->tensor_parallel);
	for (int i = 0; i < COLUMNS; i++)
		fprintf(out, "%s%c", column_name(i), i + 1 < COLUMNS ? ',' : '\n');
	free(model);
}

void mc_opsamples_write(const struct mc_opsample *p, FILE *out)
{
	assert(p->point.op < MC_OPS);
	fputs(mc_op_names[p->point.op], out);
	for (int d = 0; d < MC_DIMS; d++) {
		fputc(',', out);
		if (mc_op_dims[p->point.op] >> d & 1)
			fprintf(out, "%lld", (long long)p->point.dim[d]);
	}
	fprintf(out, ",%.6g,", p->seconds);
	if (p->spread_ratio >= 0)
		fprintf(out, "%.3g", p->spread_ratio);
	fprintf(out, ",%lld,%s\n", (long long)p->repeats, p->flag);
}

bool mc_opsample_bare(const struct mc_opsample *p)
{
	return mc_op_is_net(p->point.op) && !strncmp(p->flag, "bare", 4);
}
