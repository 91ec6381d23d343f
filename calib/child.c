#include "calib/child.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/beside.h"
#include "base/vec.h"

extern char **environ;

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
	char *path = mc_beside_find("mooncake"), **all;
	posix_spawn_file_actions_t actions;
	size_t n = 0;
	pid_t pid;
	int rc;

	if (!path)
		return mc_err_set(err, MC_FAIL, "there is no mooncake beside mooncake-calib, nor in PATH");
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
	rc = posix_spawn(&pid, path, &actions, NULL, all, environ);
	posix_spawn_file_actions_destroy(&actions);
	for (size_t i = 0; i <= n; i++)
		free(all[i]);
	free(all);
	if (rc) {
		errno = rc;
		mc_err_errno(err, MC_FAIL, "%s cannot be run", path);
	}
	free(path);
	return rc ? MC_FAIL : wait_for(pid);
}
