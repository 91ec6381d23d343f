#include "base/units.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A unit is factor * 10^tens * 2^twos base units, so that every value is exact until it is rounded, once. */
struct unit {
	char name[12];
	int tens, twos, factor;
};

static const struct unit units_none[] = {{"", 0, 0, 1}, {"", 0, 0, 0}};

static const struct unit units_count[] = {
    {"", 0, 0, 1},    {"K", 3, 0, 1},   {"M", 6, 0, 1},   {"G", 9, 0, 1},   {"T", 12, 0, 1},  {"P", 15, 0, 1},
    {"Ki", 0, 10, 1}, {"Mi", 0, 20, 1}, {"Gi", 0, 30, 1}, {"Ti", 0, 40, 1}, {"Pi", 0, 50, 1}, {"", 0, 0, 0}};

static const struct unit units_bytes[] = {
    {"", 0, 0, 1},     {"B", 0, 0, 1},    {"KB", 3, 0, 1},   {"kB", 3, 0, 1},   {"MB", 6, 0, 1},
    {"GB", 9, 0, 1},   {"TB", 12, 0, 1},  {"PB", 15, 0, 1},  {"KiB", 0, 10, 1}, {"MiB", 0, 20, 1},
    {"GiB", 0, 30, 1}, {"TiB", 0, 40, 1}, {"PiB", 0, 50, 1}, {"", 0, 0, 0}};

/* In ns. */
static const struct unit units_time[] = {{"", 9, 0, 1},     {"s", 9, 0, 1},  {"ms", 6, 0, 1},
					 {"us", 3, 0, 1},   {"ns", 0, 0, 1}, {"min", 9, 0, 60},
					 {"h", 9, 0, 3600}, {"", 0, 0, 0}};

static const struct unit units_rate[] = {
    {"", 0, 0, 1},       {"B/s", 0, 0, 1},    {"KB/s", 3, 0, 1},   {"kB/s", 3, 0, 1},   {"MB/s", 6, 0, 1},
    {"GB/s", 9, 0, 1},   {"TB/s", 12, 0, 1},  {"KiB/s", 0, 10, 1}, {"MiB/s", 0, 20, 1}, {"GiB/s", 0, 30, 1},
    {"TiB/s", 0, 40, 1}, {"bps", 0, -3, 1},   {"Kbps", 3, -3, 1},  {"kbps", 3, -3, 1},  {"Mbps", 6, -3, 1},
    {"Gbps", 9, -3, 1},  {"Tbps", 12, -3, 1}, {"Kb/s", 3, -3, 1},  {"kb/s", 3, -3, 1},  {"Mb/s", 6, -3, 1},
    {"Gb/s", 9, -3, 1},  {"Tb/s", 12, -3, 1}, {"b/s", 0, -3, 1},   {"", 0, 0, 0}};

static const struct unit units_flops[] = {{"", 0, 0, 1},         {"FLOPS", 0, 0, 1},    {"MFLOPS", 6, 0, 1},
					  {"GFLOPS", 9, 0, 1},   {"TFLOPS", 12, 0, 1},  {"PFLOPS", 15, 0, 1},
					  {"FLOP/s", 0, 0, 1},   {"MFLOP/s", 6, 0, 1},  {"GFLOP/s", 9, 0, 1},
					  {"TFLOP/s", 12, 0, 1}, {"PFLOP/s", 15, 0, 1}, {"", 0, 0, 0}};

#define MANTISSA_DIGITS 19 /* 10^19 < 2^64 */
#define EXPONENT_MAX    100000

/* What was read: (-1)^negative * mantissa * 10^exponent * unit; inexact: nonzero digits beyond the mantissa.
 */
struct number {
	bool negative, inexact;
	uint64_t mantissa;
	long exponent;
	const char *digits; /* digits and point, in the caller's text */
	size_t n_digits;
	const struct unit *unit;
};

static void number_digit(struct number *x, int digit, bool fraction, int *used)
{
	if (*used < MANTISSA_DIGITS) {
		x->mantissa = x->mantissa * 10 + (uint64_t)digit;
		*used += x->mantissa != 0;
		x->exponent -= fraction;
	} else {
		x->inexact |= digit != 0;
		x->exponent += !fraction;
	}
}

/* Digits, point, exponent; NULL when it is no number. Returns what follows. */
static const char *number_scan(struct number *x, const char *s)
{
	bool fraction = false, any = false;
	int used = 0;

	if (*s == '-' || *s == '+')
		x->negative = *s++ == '-';
	x->digits = s;
	for (; isdigit((unsigned char)*s) || (*s == '.' && !fraction); s++) {
		if (*s == '.') {
			fraction = true;
			continue;
		}
		number_digit(x, *s - '0', fraction, &used);
		any = true;
	}
	x->n_digits = (size_t)(s - x->digits);
	if (!any || s[-1] == '.')
		return NULL;
	if ((*s == 'e' || *s == 'E') && (isdigit((unsigned char)s[1]) ||
					 ((s[1] == '-' || s[1] == '+') && isdigit((unsigned char)s[2])))) {
		char *end;
		long e = strtol(s + 1, &end, 10);

		x->exponent += e > EXPONENT_MAX ? EXPONENT_MAX : e < -EXPONENT_MAX ? -EXPONENT_MAX : e;
		s = end;
	}
	return s;
}

