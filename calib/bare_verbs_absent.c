#include "calib/bare.h"

int mc_bare_verbs_open(struct mc_bare **out, struct mc_net *n, struct mc_err *err)
{
	(void)n;
	*out = NULL;
	return mc_err_set(err, MC_NOHW, "this build is without libibverbs");
}
