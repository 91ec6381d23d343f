/* The field table for people. */
#include <math.h>
#include <string.h>

#include "base/str.h"
#include "conf/internal.h"

static const char *type_name(enum mc_field_type type)
{
	static const char *const name[] = {
	    [MC_F_BOOL] = "bool",     [MC_F_INT] = "integer", [MC_F_COUNT] = "count", [MC_F_BYTES] = "bytes",
	    [MC_F_REAL] = "number",   [MC_F_RATE] = "rate",   [MC_F_FLOPS] = "flops", [MC_F_TIME] = "time",
	    [MC_F_STRING] = "string", [MC_F_CHOICE] = "name", [MC_F_JSON] = "object", [MC_F_LIST] = "list",
	};

	return name[type];
}

static const char *default_text(const struct mc_field *f)
{
	return !f->def ? "(required)" : *f->def ? f->def : "-";
}

static void describe(const struct mc_field *f, struct mc_str *s)
{
	mc_str_printf(s, "%s", f->help ? f->help : "");
	if (f->type == MC_F_CHOICE) {
		const char *const *list = f->choices();

		for (size_t i = 0; list[i]; i++)
			mc_str_printf(s, "%s%s", i ? ", " : ": ", list[i]);
	}
	if (f->min == 0 && f->max == 0)
		return;
	if (isinf(f->max))
		mc_str_printf(s, " [at least %.12g", f->min);
	else
		mc_str_printf(s, " [%.12g to %.12g", f->min, f->max);
	mc_str_printf(s, "%s%s]", f->unit && *f->unit ? " " : "", f->unit ? f->unit : "");
}

void mc_conf_help(const struct mc_field *fields, FILE *out)
{
	int key = 3, def = 7, unit = 4;

	for (const struct mc_field *f = fields; f->key; f++) {
		int k = (int)strlen(f->key), d = (int)strlen(default_text(f));
		int u = f->unit ? (int)strlen(f->unit) : 0;

		key = k > key ? k : key;
		def = d > def ? d : def;
		unit = u > unit ? u : unit;
	}
	fprintf(out, "%-*s  %-7s  %-*s  %-*s  %s\n", key, "key", "type", def, "default", unit, "unit",
		"meaning");
	for (const struct mc_field *f = fields; f->key; f++) {
		struct mc_str s = {0};

		describe(f, &s);
		fprintf(out, "%-*s  %-7s  %-*s  %-*s  %s\n", key, f->key, type_name(f->type), def,
			default_text(f), unit, f->unit ? f->unit : "", mc_str_text(&s));
		mc_str_fini(&s);
	}
}
