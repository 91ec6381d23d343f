#include "calib/early.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/vec.h"
#include "hw/profile.h"

static int profile(const char *name_or_path, struct mc_err *err)
{
	struct mc_profile p;
	int rc = mc_profile_load(&p, name_or_path, err);

	if (!rc)
		mc_profile_fini(&p);
	return rc;
}

/* Can a file of that name be written? */
static int output(const char *path, struct mc_err *err)
{
	const char *slash = strrchr(path, '/');
	char *folder = slash ? mc_xstrdup(path) : NULL;
	struct stat st;
	int rc = 0;

	if (folder)
		folder[slash == path ? 1 : slash - path] = 0;
	if (!stat(path, &st))
		rc = S_ISDIR(st.st_mode)
			 ? mc_err_set(err, MC_USAGE, "--output is '%s', a folder; expected a file", path)
		     : access(path, W_OK) ? mc_err_errno(err, MC_FAIL, "%s: cannot write", path)
					  : 0;
	else if (access(folder ? folder : ".", W_OK))
		rc = mc_err_errno(err, MC_FAIL, "%s: cannot write", path);
	free(folder);
	return rc;
}

int mc_calib_early(const struct mc_calib_common *o, struct mc_err *err)
{
	char *mooncake;
	int rc = o->hardware ? profile(o->hardware, err) : 0;

	if (rc || !o->output)
		return rc;
	mooncake = mc_beside_find("mooncake");
	if (!mooncake)
		return mc_err_set(err, MC_FAIL,
				  "--output: there is no mooncake beside mooncake-calib, nor in PATH");
	free(mooncake);
	return output(o->output, err);
}
