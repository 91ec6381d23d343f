#include "kernels/backend.h"

#include <stdio.h>
#include <string.h>

const struct mc_backend *mc_backend_find(const char *name, struct mc_err *err)
{
	char names[160] = "";
	size_t n = 0;

	for (size_t i = 0; mc_backends[i]; i++)
		if (!strcmp(mc_backends[i]->name, name))
			return mc_backends[i];
	for (size_t i = 0; mc_backends[i] && n < sizeof names; i++)
		n +=
		    (size_t)snprintf(names + n, sizeof names - n, "%s%s", i ? "|" : "", mc_backends[i]->name);
	mc_err_set(err, MC_USAGE, "unknown backend \"%s\"; expected %s", name, names);
	return NULL;
}