static int number_read(struct number *x, const char *s, const struct unit *table, struct mc_err *err)
{
	const char *rest;
	const struct unit *u;

	*x = (struct number){0};
	rest = number_scan(x, s);
	if (!rest)
		return mc_err_set(err, MC_USAGE, "'%.60s' is not a number%s", s,
				  table == units_time ? "; expected one such as 0, 250ms, 30s or 5min" : "");
	if (*rest == ' ' && rest[1])
		rest++;
	for (u = table; u->factor; u++) {
		if (!strcmp(u->name, rest)) {
			x->unit = u;
			return 0;
		}
	}
	if (table == units_none)
		return mc_err_set(err, MC_USAGE, "'%.60s' is not a plain number; '%.20s' is not expected", s,
				  rest);
	return mc_err_set(err, MC_USAGE, "'%.60s' has an unknown unit '%.20s'; expected one such as %s", s,
			  rest,
			  table == units_count   ? "K, M, G (1000s) or Ki, Mi, Gi (1024s)"
			  : table == units_bytes ? "B, KB, GB or KiB, GiB"
			  : table == units_time  ? "ns, us, ms, s, min or h"
			  : table == units_rate  ? "GB/s, GiB/s or Gbps"
						 : "GFLOPS, TFLOPS or PFLOPS");
}

/* Exact magnitude as an integer; with `round` to the nearest, else an error when it is not whole. */
static int number_to_int(const struct number *x, bool round, int64_t *v, const char **why)
{
	unsigned __int128 m = x->mantissa, den = 1;
	long e = x->exponent + x->unit->tens;
	const unsigned __int128 limit = INT64_MAX;

	m = m * (unsigned)x->unit->factor << x->unit->twos;
	for (; e > 0 && m; e--) {
		if (m > limit)
			break;
		m *= 10;
	}
	/* Beyond 10^37 the quotient of 124 bits is below one tenth. */
	for (; e < 0 && den < (unsigned __int128)1e37; e++)
		den *= 10;
	if (e >= 0 && m / den > limit) {
		*why = "is too large";
		return MC_USAGE;
	}
	if (m && !round && (x->inexact || e < 0 || m % den)) {
		*why = "is not a whole number";
		return MC_USAGE;
	}
	if (e < 0)
		m = 0;
	m = m / den + (m % den >= den - m % den);
	*v = x->negative ? -(int64_t)m : (int64_t)m;
	return 0;
}

static int parse_int(const char *s, const struct unit *table, int64_t *v, struct mc_err *err)
{
	struct number x;
	const char *why;
	int rc = number_read(&x, s, table, err);

	if (rc)
		return rc;
	rc = number_to_int(&x, table == units_time, v, &why);
	return rc ? mc_err_set(err, rc, "'%.60s' %s", s, why) : 0;
}

/* The digits without the point and one exponent go to strtod, which then rounds once in any locale. */
static int parse_real(const char *s, const struct unit *table, double *v, struct mc_err *err)
{
	struct number x;
	char text[128];
	size_t n = 0, cut;
	long e;
	double r;
	int rc = number_read(&x, s, table, err);

	if (rc)
		return rc;
	if (x.n_digits > sizeof text - 32)
		return mc_err_set(err, MC_USAGE, "'%.60s...' has too many digits", s);
	/* x.exponent counts from the mantissa, which may have been cut: count again from all digits. */
	e = x.exponent + x.unit->tens;
	for (size_t i = 0; i < x.n_digits; i++)
		if (x.digits[i] != '.')
			text[n++] = x.digits[i];
	text[n] = 0;
	cut = n - strspn(text, "0");
	if (cut > MANTISSA_DIGITS)
		e -= (long)cut - MANTISSA_DIGITS;
	snprintf(text + n, sizeof text - n, "e%ld", e);
	r = ldexp(strtod(text, NULL) * x.unit->factor, x.unit->twos);
	if (!isfinite(r))
		return mc_err_set(err, MC_USAGE, "'%.60s' is too large", s);
	*v = x.negative ? -r : r;
	return 0;
}

int mc_units_int(const char *s, int64_t *v, struct mc_err *err)
{
	return parse_int(s, units_none, v, err);
}

int mc_units_count(const char *s, int64_t *v, struct mc_err *err)
{
	return parse_int(s, units_count, v, err);
}

int mc_units_bytes(const char *s, int64_t *v, struct mc_err *err)
{
	return parse_int(s, units_bytes, v, err);
}

int mc_units_time(const char *s, mc_time *v, struct mc_err *err)
{
	if (!strcmp(s, "inf")) {
		*v = MC_TIME_MAX;
		return 0;
	}
	return parse_int(s, units_time, v, err);
}

int mc_units_real(const char *s, double *v, struct mc_err *err)
{
	return parse_real(s, units_none, v, err);
}

int mc_units_rate(const char *s, double *v, struct mc_err *err)
{
	return parse_real(s, units_rate, v, err);
}

int mc_units_flops(const char *s, double *v, struct mc_err *err)
{
	return parse_real(s, units_flops, v, err);
}
