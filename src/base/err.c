#include "base/err.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

static int err_vset(struct mc_err *e, int rc, int sys, const char *fmt, va_list ap)
{
	int n;

	if (!e || e->rc)
		return rc;
	memset(e, 0, sizeof *e);
	e->rc = rc;
	n = vsnprintf(e->text, sizeof e->text, fmt, ap);
	if (sys && n >= 0 && (size_t)n < sizeof e->text)
		snprintf(e->text + n, sizeof e->text - (size_t)n, ": %s", strerror(sys));
	return rc;
}

int mc_err_set(struct mc_err *e, int rc, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_vset(e, rc, 0, fmt, ap);
	va_end(ap);
	return rc;
}

int mc_err_key(struct mc_err *e, int rc, const char *key, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	err_vset(e, rc, 0, fmt, ap);
	va_end(ap);
	mc_err_at(e, NULL, 0, 0, key);
	return rc;
}

int mc_err_errno(struct mc_err *e, int rc, const char *fmt, ...)
{
	int sys = errno;
	va_list ap;

	va_start(ap, fmt);
	err_vset(e, rc, sys, fmt, ap);
	va_end(ap);
	return rc;
}

int mc_err_at(struct mc_err *e, const char *file, long line, long column, const char *key)
{
	if (!e)
		return MC_FAIL;
	if (file && !e->file[0])
		snprintf(e->file, sizeof e->file, "%s", file);
	if (key && !e->key[0])
		snprintf(e->key, sizeof e->key, "%s", key);
	if (line && !e->line) {
		e->line = line;
		e->column = column;
	}
	return e->rc;
}

char *mc_err_format(const struct mc_err *e, char *buf, size_t n)
{
	size_t at = 0;

#define ERR_ADD(...)                                                                                         \
	(at += (size_t)snprintf(buf + at, at < n ? n - at : 0, __VA_ARGS__), at = at < n ? at : n - 1)
	if (e->file[0])
		ERR_ADD("%s:", e->file);
	if (e->line)
		ERR_ADD("%ld:", e->line);
	if (e->line && e->column)
		ERR_ADD("%ld:", e->column);
	if (at)
		ERR_ADD(" ");
	if (e->key[0])
		ERR_ADD("%s: ", e->key);
	ERR_ADD("%s", e->text);
#undef ERR_ADD
	return buf;
}
