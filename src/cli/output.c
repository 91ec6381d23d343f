#include "cli/output.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/str.h"

int mc_cli_write(const char *path, mc_write_fn *write, const void *arg, struct mc_err *err)
{
	struct mc_file f;
	int rc = mc_file_create(&f, path, err);

	if (rc)
		return rc;
	write(f.fp, arg);
	return mc_file_commit(&f, err);
}

int mc_cli_write_in(const char *dir, const char *name, mc_write_fn *write, const void *arg,
		    struct mc_err *err)
{
	struct mc_str path = {0};
	int rc;

	mc_str_printf(&path, "%s/%s", dir, name);
	rc = mc_cli_write(path.at, write, arg, err);
	mc_str_fini(&path);
	return rc;
}

int mc_cli_make_dir(const char *dir, struct mc_err *err)
{
	struct mc_str path = {0};
	struct stat st;
	int rc = MC_OK;

	for (const char *p = dir; !rc && *p; p++) {
		mc_str_add(&path, p, 1);
		if (p[1] && p[1] != '/')
			continue;
		if (mkdir(path.at, 0777) && errno != EEXIST && stat(path.at, &st))
			rc = mc_err_errno(err, MC_USAGE, "cannot make the folder");
	}
	if (!*dir)
		return mc_err_set(err, MC_USAGE, "the name of the folder is empty");
	if (!rc && (stat(dir, &st) || !S_ISDIR(st.st_mode)))
		rc = mc_err_set(err, MC_USAGE, "is no folder");
	if (rc)
		mc_err_at(err, dir, 0, 0, NULL);
	mc_str_fini(&path);
	return rc;
}
