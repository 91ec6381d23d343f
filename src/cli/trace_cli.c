#include "cli/trace_cli.h"

#include <stdio.h>
#include <string.h>

#include "cli/command.h"

bool mc_trace_cli_option(struct mc_args *a, int code, struct mc_trace_params *p)
{
	int64_t seed;

	switch (code) {
	case 'T':
		p->format = a->value;
		return true;
	case 300:
		mc_args_int(a, 1, INT64_C(1) << 31, &p->block_tokens);
		return true;
	case 301:
		mc_args_int(a, 1, INT64_C(1) << 31, &p->kv_block_tokens);
		return true;
	case 302:
		mc_args_real(a, 1e-9, 1e9, &p->rate);
		return true;
	case 303:
		mc_args_time(a, &p->start);
		return true;
	case 304:
		mc_args_int(a, 1, INT64_MAX, &p->limit);
		return true;
	case 305:
		p->spread_ticks = true;
		return true;
	case 306:
		if (mc_args_int(a, 0, INT64_MAX, &seed))
			p->seed = (uint64_t)seed;
		return true;
	case 307:
		mc_args_int(a, 0, INT64_MAX, &p->max_bad);
		return true;
	default:
		return false;
	}
}

/* What is wrong with the file names it; the rest are options. */
static void name_option(struct mc_err *err, const char *path)
{
	char key[sizeof err->key];

	if (err->file[0])
		return;
	snprintf(key, sizeof key, "--%s%.100s", !strcmp(err->key, "format") ? "trace-" : "", err->key);
	for (char *p = key; *p; p++)
		*p = *p == '_' ? '-' : *p;
	err->key[0] = 0;
	mc_err_at(err, path, 0, 0, key);
}

int mc_trace_cli_read(const struct mc_args *a, struct mc_trace_params *p, struct mc_trace *t)
{
	struct mc_err err = {0};

	p->path = a->argv[0];
	if (mc_trace_read(t, p, &err)) {
		name_option(&err, p->path);
		return mc_cli_error(&err);
	}
	if (t->bad)
		mc_cli_warn("%s: %s", p->path, err.text);
	return MC_OK;
}

char *mc_trace_cli_commas(uint64_t v, char *buf)
{
	char digits[24], *to = buf;
	int n = snprintf(digits, sizeof digits, "%llu", (unsigned long long)v);

	for (int i = 0; i < n; i++) {
		if (i && (n - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = 0;
	return buf;
}
