#include "config.h"

#include "calib/diskfile.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/str.h"
#include "base/units.h"
#include "base/vec.h"

/* The first line of a small file of the kernel's; "" where there is none. */
static void first_line(const char *path, char *text, int n)
{
	FILE *f = fopen(path, "re");

	*text = '\0';
	if (f && fgets(text, n, f))
		text[strcspn(text, "\n")] = '\0';
	n = (int)strlen(text);
	while (n && text[n - 1] == ' ')
		text[--n] = '\0';
	if (f)
		fclose(f);
}

/* The drive as its maker calls it: of the device, or of that which it is a part of. */
static void drive(dev_t dev, char *text, int n)
{
	static const char *const at[] = {"device/model", "../device/model", "dm/name"};
	char path[96];

	*text = '\0';
	for (size_t i = 0; i < 3 && !*text; i++) {
		snprintf(path, sizeof path, "/sys/dev/block/%u:%u/%s", major(dev), minor(dev), at[i]);
		first_line(path, text, n);
	}
}

/* "type on source" of the line of /proc/self/mountinfo that is of this device, the last one. */
static void look_up(struct mc_diskfile *f, dev_t dev)
{
	char line[4096], id[32], model[64], type[32] = "", source[64] = "";
	FILE *mounts = fopen("/proc/self/mountinfo", "re");

	snprintf(id, sizeof id, "%u:%u", major(dev), minor(dev));
	while (mounts && fgets(line, sizeof line, mounts)) {
		char is[32] = "", *rest = strstr(line, " - ");

		if (rest && sscanf(line, "%*s %*s %31s", is) == 1 && !strcmp(is, id))
			sscanf(rest, " - %31s %63s", type, source);
	}
	if (mounts)
		fclose(mounts);
	drive(dev, model, (int)sizeof model);
	snprintf(f->where, sizeof f->where, "%s on %s%s%s%s", *type ? type : "file system",
		 *source ? source : id, *model ? " (" : "", model, *model ? ")" : "");
	f->memory = !strcmp(type, "tmpfs") || !strcmp(type, "ramfs");
}

/* Without a name where the file system can, else one that is taken away at once. -1 and errno. */
static int open_nameless(const char *folder)
{
	struct mc_str name = {0};
	int fd = open(folder, O_TMPFILE | O_RDWR | O_DIRECT | O_CLOEXEC, 0600), e;

	if (fd >= 0 || (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL))
		return fd;
	/* Without O_DIRECT first: what is made and then refused would stay. */
	mc_str_printf(&name, "%s/.mooncake-calib-XXXXXX", folder);
	fd = mkostemp(name.at, O_CLOEXEC);
	if (fd >= 0) {
		int direct = open(name.at, O_RDWR | O_DIRECT | O_CLOEXEC);

		e = errno;
		unlink(name.at);
		close(fd);
		fd = direct;
		errno = e;
	}
	e = errno;
	mc_str_fini(&name);
	errno = e;
	return fd;
}

static int refused(const struct mc_diskfile *f, const char *folder, struct mc_err *err)
{
	if (errno == EINVAL)
		mc_err_set(
		    err, MC_NOHW,
		    "%s has no O_DIRECT: only its cache could be measured; expected a folder of another "
		    "file system",
		    f->where);
	else
		mc_err_errno(err, MC_FAIL, "no file can be made there");
	return mc_err_at(err, folder, 0, 0, NULL);
}

/* At most half of what is free, all of it set aside now where the file system can. */
static int make_room(struct mc_diskfile *f, int64_t bytes, int64_t least, struct mc_err *err)
{
	char is[MC_UNITS_TEXT], want[MC_UNITS_TEXT];
	struct statvfs v;

	if (fstatvfs(f->fd, &v))
		return mc_err_errno(err, MC_FAIL, "what is free cannot be told");
	f->free_bytes = (int64_t)(v.f_bavail * v.f_frsize);
	f->bytes = bytes < f->free_bytes / 2 ? bytes : f->free_bytes / 2;
	f->bytes -= f->bytes % MC_DISK_BLOCK;
	if (f->bytes < least)
		return mc_err_set(err, MC_FAIL,
				  "%s are free, half of which is for the file; expected at least %s",
				  mc_units_format_bytes((double)f->free_bytes, is),
				  mc_units_format_bytes(2 * (double)least, want));
	if (!fallocate(f->fd, 0, 0, f->bytes) || errno == EOPNOTSUPP || errno == ENOSYS)
		return 0;
	return mc_err_errno(err, MC_FAIL, "no file of %s can be made",
			    mc_units_format_bytes((double)f->bytes, is));
}

