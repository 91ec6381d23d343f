#include "fit/import.h"

#include <assert.h>
#include <string.h>

#include "base/suggest.h"
#include "base/units.h"

#define DIM_MAX INT64_C(1000000000000000) /* as samples have it */

/* How many of an importer's columns there are; 0: not all are in the table. */
static int columns_of(const struct mc_importer *f, const struct mc_table *t)
{
	int n = 0;

	for (; f->columns[n]; n++)
		if (mc_table_find(t, f->columns[n]) < 0)
			return 0;
	return n;
}

const struct mc_importer *mc_importer_recognise(const struct mc_table *t)
{
	const struct mc_importer *best = NULL;
	int most = 0;

	for (const struct mc_importer *const *f = mc_importers; *f; f++) {
		int n = columns_of(*f, t);

		if (!(*f)->line && n > most)
			most = n, best = *f;
	}
	return best;
}

static const struct mc_importer *find(const char *name, struct mc_err *err)
{
	const char *near;

	for (const struct mc_importer *const *f = mc_importers; *f; f++)
		if (!strcmp((*f)->name, name))
			return *f;
	near = mc_suggest(name, mc_importers_names);
	mc_err_set(err, MC_USAGE, "no format '%.32s'%s%s; expected auto or one of `mooncake list importers`",
		   name, near ? ", did you mean " : "", near ? near : "");
	return NULL;
}

const char *mc_import_text(const struct mc_import *im, int column)
{
	return im->table.field[im->column[column]];
}

/* The first mistake of a row; err holds it already, without its place. */
static void mistake(struct mc_import *im, const char *key)
{
	if (!im->rc)
		mc_err_at(im->err, im->table.in.name, im->table.in.line, 0, key);
	im->rc = MC_USAGE;
}

void mc_import_bad(struct mc_import *im, int column, const char *what)
{
	if (im->rc)
		return;
	mc_err_set(im->err, MC_USAGE, "is '%.32s'; expected %s", mc_import_text(im, column), what);
	mistake(im, im->importer->columns[column]);
}

void mc_import_fail(struct mc_import *im, const char *key, const char *what)
{
	if (im->rc)
		return;
	mc_err_set(im->err, MC_USAGE, "%s", what);
	mistake(im, key);
}

int64_t mc_import_int(struct mc_import *im, int column)
{
	int64_t v = 0;

	if (!im->rc && mc_units_int(mc_import_text(im, column), &v, im->err))
		mistake(im, im->importer->columns[column]);
	return v;
}

double mc_import_real(struct mc_import *im, int column)
{
	double v = 0;

	if (!im->rc && mc_units_real(mc_import_text(im, column), &v, im->err))
		mistake(im, im->importer->columns[column]);
	return v;
}

void mc_import_skip(struct mc_import *im, const char *why)
{
	int i = 0;

	if (im->rc)
		return;
	while (i < MC_IMPORT_SKIPS && im->skip[i].why && strcmp(im->skip[i].why, why))
		i++;
	assert(i < MC_IMPORT_SKIPS);
	im->skip[i].why = why;
	im->skip[i].rows++;
}

void mc_import_add(struct mc_import *im, const struct mc_op_point *p, double seconds, double spread_ratio)
{
	struct mc_import_row r = {.s = {.point = *p,
					.seconds = seconds,
					.spread_ratio = spread_ratio,
					.repeats = 1,
					.line = im->table.in.line},
				  .file = im->table.in.name};

	for (int d = 0; d < MC_DIMS && !im->rc; d++) {
		int least = d != MC_DIM_CONTEXT || p->op == MC_OP_ATTENTION_DECODE;

		if (!(mc_op_dims[p->op] >> d & 1) || (p->dim[d] >= least && p->dim[d] <= DIM_MAX))
			continue;
		mc_err_set(im->err, MC_USAGE, "is %lld for %s; expected %d to 1e15", (long long)p->dim[d],
			   mc_op_names[p->op], least);
		mistake(im, mc_dim_names[d]);
	}
	if (im->rc)
		return;
	if (!(seconds >= 0 && seconds <= 1e6)) {
		mc_err_set(im->err, MC_USAGE, "is %g for %s; expected 0 to 1e6", seconds, mc_op_names[p->op]);
		mistake(im, "seconds");
	} else if (seconds == 0) {
		mc_import_skip(im, "a time rounded to 0");
	} else {
		mc_vec_push(&im->rows, r);
	}
}

