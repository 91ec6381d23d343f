#include "base/beside.h"

#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/str.h"

/* dir: n bytes; none stands for the current folder, as in PATH. */
static char *in_folder(const char *dir, size_t n, const char *name)
{
	struct mc_str path = {0};
	struct stat st;

	mc_str_printf(&path, "%.*s/%s", n ? (int)n : 1, n ? dir : ".", name);
	if (!stat(path.at, &st) && S_ISREG(st.st_mode) && !access(path.at, X_OK))
		return path.at;
	mc_str_fini(&path);
	return NULL;
}

static char *beside(const char *name)
{
	char self[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", self, sizeof self);

	while (n > 0 && self[n - 1] != '/')
		n--;
	return n > 1 ? in_folder(self, (size_t)n - 1, name) : NULL;
}

char *mc_beside_find(const char *name)
{
	const char *path = getenv("PATH");
	char *found = beside(name);

	while (!found && path) {
		size_t n = strcspn(path, ":");

		found = in_folder(path, n, name);
		path = path[n] ? path + n + 1 : NULL;
	}
	return found;
}
