/*
 * Pages for people: one file that opens without a network, its style inside, no script. Whatever comes from
 * files goes through mc_html_text or a function that does.
 */
#ifndef MC_OUT_HTML_H
#define MC_OUT_HTML_H

#include <stdio.h>

/* Up to <body> and its heading; title is text. */
void mc_html_begin(FILE *out, const char *title);
void mc_html_end(FILE *out);
/* Text as such: what HTML would take for markup is escaped; control characters and what is no UTF-8 become
 * U+FFFD. */
void mc_html_text(FILE *out, const char *text);
void mc_html_printf(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* An element with text in it: tag is "td", or "td class=n" with attributes of our own. */
void mc_html_element(FILE *out, const char *tag, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* A table of columns whose names are separated by '|'; those that begin with '<' are of text, aligned left.
 * Rows are the caller's: <tr>, cells, </tr>. */
void mc_html_table_begin(FILE *out, const char *columns);
void mc_html_table_end(FILE *out);
/* The same with a head of the caller's: <tr>, <th>s, </tr>, one or more times. */
void mc_html_table_head(FILE *out, const char *head);
/* Cells of numbers and of text. */
void mc_html_number(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void mc_html_cell(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A share as a percentage with as many digits as help. Returns text. */
char *mc_html_percent(double share, char text[16]);

#endif
