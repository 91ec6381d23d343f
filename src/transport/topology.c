#include "transport/topology.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/file.h"
#include "base/vec.h"
#include "transport/memory.h"
#include "transport/transport.h"

enum { TEXT_MAX = 1 << 20 };

struct row {
	char place[MC_PLACE], port[MC_PORT_NAME];
	enum mc_rank rank;
};

struct mc_topology {
	struct {
		MC_VEC(struct row)
	} row;
};

static int add_ports(struct mc_topology *t, const char *place, const json_t *list, enum mc_rank rank,
		     struct mc_err *err)
{
	size_t i;
	json_t *port;

	json_array_foreach((json_t *)list, i, port)
	{
		const char *name = json_string_value(port);
		struct row r = {.rank = rank};

		if (!name || !*name || strlen(name) >= sizeof r.port)
			return mc_err_key(err, MC_USAGE, place, "a port is named by a text of 1 to %zu bytes",
					  sizeof r.port - 1);
		strcpy(r.place, place);
		strcpy(r.port, name);
		mc_vec_push(&t->row, r);
	}
	return 0;
}

static int add_place(struct mc_topology *t, const char *place, const json_t *lists, struct mc_err *err)
{
	if (!*place || strlen(place) >= MC_PLACE)
		return mc_err_key(err, MC_USAGE, place, "a place is named by 1 to %d bytes", MC_PLACE - 1);
	if (json_array_size(lists) != 2 || !json_is_array(json_array_get(lists, 0)) ||
	    !json_is_array(json_array_get(lists, 1)))
		return mc_err_key(err, MC_USAGE, place,
				  "expected two lists of ports: [[preferred ...], [secondary ...]]");
	/* A row of no ports is one, too: so a place that nothing reaches can be said. */
	struct row none = {.rank = MC_RANK_NONE};

	strcpy(none.place, place);
	mc_vec_push(&t->row, none);
	if (add_ports(t, place, json_array_get(lists, 0), MC_RANK_PREFERRED, err))
		return MC_USAGE;
	return add_ports(t, place, json_array_get(lists, 1), MC_RANK_SECONDARY, err);
}

int mc_topology_parse(struct mc_topology **out, const char *text, size_t n, const char *file,
		      struct mc_err *err)
{
	struct mc_topology *t = mc_xcalloc(1, sizeof *t);
	json_error_t at;
	json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &at), *lists;
	const char *place;
	int rc = 0;

	*out = NULL;
	if (!root) {
		rc = mc_err_set(err, MC_USAGE, "%s", at.text);
		mc_err_at(err, file, at.line, at.column, NULL);
	} else if (!json_is_object(root)) {
		rc = mc_err_set(err, MC_USAGE, "expected an object: {\"PLACE\": [[PORT ...], [PORT ...]]}");
	} else {
		json_object_foreach(root, place, lists) if (!rc) rc = add_place(t, place, lists, err);
	}
	json_decref(root);
	if (rc) {
		mc_err_at(err, file, 0, 0, NULL);
		mc_topology_free(t);
		return rc;
	}
	*out = t;
	return 0;
}

int mc_topology_read(struct mc_topology **out, const char *path, struct mc_err *err)
{
	char *text;
	size_t n;
	int rc = mc_file_read(path, TEXT_MAX, &text, &n, err);

	*out = NULL;
	if (rc)
		return rc;
	rc = mc_topology_parse(out, text, n, path, err);
	free(text);
	return rc;
}

void mc_topology_free(struct mc_topology *t)
{
	if (!t)
		return;
	mc_vec_fini(&t->row);
	free(t);
}

/* Of the rows of one place; *named: there are any. */
static enum mc_rank look(const struct mc_topology *t, const char *place, const char *port, int *named)
{
	enum mc_rank rank = MC_RANK_NONE;

	*named = 0;
	for (size_t i = 0; i < t->row.n; i++) {
		const struct row *r = &t->row.at[i];

		if (strcmp(r->place, place) != 0)
			continue;
		*named = 1;
		if (r->rank < rank && !strcmp(r->port, port))
			rank = r->rank;
	}
	return rank;
}

enum mc_rank mc_topology_rank(const struct mc_topology *t, const char *place, const char *port)
{
	enum mc_rank rank;
	int named;

	if (!t)
		return MC_RANK_PREFERRED;
	rank = look(t, place, port, &named);
	if (!named)
		rank = look(t, "*", port, &named);
	return named ? rank : MC_RANK_PREFERRED;
}
