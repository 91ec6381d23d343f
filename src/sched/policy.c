#include "sched/policy.h"

#include <string.h>

const struct mc_policy *mc_policy_find(const char *name)
{
	for (const struct mc_policy *const *p = mc_policies; *p; p++)
		if (!strcmp((*p)->name, name))
			return *p;
	return NULL;
}

const struct mc_decode_policy *mc_decode_policy_find(const char *name)
{
	for (const struct mc_decode_policy *const *p = mc_decode_policies; *p; p++)
		if (!strcmp((*p)->name, name))
			return *p;
	return NULL;
}
