#include "calib/session.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/str.h"
#include "calib/measure.h"

static const double show_every_s = 0.2;

static double now(void)
{
	return mc_calib_clock.wall(mc_calib_clock.arg);
}

void mc_calib_today(char text[16])
{
	time_t t = time(NULL);
	struct tm tm;

	gmtime_r(&t, &tm);
	strftime(text, 16, "%Y-%m-%d", &tm);
}

/* The folders of a path, as mkdir -p. */
static int make_folders(const char *path, struct mc_err *err)
{
	char *p = mc_xstrdup(path);
	int rc = 0;

	for (char *slash = strchr(p + 1, '/'); slash && !rc; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		if (mkdir(p, 0777) && errno != EEXIST)
			rc = mc_err_errno(err, MC_FAIL, "%s cannot be made", p);
		*slash = '/';
	}
	free(p);
	return rc;
}

/* A run that was killed may have left part of a line. */
static int cut_last_line(const char *path, struct mc_err *err)
{
	char *text;
	size_t n, whole;
	int rc = mc_file_read(path, (size_t)1 << 30, &text, &n, err);

	if (rc)
		return rc;
	for (whole = n; whole && text[whole - 1] != '\n'; whole--)
		;
	free(text);
	if (whole < n && truncate(path, (off_t)whole))
		return mc_err_errno(err, MC_FAIL, "%s cannot be cut to its whole lines", path);
	return 0;
}

static int same_text(const char *key, const char *was, const char *is, struct mc_err *err)
{
	if (!strcmp(was ? was : "", is ? is : ""))
		return 0;
	return mc_err_key(err, MC_USAGE, key,
			  "the samples are of '%s', this is '%s'; --fresh begins anew, another --samples "
			  "keeps both",
			  was ? was : "", is ? is : "");
}

static int same_head(const struct mc_opsamples *was, const struct mc_opsamples *is, struct mc_err *err)
{
	if (same_text("device", was->device, is->device, err) ||
	    same_text("software", was->software, is->software, err) ||
	    same_text("dtype", was->dtype, is->dtype, err))
		return MC_USAGE;
	if (!was->model != !is->model || (was->model && !json_equal(was->model, is->model)) ||
	    was->tensor_parallel != is->tensor_parallel)
		return mc_err_key(err, MC_USAGE, "model",
				  "the samples are of another model; --fresh begins anew, another --samples "
				  "keeps both");
	return 0;
}

/* All samples in *text, which the caller frees. */
static void print_all(const struct mc_calib_session *s, char **text, size_t *n)
{
	FILE *f = open_memstream(text, n);
	struct mc_str head = {0};
	char *buffer = NULL, *columns;
	size_t bytes;
	FILE *h = open_memstream(&buffer, &bytes);

	if (!f || !h)
		abort(); /* out of memory */
	mc_opsamples_write_header(&s->all, h);
	fclose(h);
	/* Comments before the names of the columns. */
	columns = strstr(buffer, "\nop,") + 1;
	mc_str_add(&head, buffer, (size_t)(columns - buffer));
	fprintf(f, "%s%s%s", mc_str_text(&head), s->comments, columns);
	for (size_t i = 0; i < s->all.n; i++)
		mc_opsamples_write(&s->all.at[i], f);
	fclose(f);
	mc_str_fini(&head);
	free(buffer);
}

/* The whole file anew, whole or not at all; then open to be appended to. */
static int write_all(struct mc_calib_session *s, struct mc_err *err)
{
	struct mc_file out;
	char *text;
	size_t n;
	int rc;

	if (s->fp)
		fclose(s->fp);
	s->fp = NULL;
	rc = mc_file_create(&out, s->path, err);
	if (rc)
		return rc;
	print_all(s, &text, &n);
	fwrite(text, 1, n, out.fp);
	free(text);
	rc = mc_file_commit(&out, err);
	if (rc)
		return rc;
	s->fp = fopen(s->path, "ae");
	return s->fp ? 0 : mc_err_errno(err, MC_FAIL, "%s cannot be written", s->path);
}

static char *copy_of(const char *text)
{
	return mc_xstrdup(text ? text : "");
}

