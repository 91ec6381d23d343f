/* A CSV table read row by row, its fields found by the names in its first line; plain or compressed with
 * zstd. */
#ifndef MC_FIT_TABLE_H
#define MC_FIT_TABLE_H

#include <stdbool.h>

#include "base/vec.h"
#include "trace/input.h"

#define MC_TABLE_COLUMNS 128

struct mc_table {
	struct mc_input in; /* in.line: number of the row that was read last */
	char *head, *row;   /* the first line and the last one read, cut at their commas */
	char *name[MC_TABLE_COLUMNS], *field[MC_TABLE_COLUMNS];
	int columns;
};

/* Reads the first line. Fields in quotes, more than MC_TABLE_COLUMNS columns and NULs are errors (MC_USAGE),
 * which name file and line. path is borrowed; *t needs _close only on success. */
int mc_table_open(struct mc_table *t, const char *path, struct mc_err *err);
void mc_table_close(struct mc_table *t);
/* The next row, empty lines skipped; *more is false at the end. A row must have as many fields as there are
 * names. */
int mc_table_next(struct mc_table *t, bool *more, struct mc_err *err);
/* Place of a column; -1: no such column. */
int mc_table_find(const struct mc_table *t, const char *name);

#endif
