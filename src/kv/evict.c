#include "kv/evict.h"

#include <stddef.h>
#include <string.h>

const struct mc_evictor *mc_evictor_find(const char *name)
{
	for (const struct mc_evictor *const *e = mc_evictors; *e; e++)
		if (!strcmp((*e)->name, name))
			return *e;
	return NULL;
}