static int load(struct mc_calib_session *s, const struct mc_calib_session_want *w, struct mc_err *err)
{
	int rc;

	if (w->fresh || access(w->path, F_OK)) {
		s->all = (struct mc_opsamples){.device = copy_of(w->head->device),
					       .software = copy_of(w->head->software),
					       .dtype = copy_of(w->head->dtype),
					       .date = copy_of(w->head->date),
					       .source = copy_of(w->head->source),
					       .model = json_incref(w->head->model),
					       .tensor_parallel = w->head->tensor_parallel};
		return 0;
	}
	rc = cut_last_line(w->path, err);
	if (!rc)
		rc = mc_opsamples_read(&s->all, w->path, err);
	if (rc)
		return rc;
	rc = same_head(&s->all, w->head, err);
	if (rc) {
		mc_err_at(err, w->path, 0, 0, NULL);
		mc_opsamples_fini(&s->all);
		return rc;
	}
	/* It ends today. */
	free(s->all.date);
	s->all.date = copy_of(w->head->date);
	return 0;
}

int mc_calib_session_open(struct mc_calib_session *s, const struct mc_calib_session_want *want,
			  struct mc_err *err)
{
	int rc;

	*s = (struct mc_calib_session){.started = now(), .budget_s = want->budget_s};
	rc = make_folders(want->path, err);
	if (!rc)
		rc = load(s, want, err);
	if (rc)
		return rc;
	s->before = s->all.n;
	s->path = mc_xstrdup(want->path);
	s->comments = copy_of(want->comments);
	s->terminal = !want->quiet && isatty(STDERR_FILENO);
	rc = write_all(s, err);
	if (rc)
		mc_calib_session_close(s);
	return rc;
}

void mc_calib_session_close(struct mc_calib_session *s)
{
	mc_calib_session_clear(s);
	if (s->fp)
		fclose(s->fp);
	free(s->path);
	free(s->comments);
	mc_opsamples_fini(&s->all);
	*s = (struct mc_calib_session){0};
}

static bool same_point(const struct mc_op_point *a, const struct mc_op_point *b)
{
	if (a->op != b->op)
		return false;
	for (int d = 0; d < MC_DIMS; d++)
		if (mc_op_dims[a->op] >> d & 1 && a->dim[d] != b->dim[d])
			return false;
	return true;
}

size_t mc_calib_session_count(const struct mc_calib_session *s, const struct mc_op_point *p, size_t *flagged)
{
	size_t good = 0;

	*flagged = 0;
	for (size_t i = 0; i < s->all.n; i++)
		if (same_point(&s->all.at[i].point, p))
			++*(s->all.at[i].flag[0] ? flagged : &good);
	return good;
}

const struct mc_opsample *mc_calib_session_find(const struct mc_calib_session *s, const struct mc_op_point *p)
{
	for (size_t i = s->all.n; i > 0; i--)
		if (!s->all.at[i - 1].flag[0] && same_point(&s->all.at[i - 1].point, p))
			return &s->all.at[i - 1];
	return NULL;
}

int mc_calib_session_add(struct mc_calib_session *s, const struct mc_opsample *p, size_t n,
			 struct mc_err *err)
{
	char *text;
	size_t bytes;
	FILE *f = open_memstream(&text, &bytes);
	bool written;

	if (!f)
		return mc_err_set(err, MC_FAIL, "no memory");
	for (size_t i = 0; i < n; i++) {
		mc_opsamples_write(&p[i], f);
		mc_vec_push(&s->all, p[i]);
	}
	fclose(f);
	written = fwrite(text, 1, bytes, s->fp) == bytes && !fflush(s->fp);
	free(text);
	return written ? 0 : mc_err_errno(err, MC_FAIL, "%s cannot be written", s->path);
}

int mc_calib_session_flag(struct mc_calib_session *s, size_t from, const char *flag, struct mc_err *err)
{
	for (size_t i = from; i < s->all.n; i++)
		if (!s->all.at[i].flag[0])
			snprintf(s->all.at[i].flag, sizeof s->all.at[i].flag, "%s", flag);
	return write_all(s, err);
}

double mc_calib_session_elapsed_s(const struct mc_calib_session *s)
{
	return now() - s->started;
}

double mc_calib_session_left_s(const struct mc_calib_session *s)
{
	return fmax(0, s->budget_s - mc_calib_session_elapsed_s(s));
}

void mc_calib_session_progress(struct mc_calib_session *s, size_t done, size_t total, const char *what)
{
	double passed = mc_calib_session_elapsed_s(s), left = mc_calib_session_left_s(s),
	       to_go = done ? passed / (double)done * (double)(total - done) : left;

	if (!s->terminal || (s->shown > 0 && passed - s->shown < show_every_s))
		return;
	s->shown = passed;
	fprintf(stderr, "\r\033[K%zu of %zu points, %.0f s to go: %s", done, total, fmin(left, to_go), what);
	fflush(stderr);
}

void mc_calib_session_clear(const struct mc_calib_session *s)
{
	if (s->terminal && s->shown > 0)
		fputs("\r\033[K", stderr);
}
