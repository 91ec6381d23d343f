/* Numbers and tables for people. */
#ifndef MC_OUT_TEXTFMT_H
#define MC_OUT_TEXTFMT_H

#include <stdint.h>
#include <stdio.h>

#define MC_GROUPED 32 /* room for any result of mc_text_grouped */

/* "12,031". Returns buf. */
char *mc_text_grouped(int64_t v, char *buf);
/* Decimals that show about four significant digits of v, at most 3: for columns of one unit. */
int mc_text_decimals(double v);

/* Text in lines of at most 100 columns, indented; the first line stands at column `at` already (0: its
 * start). */
void mc_text_wrapped(FILE *out, const char *text, int indent, int at);

/* A table of text cells, aligned right but for the columns whose bit is set in `left`. Cells are copied. */
struct mc_text_table;

struct mc_text_table *mc_text_table_new(int columns, uint64_t left);
void mc_text_table_free(struct mc_text_table *t);
/* The next cell, row by row. */
void mc_text_cell(struct mc_text_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void mc_text_table_write(const struct mc_text_table *t, FILE *out);

#endif