int mc_diskfile_open(struct mc_diskfile *f, const char *folder, int64_t bytes, int64_t least,
		     struct mc_err *err)
{
	struct stat st;
	int rc;

	*f = (struct mc_diskfile){.seed = mc_hash_pair((uint64_t)getpid(), (uint64_t)bytes)};
	if (stat(folder, &st))
		rc = mc_err_errno(err, MC_USAGE,
				  "cannot be looked at; expected a folder of the disk to be measured");
	else if (!S_ISDIR(st.st_mode))
		rc = mc_err_set(err, MC_USAGE, "is no folder; expected one of the disk to be measured");
	else
		rc = 0;
	if (rc)
		return mc_err_at(err, folder, 0, 0, NULL);
	look_up(f, st.st_dev);
	f->fd = open_nameless(folder);
	if (f->fd < 0)
		return refused(f, folder, err);
	rc = make_room(f, bytes, least, err);
	if (rc) {
		close(f->fd);
		return mc_err_at(err, folder, 0, 0, NULL);
	}
	f->generation = mc_xcalloc((size_t)(f->bytes / MC_DISK_BLOCK), sizeof *f->generation);
	for (int i = 0; i < MC_DISK_WORDS; i++)
		f->table[i] = mc_hash_pair(f->seed, (uint64_t)i);
	return 0;
}

void mc_diskfile_close(struct mc_diskfile *f)
{
	close(f->fd);
	free(f->generation);
}

int mc_diskfile_cut(struct mc_diskfile *f, int64_t bytes, struct mc_err *err)
{
	assert(bytes <= f->bytes && bytes % MC_DISK_BLOCK == 0);
	if (ftruncate(f->fd, bytes))
		return mc_err_errno(err, MC_FAIL, "the file cannot be cut");
	f->bytes = bytes;
	return 0;
}

static uint64_t stamp(const struct mc_diskfile *f, int64_t block)
{
	return mc_hash_pair(mc_hash_pair(f->seed, (uint64_t)block), f->generation[block]);
}

void mc_diskfile_next(struct mc_diskfile *f, int64_t offset, size_t bytes, void *buffer)
{
	int64_t block = offset / MC_DISK_BLOCK, end = block + (int64_t)(bytes / MC_DISK_BLOCK);

	assert(offset % MC_DISK_BLOCK == 0 && bytes % MC_DISK_BLOCK == 0 &&
	       offset + (int64_t)bytes <= f->bytes);
	for (uint64_t *w = buffer; block < end; block++, w += MC_DISK_WORDS) {
		uint64_t s;

		f->generation[block]++;
		s = stamp(f, block);
		for (int i = 0; i < MC_DISK_WORDS; i++)
			w[i] = f->table[i] ^ s;
	}
}

bool mc_diskfile_holds(const struct mc_diskfile *f, int64_t offset, size_t bytes, const void *buffer,
		       bool all)
{
	int64_t block = offset / MC_DISK_BLOCK, end = block + (int64_t)(bytes / MC_DISK_BLOCK);

	for (const uint64_t *w = buffer; block < end; block++, w += MC_DISK_WORDS) {
		uint64_t s = stamp(f, block), wrong = 0;

		wrong = (w[0] ^ f->table[0] ^ s) | (w[MC_DISK_WORDS - 1] ^ f->table[MC_DISK_WORDS - 1] ^ s);
		for (int i = 0; all && i < MC_DISK_WORDS; i++)
			wrong |= w[i] ^ f->table[i] ^ s;
		if (wrong)
			return false;
	}
	return true;
}
