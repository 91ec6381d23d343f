#include "transport/transport.h"

#include <string.h>

#include "base/suggest.h"

const struct mc_transport *mc_transport_find(const char *name, struct mc_err *err)
{
	const char *near;

	for (const struct mc_transport *const *t = mc_transports; *t; t++)
		if (!strcmp((*t)->name, name))
			return *t;
	near = mc_suggest(name, mc_transports_names);
	mc_err_set(err, MC_USAGE, "no transport \"%.60s\"%s%s%s", name, near ? "; did you mean \"" : "",
		   near ? near : "", near ? "\"?" : "");
	return NULL;
}
