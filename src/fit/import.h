/*
 * Public tables of measured times to samples of operators (hw/opsamples.h): one format a file import/NAME.c,
 * defining mc_importer_NAME. A table is recognised by the columns it has. Rows keep their order, file and
 * line; what cannot be mapped to an operator is counted under a reason, never dropped silently.
 *
 * What happens between nodes by a stack of its own (vidur's p2p_inter_node, OSU) is no operator.
 */
#ifndef MC_FIT_IMPORT_H
#define MC_FIT_IMPORT_H

#include <stdbool.h>

#include "fit/table.h"
#include "hw/opsamples.h"
#include "model/shape.h"

#define MC_IMPORT_WHERES 8
#define MC_IMPORT_SKIPS  8

struct mc_import;

struct mc_importer {
	const char *name;
	const char *help; /* one line: whose table, and what becomes of it */
	const char *const
	    *columns;     /* that it must have; NULL-terminated; row() knows them by their places here */
	bool needs_model; /* the table does not say its model's widths */
	void (*row)(struct mc_import *im);
	/* In place of row, of what is no table: text, line by line, none of them empty. columns holds NULL
	 * alone. */
	void (*line)(struct mc_import *im, char *line);
	/* Then: does the line say whose output it is? Asked of the first 100. */
	bool (*tells)(const char *line);
};

/* NULL-terminated, sorted by name; generated from local.mk. */
extern const struct mc_importer *const mc_importers[];
extern const char *const mc_importers_names[];

struct mc_import_row {
	struct mc_opsample s; /* s.line: in file */
	const char *file;
};

struct mc_import_skip {
	const char *why;
	size_t rows;
};

/* One import, of one or several tables. {0} with the options filled in is a new one. */
struct mc_import {
	/* options, borrowed */
	const char *where[MC_IMPORT_WHERES]; /* "COLUMN=VALUE": only such rows; NULL-terminated when fewer */
	const char *model;                   /* for tables that don't say theirs; NULL: none */
	/* what was read */
	struct {
		MC_VEC(struct mc_import_row)
	} rows;
	struct mc_import_skip skip[MC_IMPORT_SKIPS];
	size_t lines; /* rows of the tables, kept or not */
	/* what all rows that were kept say of themselves; "": nothing */
	char said_model[64], said_device[64], said_tensor_parallel[64];
	int64_t state[8]; /* the importer's, of text: 0 where a file begins */
	/* of the table under way */
	const struct mc_importer *importer;
	struct mc_table table;
	const struct mc_shape *shape; /* of model; NULL: none */
	int column[40];               /* places of the importer's columns in the table */
	struct mc_err *err;
	int rc;
};

/* The one whose columns the table has, of several the one with the most. NULL: none. */
const struct mc_importer *mc_importer_recognise(const struct mc_table *t);

/* import_text.c. Whose output the text is; NULL: nobody's. */
const struct mc_importer *mc_import_text_of(const char *path);
/* As mc_import_read of a text: im->importer is set. */
int mc_import_lines(struct mc_import *im, const char *path, struct mc_err *err);

/* Read a table; format NULL or "auto": recognised. Errors (MC_USAGE) name file, line and column. path is
 * kept. */
int mc_import_read(struct mc_import *im, const char *path, const char *format, struct mc_err *err);
void mc_import_fini(struct mc_import *im);

/*
 * For importers: fields of the row by the importer's columns. The first mistake is kept, and the row dropped;
 * 0 is returned then.
 */
const char *mc_import_text(const struct mc_import *im, int column);
int64_t mc_import_int(struct mc_import *im, int column);
double mc_import_real(struct mc_import *im, int column);
/* A sample of the row. Dimensions out of range are mistakes; a time of 0 (rounded away) is a row skipped.
 * spread_ratio: -1: not known. */
void mc_import_add(struct mc_import *im, const struct mc_op_point *p, double seconds, double spread_ratio);
/* The row is not used, and why: a constant text, counted. */
void mc_import_skip(struct mc_import *im, const char *why);
/* The row is a mistake. */
void mc_import_bad(struct mc_import *im, int column, const char *what);
/* The row is a mistake of `key`, whatever the columns. */
void mc_import_fail(struct mc_import *im, const char *key, const char *what);
/* An operator of the model by the name that engines give its layer ("qkv_proj", "act_fn"), on one GPU of a
 * degree. */
struct mc_import_layer {
	const char *name;
	int64_t tokens, tensor_parallel;
	double seconds;
};
/* A sample of it; names that are no operator are skipped. */
void mc_import_layer(struct mc_import *im, const struct mc_import_layer *l);
/* The table says what this is of: the same in all rows that are kept, else a mistake that asks for --where.
 */
bool mc_import_single(struct mc_import *im, char kept[64], int column);
/* Did the user choose rows by this column of the importer? */
bool mc_import_chosen(const struct mc_import *im, int column);
/* Half of the range of the middle 90 % over the median, of a normal distribution with this deviation. */
double mc_import_spread_ratio(double deviation, double median);

#endif