bool mc_import_single(struct mc_import *im, char kept[64], int column)
{
	const char *text = mc_import_text(im, column);

	if (im->rc)
		return false;
	if (!*kept && *text && strlen(text) < 64)
		memcpy(kept, text, strlen(text) + 1);
	if (strcmp(kept, text)) {
		mc_err_set(im->err, MC_USAGE, "is '%.32s' here and '%.32s' before; choose one with --where",
			   text, kept);
		mistake(im, im->importer->columns[column]);
	}
	return !im->rc;
}

double mc_import_spread_ratio(double deviation, double median)
{
	return median > 0 && deviation >= 0 ? 1.6449 * deviation / median : -1;
}

/* "COLUMN=VALUE": place of the column in the table, and the value. */
static int where_column(const struct mc_import *im, const char *where, const char **value)
{
	const char *eq = strchr(where, '=');

	for (int i = 0; eq && i < im->table.columns; i++)
		if (strlen(im->table.name[i]) == (size_t)(eq - where) &&
		    !strncmp(im->table.name[i], where, (size_t)(eq - where))) {
			*value = eq + 1;
			return i;
		}
	return -1;
}

bool mc_import_chosen(const struct mc_import *im, int column)
{
	const char *value;

	for (int i = 0; i < MC_IMPORT_WHERES && im->where[i]; i++)
		if (where_column(im, im->where[i], &value) == im->column[column])
			return true;
	return false;
}

static bool wanted(const struct mc_import *im)
{
	const char *value = NULL;

	for (int i = 0; i < MC_IMPORT_WHERES && im->where[i]; i++) {
		int c = where_column(im, im->where[i], &value);

		if (strcmp(im->table.field[c], value))
			return false;
	}
	return true;
}

/* Whose table is it, and does it have what that needs? */
static int prepare(struct mc_import *im, bool named, struct mc_err *err)
{
	const char *value;

	if (!named)
		im->importer = mc_importer_recognise(&im->table);
	if (!im->importer)
		return mc_err_set(err, MC_USAGE,
				  "has the columns of no known table; see `mooncake list importers`");
	for (int i = 0; im->importer->columns[i]; i++) {
		assert(i < (int)(sizeof im->column / sizeof *im->column));
		im->column[i] = mc_table_find(&im->table, im->importer->columns[i]);
		if (im->column[i] < 0)
			return mc_err_set(err, MC_USAGE, "has no column %s; expected a table of %s",
					  im->importer->columns[i], im->importer->name);
	}
	for (int i = 0; i < MC_IMPORT_WHERES && im->where[i]; i++)
		if (where_column(im, im->where[i], &value) < 0)
			return mc_err_set(err, MC_USAGE,
					  "--where %.64s names no column; expected COLUMN=VALUE",
					  im->where[i]);
	if (!im->importer->needs_model)
		return MC_OK;
	if (!im->model)
		return mc_err_set(err, MC_USAGE, "does not say its model's widths; give --model");
	im->shape = mc_shape_find(im->model);
	return im->shape
		   ? MC_OK
		   : mc_err_set(err, MC_USAGE, "no model '%.32s'; see `mooncake list models`", im->model);
}

static int read_rows(struct mc_import *im, struct mc_err *err)
{
	bool more;

	im->err = err;
	im->rc = MC_OK;
	for (;;) {
		int rc = mc_table_next(&im->table, &more, err);

		if (rc || !more)
			return rc;
		im->lines++;
		if (!wanted(im))
			mc_import_skip(im, "not chosen by --where");
		else
			im->importer->row(im);
		if (im->rc)
			return im->rc;
	}
}

int mc_import_read(struct mc_import *im, const char *path, const char *format, struct mc_err *err)
{
	bool named = format && strcmp(format, "auto");
	int rc;

	im->importer = named ? find(format, err) : mc_import_text_of(path);
	if (named && !im->importer)
		return mc_err_at(err, path, 0, 0, NULL);
	if (im->importer && im->importer->line)
		return mc_import_lines(im, path, err);
	rc = mc_table_open(&im->table, path, err);
	if (rc)
		return rc;
	rc = prepare(im, named, err);
	if (rc)
		mc_err_at(err, path, 0, 0, NULL);
	else
		rc = read_rows(im, err);
	mc_table_close(&im->table);
	return rc;
}

void mc_import_fini(struct mc_import *im)
{
	mc_vec_fini(&im->rows);
}
