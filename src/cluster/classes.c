#include "cluster/classes.h"

#include <string.h>

#include "des/stream.h"

struct given {
	char *name;
	double share, admit_load;
	mc_time ttft, tbt;
};

#define G(member) offsetof(struct given, member)

static const struct mc_field fields[] = {
    {"name", MC_F_STRING, G(name), NULL, 0, 0, "", "of the class", NULL},
    {"share", MC_F_REAL, G(share), "1", 0, 1e9, "", "of the requests", NULL},
    {"ttft", MC_F_TIME, G(ttft), "0s", 0, 1e9, "s", "objective of TTFT", NULL},
    {"tbt", MC_F_TIME, G(tbt), "0s", 0, 1e9, "s", "objective of TBT", NULL},
    {"admit_load", MC_F_REAL, G(admit_load), "1", 0, 1e6, "", "above which it is refused", NULL},
    {NULL, MC_F_BOOL, 0, NULL, 0, 0, NULL, NULL, NULL},
};

static int bad(struct mc_err *err, size_t i, const char *field, const char *text)
{
	char key[64];

	snprintf(key, sizeof key, "classes[%zu]%s%s", i, *field ? "." : "", field);
	mc_err_set(err, MC_USAGE, "%s", text);
	mc_err_at(err, NULL, 0, 0, key);
	return MC_USAGE;
}

/* The object with "none" as the 0 that it means. New reference. */
static json_t *plain(const json_t *object)
{
	static const char *const key[] = {"ttft", "tbt"};
	json_t *copy = json_copy((json_t *)object);

	for (size_t i = 0; i < 2; i++) {
		const char *text = json_string_value(json_object_get(copy, key[i]));

		if (text && !strcmp(text, "none"))
			json_object_set_new(copy, key[i], json_integer(0));
	}
	return copy;
}

static int check_name(const struct mc_classes *all, const char *name, struct mc_err *err)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	size_t n = strlen(name);

	if (!n || n >= MC_CLASS_NAME || strspn(name, letters) < n)
		return bad(err, all->n, "name",
			   "is no name; expected 1 to 31 letters, digits, '.', '_' or '-'");
	for (size_t i = 0; i < all->n; i++)
		if (!strcmp(all->at[i].name, name))
			return bad(err, all->n, "name", "is that of another class, too");
	return MC_OK;
}

static int read_one(const struct mc_scenario *s, const json_t *object, struct mc_classes *out,
		    struct mc_err *err)
{
	json_t *copy = plain(object);
	struct mc_err own = {0};
	struct mc_conf conf;
	struct given g;
	int rc;

	rc = mc_conf_init(&conf, fields, &g, &own);
	if (!rc)
		rc = mc_conf_load_json(&conf, copy, &own);
	if (!rc)
		rc = mc_conf_check(&conf, &own);
	rc = rc ? bad(err, out->n, own.key, own.text) : check_name(out, g.name, err);
	if (!rc) {
		struct mc_class c = {.share = g.share,
				     .ttft = json_object_get(copy, "ttft") ? g.ttft : s->slo.ttft,
				     .tbt = json_object_get(copy, "tbt") ? g.tbt : s->slo.tbt,
				     .admit_load = json_object_get(copy, "admit_load")
						       ? g.admit_load
						       : s->conductor.admit_load};

		snprintf(c.name, sizeof c.name, "%s", g.name);
		mc_vec_push(out, c);
	}
	mc_conf_fini(&conf);
	json_decref(copy);
	return rc;
}

static double total(const struct mc_classes *all)
{
	double sum = 0;

	for (size_t i = 0; i < all->n; i++)
		sum += all->at[i].share;
	return sum;
}

int mc_classes_read(const struct mc_scenario *s, struct mc_classes *out, struct mc_err *err)
{
	const json_t *object;
	size_t i;
	int rc = MC_OK;

	*out = (struct mc_classes){0};
	json_array_foreach(s->classes, i, object)
	{
		if (!rc && i == MC_CLASSES)
			rc = bad(err, i, "", "is one too many; expected 16 classes at most");
		rc = rc ? rc : read_one(s, object, out, err);
	}
	if (!rc && !out->n)
		mc_vec_push(out, ((struct mc_class){.share = 1,
						    .ttft = s->slo.ttft,
						    .tbt = s->slo.tbt,
						    .admit_load = s->conductor.admit_load}));
	if (!rc && !(total(out) > 0))
		rc = bad(err, 0, "share", "is 0 as all others are; expected one above 0");
	if (rc)
		mc_vec_fini(out);
	return rc;
}

uint32_t mc_classes_draw(const struct mc_classes *all, uint64_t seed, int64_t request)
{
	double u = total(all), sum = 0;
	uint32_t last = 0; /* with a share: what rounding leaves goes there */

	if (all->n == 1)
		return 0;
	u *= mc_stream_draw(seed, "classes", (uint64_t)request);
	for (uint32_t i = 0; i < all->n; i++) {
		sum += all->at[i].share;
		if (u < sum)
			return i;
		last = all->at[i].share > 0 ? i : last;
	}
	return last;
}

bool mc_classes_random(const struct mc_scenario *s)
{
	struct mc_classes all;
	uint32_t drawn = 0;

	if (mc_classes_read(s, &all, NULL))
		return false;
	for (size_t i = 0; i < all.n; i++)
		drawn += all.at[i].share > 0;
	mc_vec_fini(&all);
	return drawn > 1;
}
