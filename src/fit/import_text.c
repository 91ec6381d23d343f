/* Output of programs that is no table, line by line. */
#include <stdlib.h>
#include <string.h>

#include "fit/import.h"

#define TELLING 100 /* lines that may tell whose output it is */

const struct mc_importer *mc_import_text_of(const char *path)
{
	const struct mc_importer *who = NULL;
	struct mc_input in;

	if (mc_input_open(&in, path, NULL))
		return NULL; /* who opens it next says why */
	for (int i = 0; i < TELLING && !who; i++) {
		const char *line;
		size_t n;

		if (mc_input_line(&in, &line, &n, NULL) || !line)
			break;
		for (const struct mc_importer *const *f = mc_importers; *f && !who && !memchr(line, '\0', n);
		     f++) {
			char *text = mc_xcalloc(n + 1, 1);

			memcpy(text, line, n);
			who = (*f)->tells && (*f)->tells(text) ? *f : NULL;
			free(text);
		}
	}
	mc_input_close(&in);
	return who;
}

static int read_lines(struct mc_import *im, struct mc_err *err)
{
	for (;;) {
		const char *line;
		size_t n;
		char *text;
		int rc = mc_input_line(&im->table.in, &line, &n, err);

		if (rc || !line)
			return rc;
		if (!n)
			continue;
		if (memchr(line, '\0', n)) {
			mc_err_set(err, MC_USAGE, "holds a NUL; expected text");
			return mc_err_at(err, im->table.in.name, im->table.in.line, 0, NULL);
		}
		text = mc_xcalloc(n + 1, 1);
		memcpy(text, line, n);
		im->importer->line(im, text);
		free(text);
		if (im->rc)
			return im->rc;
	}
}

int mc_import_lines(struct mc_import *im, const char *path, struct mc_err *err)
{
	int rc;

	im->err = err;
	im->rc = MC_OK;
	memset(im->state, 0, sizeof im->state);
	if (im->where[0]) {
		mc_err_set(err, MC_USAGE, "is no table of which --where %.64s could choose", im->where[0]);
		return mc_err_at(err, path, 0, 0, NULL);
	}
	memset(&im->table, 0, sizeof im->table);
	rc = mc_input_open(&im->table.in, path, err);
	if (rc)
		return rc;
	rc = read_lines(im, err);
	mc_input_close(&im->table.in);
	return rc;
}
