#include "sched/length.h"

#include <string.h>

const struct mc_length_predictor *mc_length_predictor_find(const char *name)
{
	for (const struct mc_length_predictor *const *p = mc_length_predictors; *p; p++)
		if (!strcmp((*p)->name, name))
			return *p;
	return NULL;
}
