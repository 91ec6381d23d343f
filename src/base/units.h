/*
 * Numbers with units as people write them, and short forms of numbers for people.
 *
 * A number is digits with an optional sign, fraction and decimal exponent ("-3", "1.5", "2e6"), then a unit
 * of its kind, with at most one space between. No hexadecimal, no "nan", nothing after the unit, no locale.
 * Values are exact: integers up to 2^63 - 1, times rounded once to the nearest ns, reals rounded once to
 * double. K, M, G, T, P are powers of 1000 and Ki, Mi, Gi, Ti, Pi powers of 1024.
 */
#ifndef MC_BASE_UNITS_H
#define MC_BASE_UNITS_H

#include <stdint.h>

#include "base/err.h"
#include "base/time.h"

/* Each returns 0, or MC_USAGE with err saying what is wrong and what was expected; *v is then unchanged. */
int mc_units_int(const char *s, int64_t *v, struct mc_err *err);   /* "42": no unit */
int mc_units_count(const char *s, int64_t *v, struct mc_err *err); /* "3M", "1.5K", "64Ki": a whole number */
int mc_units_bytes(const char *s, int64_t *v, struct mc_err *err); /* "80GB", "64KiB", "512", "512B" */
int mc_units_time(const char *s, mc_time *v,
		  struct mc_err *err); /* ns us ms s min h; none: s; "inf": MC_TIME_MAX */
int mc_units_real(const char *s, double *v, struct mc_err *err);  /* "0.25": no unit, finite */
int mc_units_rate(const char *s, double *v, struct mc_err *err);  /* bytes/s: "800Gbps" = 100e9, "87GB/s" */
int mc_units_flops(const char *s, double *v, struct mc_err *err); /* operations/s: "312TFLOPS", "1e12" */

/* Room for any text of the functions below, with its NUL. */
#define MC_UNITS_TEXT 32

/* For people: three significant digits and a unit ("1.25 ms", "80.0 GB"). buf holds MC_UNITS_TEXT; returned.
 */
char *mc_units_format_time(mc_time t, char *buf); /* ns to s, then min and h; "never" for MC_TIME_MAX */
char *mc_units_format_count(double v, char *buf); /* "512", "1.23 M"; whole numbers below 10,000 in full */
char *mc_units_format_bytes(double v, char *buf); /* decimal: "81.9 GB" */
char *mc_units_format_rate(double bytes_s, char *buf); /* "87.0 GB/s" */
char *mc_units_format_flops(double flop_s, char *buf); /* "312 TFLOPS" */

#endif
