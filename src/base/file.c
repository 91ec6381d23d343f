#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"

static int read_stream(FILE *fp, size_t max, char **text, size_t *n, struct mc_err *err)
{
	struct {
		MC_VEC(char)
	} v = {0};
	size_t got;

	do {
		mc_vec_reserve(&v, v.n + 65536);
		got = fread(v.at + v.n, 1, v.cap - v.n - 1, fp);
		v.n += got;
	} while (got && v.n <= max);
	if (ferror(fp) || v.n > max) {
		int rc = ferror(fp) ? mc_err_errno(err, MC_USAGE, "cannot read")
				    : mc_err_set(err, MC_USAGE, "is larger than %zu bytes", max);

		mc_vec_fini(&v);
		return rc;
	}
	v.at[v.n] = 0;
	*text = v.at;
	*n = v.n;
	return 0;
}

int mc_file_read(const char *path, size_t max, char **text, size_t *n, struct mc_err *err)
{
	bool std = !strcmp(path, "-");
	FILE *fp = std ? stdin : fopen(path, "rb");
	int rc;

	if (!fp)
		rc = mc_err_errno(err, MC_USAGE, "cannot open");
	else
		rc = read_stream(fp, max, text, n, err);
	if (rc)
		mc_err_at(err, std ? "<stdin>" : path, 0, 0, NULL);
	if (fp && !std)
		fclose(fp);
	return rc;
}

/* A new file beside path, with the mode of a new or of the present file. Returns the descriptor or -1. */
static int create_beside(const char *path, const struct stat *old, char **tmp)
{
	size_t size = strlen(path) + 48;
	int fd = -1;

	*tmp = mc_xmalloc(size);
	for (int i = 0; i < 1000 && fd < 0; i++) {
		snprintf(*tmp, size, "%s.%ld-%d.tmp", path, (long)getpid(), i);
		fd = open(*tmp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	/* Not being allowed to give the new file the old one's mode is no reason to lose results. */
	if (fd >= 0 && old && fchmod(fd, old->st_mode & 07777))
		errno = 0;
	return fd;
}

int mc_file_create(struct mc_file *f, const char *path, struct mc_err *err)
{
	struct stat st;
	bool exists;
	int fd;

	*f = (struct mc_file){0};
	if (!strcmp(path, "-")) {
		f->fp = stdout;
		return 0;
	}
	if (!*path)
		return mc_err_set(err, MC_USAGE, "the name of the output file is empty");
	exists = !stat(path, &st);
	f->path = exists ? realpath(path, NULL) : NULL;
	if (!f->path)
		f->path = mc_xstrdup(path);
	if (exists && !S_ISREG(st.st_mode))
		fd = open(f->path, O_WRONLY | O_CLOEXEC);
	else
		fd = create_beside(f->path, exists ? &st : NULL, &f->tmp);
	f->fp = fd >= 0 ? fdopen(fd, "wb") : NULL;
	if (f->fp)
		return 0;
	mc_err_errno(err, MC_FAIL, "cannot write");
	mc_err_at(err, path, 0, 0, NULL);
	if (fd < 0) {
		free(f->tmp);
		f->tmp = NULL;
	} else {
		close(fd);
	}
	mc_file_abort(f);
	return MC_FAIL;
}

/* The new name lasts only once its folder is on disk. Some file systems cannot; the rename is still whole. */
static void sync_folder(const char *path)
{
	char *copy = mc_xstrdup(path);
	int fd = open(dirname(copy), O_RDONLY | O_CLOEXEC);

	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
	free(copy);
}

/* Flush and close; errno of the first failure, or 0. A failure of an earlier write has left only the flag. */
static int finish_stream(struct mc_file *f)
{
	int bad = 0;

	errno = 0;
	if (ferror(f->fp))
		bad = EIO;
	if (fflush(f->fp))
		bad = errno ? errno : EIO;
	if (!f->path) {
		clearerr(f->fp);
	} else {
		if (!bad && f->tmp && fsync(fileno(f->fp)))
			bad = errno;
		if (fclose(f->fp) && !bad)
			bad = errno ? errno : EIO;
	}
	f->fp = NULL;
	return bad;
}

int mc_file_commit(struct mc_file *f, struct mc_err *err)
{
	int bad = finish_stream(f), rc = 0;

	if (!bad && f->tmp && rename(f->tmp, f->path))
		bad = errno;
	if (bad) {
		errno = bad;
		rc = mc_err_errno(err, MC_FAIL, "cannot write");
		mc_err_at(err, f->path ? f->path : "<stdout>", 0, 0, NULL);
	} else if (f->tmp) {
		sync_folder(f->path);
		free(f->tmp);
		f->tmp = NULL;
	}
	mc_file_abort(f);
	return rc;
}

void mc_file_abort(struct mc_file *f)
{
	if (f->fp && f->path)
		fclose(f->fp);
	if (f->tmp)
		unlink(f->tmp);
	free(f->tmp);
	free(f->path);
	*f = (struct mc_file){0};
}
