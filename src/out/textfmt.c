#include "out/textfmt.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "base/vec.h"

char *mc_text_grouped(int64_t v, char *buf)
{
	char digits[24];
	int n = snprintf(digits, sizeof digits, "%" PRIu64, v < 0 ? 0 - (uint64_t)v : (uint64_t)v), at = 0;

	if (v < 0)
		buf[at++] = '-';
	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = 0;
	return buf;
}

int mc_text_decimals(double v)
{
	v = v < 0 ? -v : v;
	if (v >= 999.95)
		return 0;
	if (v >= 99.995)
		return 1;
	return v >= 9.9995 ? 2 : 3;
}

void mc_text_wrapped(FILE *out, const char *text, int indent, int at)
{
	int column = at > indent ? at : indent;
	bool fresh = true;

	fprintf(out, "%*s", column - at, "");
	while (*text) {
		int n = (int)strcspn(text, " ");

		if (!fresh && column + n >= 100) {
			fprintf(out, "\n%*s", indent, "");
			column = indent;
		} else if (!fresh) {
			putc(' ', out);
			column++;
		}
		fprintf(out, "%.*s", n, text);
		fresh = false;
		column += n;
		text += n;
		text += strspn(text, " ");
	}
	putc('\n', out);
}

struct mc_text_table {
	int columns;
	uint64_t left;
	struct {
		MC_VEC(char *)
	} cells;
};

struct mc_text_table *mc_text_table_new(int columns, uint64_t left)
{
	struct mc_text_table *t = mc_xcalloc(1, sizeof *t);

	t->columns = columns;
	t->left = left;
	return t;
}

void mc_text_table_free(struct mc_text_table *t)
{
	for (size_t i = 0; i < t->cells.n; i++)
		free(t->cells.at[i]);
	mc_vec_fini(&t->cells);
	free(t);
}

void mc_text_cell(struct mc_text_table *t, const char *fmt, ...)
{
	char buf[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, sizeof buf, fmt, ap);
	va_end(ap);
	mc_vec_push(&t->cells, mc_xstrdup(buf));
}

static size_t width(const struct mc_text_table *t, int column)
{
	size_t w = 0;

	for (size_t i = (size_t)column; i < t->cells.n; i += (size_t)t->columns)
		if (strlen(t->cells.at[i]) > w)
			w = strlen(t->cells.at[i]);
	return w;
}

static bool is_left(const struct mc_text_table *t, int column)
{
	return column < 64 && (t->left >> column & 1);
}

void mc_text_table_write(const struct mc_text_table *t, FILE *out)
{
	size_t *w = mc_xcalloc((size_t)t->columns, sizeof *w), blank = 0;

	for (int c = 0; c < t->columns; c++)
		w[c] = width(t, c);
	for (size_t i = 0; i < t->cells.n; i++) {
		int c = (int)(i % (size_t)t->columns);
		const char *text = t->cells.at[i];
		size_t n = strlen(text), pad = w[c] - n;

		blank += (c ? 2 : 0) + (is_left(t, c) ? 0 : pad);
		/* Blanks are written once something follows them: no line ends with one. */
		for (size_t k = 0; k < n; k++) {
			if (text[k] == ' ') {
				blank++;
				continue;
			}
			fprintf(out, "%*s%c", (int)blank, "", text[k]);
			blank = 0;
		}
		blank += is_left(t, c) ? pad : 0;
		if (c == t->columns - 1) {
			putc('\n', out);
			blank = 0;
		}
	}
	free(w);
}
