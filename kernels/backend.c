#include "kernels/backend.h"

#include <string.h>

#include "base/suggest.h"

const struct mc_backend *mc_backend_find(const char *name, struct mc_err *err)
{
	const char *near;

	for (size_t i = 0; mc_backends[i]; i++)
		if (!strcmp(mc_backends[i]->name, name))
			return mc_backends[i];
	near = mc_suggest(name, mc_backends_names);
	mc_err_set(err, MC_USAGE, "unknown backend \"%s\"%s%s%s", name, near ? "; did you mean \"" : "",
		   near ? near : "", near ? "\"?" : "");
	return NULL;
}
