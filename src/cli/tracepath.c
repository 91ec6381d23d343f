#include "cli/tracepath.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/vec.h"

#define VARIABLE "${MOONCAKE_DATA}"

/* Does dir/path exist (dir may be empty), as it is or with or without .zst? The name in *found. */
static bool try(const char *dir, size_t n_dir, const char *path, char **found)
{
	struct mc_str s = {0};
	size_t n;

	mc_str_add(&s, dir, n_dir);
	mc_str_printf(&s, "%s", path);
	n = s.n;
	if (access(s.at, F_OK) && errno == ENOENT) {
		if (n > 4 && !strcmp(s.at + n - 4, ".zst"))
			mc_str_cut(&s, n - 4);
		else
			mc_str_printf(&s, ".zst");
		if (access(s.at, F_OK)) {
			mc_str_fini(&s);
			return false;
		}
	}
	*found = s.at;
	return true;
}

static int bad_path(struct mc_err *err, const char *text, const char *path)
{
	mc_err_set(err, MC_USAGE, text, path);
	return mc_err_at(err, NULL, 0, 0, "trace.path");
}

int mc_cli_trace_find(const char *path, const char *scenario, char **found, struct mc_err *err)
{
	const char *folder = getenv("MOONCAKE_DATA"), *slash = scenario ? strrchr(scenario, '/') : NULL;
	size_t n = strlen(VARIABLE);
	struct mc_str s = {0};
	bool data = !strncmp(path, VARIABLE, n), ok;
	int rc = MC_OK;

	*found = NULL;
	if (!strcmp(path, "-")) {
		*found = mc_xstrdup(path);
		return MC_OK;
	}
	if (data && !(folder && *folder))
		return bad_path(
		    err,
		    "is %s, but MOONCAKE_DATA is not set; `sh traces/fetch FOLDER` downloads the published "
		    "traces, then set MOONCAKE_DATA=FOLDER",
		    path);
	mc_str_printf(&s, "%s%s", data ? folder : "", data ? path + n : path);
	ok = slash && s.at[0] != '/' && try(scenario, (size_t)(slash - scenario) + 1, s.at, found);
	if (!ok && !try("", 0, s.at, found))
		rc = bad_path(err,
			      data ? "no file %s; expected it below MOONCAKE_DATA (traces/fetch downloads it)"
				   : "no file %s, with or without .zst",
			      s.at);
	mc_str_fini(&s);
	return rc;
}
