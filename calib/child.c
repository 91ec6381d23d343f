#include "calib/child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/vec.h"

extern char **environ;

/* Beside this program's own file, where there is one. */
static void find(char *path, size_t n)
{
	ssize_t len = readlink("/proc/self/exe", path, n - 1);
	char *slash;

	if (len > 0) {
		path[len] = 0;
		slash = strrchr(path, '/');
		if (slash && (size_t)(slash - path) + sizeof "/mooncake" <= n) {
			strcpy(slash, "/mooncake");
			if (!access(path, X_OK))
				return;
		}
	}
	snprintf(path, n, "mooncake");
}

static int wait_for(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return MC_FAIL;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int mc_calib_child(const char *const *argv, const char *output, struct mc_err *err)
{
	char path[PATH_MAX], **all;
	posix_spawn_file_actions_t actions;
	size_t n = 0;
	pid_t pid;
	int rc;

	find(path, sizeof path);
	while (argv[n])
		n++;
	all = mc_xcalloc(n + 2, sizeof *all);
	all[0] = mc_xstrdup("mooncake");
	for (size_t i = 0; i < n; i++)
		all[i + 1] = mc_xstrdup(argv[i]);
	posix_spawn_file_actions_init(&actions);
	if (output)
		posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, output,
						 O_WRONLY | O_CREAT | O_TRUNC, 0666);
	fflush(NULL);
	rc = posix_spawnp(&pid, path, &actions, NULL, all, environ);
	posix_spawn_file_actions_destroy(&actions);
	for (size_t i = 0; i <= n; i++)
		free(all[i]);
	free(all);
	if (rc) {
		errno = rc;
		return mc_err_errno(err, MC_FAIL,
				    "%s can't be run; it is looked for beside mooncake-calib and in PATH",
				    path);
	}
	return wait_for(pid);
}
