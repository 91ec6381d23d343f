#include "trace/reader.h"

#include <string.h>

#include "trace/format.h"
#include "trace/input.h"
#include "trace/reshape.h"

#define READER_SHOWN 3 /* bad records put into words */

struct reader {
	const struct mc_trace_params *params;
	const struct mc_trace_format *format;
	void *state;
	bool started; /* the format was chosen and its state opened */
	struct mc_trace *t;
	struct mc_err first; /* the first bad record */
	char shown[400];     /* the first few */
	size_t shown_n;
};

const struct mc_trace_format *mc_trace_format_find(const char *name)
{
	for (const struct mc_trace_format *const *f = mc_trace_formats; *f; f++)
		if (!strcmp((*f)->name, name))
			return *f;
	return NULL;
}

static bool is_blank(const char *line, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (line[i] != ' ' && line[i] != '\t')
			return false;
	return true;
}

/* The format that is surest of the first line; Mooncake's when none is, so that its errors are told. */
static void choose(struct reader *r, const char *line, size_t n)
{
	int best = 0;

	if (!r->format) {
		r->format = mc_trace_format_find("mooncake");
		for (const struct mc_trace_format *const *f = mc_trace_formats; *f; f++) {
			int sure = (*f)->sniff(line, n);

			if (sure > best) {
				best = sure;
				r->format = *f;
			}
		}
	}
	r->state = r->format->open(r->params);
	r->started = true;
}

/* A bad record: go on (0), or give up. */
static int note(struct reader *r, const struct mc_input *in, struct mc_err *bad, struct mc_err *err)
{
	bad->line = in->line;
	r->t->bad++;
	if (r->t->bad <= READER_SHOWN && r->shown_n < sizeof r->shown) {
		char text[320];
		struct mc_err brief = *bad;
		int n;

		brief.line = brief.column = 0;
		mc_err_format(&brief, text, sizeof text);
		n = snprintf(r->shown + r->shown_n, sizeof r->shown - r->shown_n, "%sline %ld: %s",
			     r->t->bad > 1 ? " | " : "", bad->line, text);
		r->shown_n += (size_t)n;
	}
	if (r->t->bad <= r->params->max_bad)
		return 0;
	if (!r->params->max_bad) {
		if (err && !err->rc)
			*err = *bad;
	} else {
		mc_err_set(err, MC_USAGE, "more than %lld bad records: %s", (long long)r->params->max_bad,
			   r->shown);
		mc_err_at(err, NULL, in->line, 0, NULL);
	}
	mc_err_at(err, in->name, 0, 0, NULL);
	return MC_USAGE;
}

static int read_lines(struct reader *r, struct mc_input *in, struct mc_err *err)
{
	const char *line;
	size_t n;
	int rc;

	for (;;) {
		struct mc_err bad = {0};

		rc = mc_input_line(in, &line, &n, err);
		if (rc || !line)
			return rc;
		if (is_blank(line, n))
			continue;
		if (!r->started)
			choose(r, line, n);
		rc = r->format->line(r->state, line, n, r->t, &bad);
		if (rc)
			rc = note(r, in, &bad, err);
		if (rc)
			return rc;
	}
}

static int check_params(struct reader *r, struct mc_err *err)
{
	const struct mc_trace_params *p = r->params;
	const char *key = NULL;

	if (p->block_tokens < 1)
		key = "block_tokens";
	else if (p->kv_block_tokens < 0)
		key = "kv_block_tokens";
	else if (p->limit < 0)
		key = "limit";
	else if (p->start < 0)
		key = "start";
	else if (p->max_output < 0)
		key = "max_output";
	else if (p->max_bad < 0)
		key = "max_bad";
	if (key) {
		mc_err_set(err, MC_USAGE, "is negative or zero; expected a positive number");
		mc_err_at(err, NULL, 0, 0, key);
		return MC_USAGE;
	}
	if (p->format && strcmp(p->format, "auto")) {
		r->format = mc_trace_format_find(p->format);
		if (!r->format) {
			mc_err_set(err, MC_USAGE,
				   "no trace format '%s'; expected auto or one of `list formats`", p->format);
			mc_err_at(err, NULL, 0, 0, "format");
			return MC_USAGE;
		}
	}
	return 0;
}

static int read_all(struct reader *r, struct mc_err *err)
{
	struct mc_input in;
	int rc = mc_input_open(&in, r->params->path, err);

	if (rc)
		return rc;
	rc = read_lines(r, &in, err);
	if (!rc && !r->t->n) {
		rc = mc_err_set(err, MC_USAGE, "holds no request%s%s; expected at least one",
				r->shown_n ? ": " : "", r->shown);
		mc_err_at(err, in.name, 0, 0, NULL);
	}
	mc_input_close(&in);
	if (r->started)
		r->format->close(r->state);
	return rc;
}

int mc_trace_read(struct mc_trace *t, const struct mc_trace_params *params, struct mc_err *err)
{
	struct reader r = {.params = params, .t = t};
	int rc;

	mc_trace_init(t, params->block_tokens > 0 ? params->block_tokens : 1);
	rc = check_params(&r, err);
	if (!rc)
		rc = read_all(&r, err);
	if (!rc) {
		t->fingerprint = mc_trace_hash(t);
		rc = mc_trace_reshape(t, params, err);
	}
	if (rc) {
		mc_trace_fini(t);
		return rc;
	}
	if (t->bad && err && !err->rc)
		snprintf(err->text, sizeof err->text, "%lld bad records were skipped: %s", (long long)t->bad,
			 r.shown);
	return 0;
}
