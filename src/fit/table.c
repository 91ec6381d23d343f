#include "fit/table.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"

/* A line as a string of its own in *copy, cut into f; *n is -1 at the end of the file. */
static int take(struct mc_table *t, char **copy, char *f[MC_TABLE_COLUMNS], int *n, struct mc_err *err)
{
	const char *line;
	size_t length;
	int rc;

	*n = -1;
	do
		rc = mc_input_line(&t->in, &line, &length, err);
	while (!rc && line && !length);
	if (rc || !line)
		return rc;
	free(*copy);
	*copy = mc_xmalloc(length + 1);
	memcpy(*copy, line, length);
	(*copy)[length] = '\0';
	if (strlen(*copy) != length)
		rc = mc_err_set(err, MC_USAGE, "holds a NUL; expected text");
	else if (strchr(*copy, '"'))
		rc = mc_err_set(err, MC_USAGE, "has a field in quotes; expected plain ones");
	else if ((*n = mc_str_fields(*copy, ',', f, MC_TABLE_COLUMNS)) > MC_TABLE_COLUMNS)
		rc = mc_err_set(err, MC_USAGE, "has more than %d columns", MC_TABLE_COLUMNS);
	if (rc)
		mc_err_at(err, t->in.name, t->in.line, 0, NULL);
	return rc;
}

int mc_table_open(struct mc_table *t, const char *path, struct mc_err *err)
{
	int rc;

	memset(t, 0, sizeof *t);
	rc = mc_input_open(&t->in, path, err);
	if (rc)
		return rc;
	rc = take(t, &t->head, t->name, &t->columns, err);
	if (!rc && t->columns < 0) {
		rc = mc_err_set(err, MC_USAGE, "is empty; expected a table with names in its first line");
		mc_err_at(err, t->in.name, 0, 0, NULL);
	}
	if (rc)
		mc_table_close(t);
	return rc;
}

void mc_table_close(struct mc_table *t)
{
	free(t->head);
	free(t->row);
	mc_input_close(&t->in);
	t->head = t->row = NULL;
}

int mc_table_next(struct mc_table *t, bool *more, struct mc_err *err)
{
	int n, rc = take(t, &t->row, t->field, &n, err);

	*more = !rc && n >= 0;
	if (rc || n < 0 || n == t->columns)
		return rc;
	mc_err_set(err, MC_USAGE, "has %d fields; expected %d as in the first line", n, t->columns);
	mc_err_at(err, t->in.name, t->in.line, 0, NULL);
	return MC_USAGE;
}

int mc_table_find(const struct mc_table *t, const char *name)
{
	for (int i = 0; i < t->columns; i++)
		if (!strcmp(t->name[i], name))
			return i;
	return -1;
}
