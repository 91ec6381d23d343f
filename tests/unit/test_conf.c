#include "unit.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "conf_thing.h"

START_TEST(defaults)
{
	struct mc_conf c;
	struct thing t;
	struct mc_err e = {0};

	start(&c, &t);
	ck_assert(!t.on && t.seed == 1 && t.tokens == 3000000 && t.bytes == 65536);
	ck_assert(t.ratio == 0.5 && t.rate == 100e9 && t.flops == 312e12);
	ck_assert(t.ttft == 30 * MC_NS_PER_S && t.until == MC_TIME_MAX);
	ck_assert_str_eq(t.path, "");
	ck_assert_str_eq(t.policy, "random");
	ck_assert_str_eq(json_string_value(t.model), "llama3-70b");
	ck_assert_ptr_null(t.extra);
	ck_assert(!mc_conf_is_set(&c, "seed"));
	ck_assert_int_eq(mc_conf_check(&c, &e), MC_USAGE);
	ck_assert_str_eq(e.key, "trace.path");
	ck_assert_int_eq(mc_conf_set(&c, "trace.path=a=b", NULL), 0);
	ck_assert_str_eq(t.path, "a=b");
	ck_assert_int_eq(mc_conf_check(&c, NULL), 0);
	ck_assert(mc_conf_is_set(&c, "trace.path"));
	mc_conf_fini(&c);
	ck_assert_ptr_null(t.path);
}
END_TEST

static void set_fails(const char *assignment, const char *key, const char *says)
{
	struct mc_conf c;
	struct thing t;
	struct mc_err e = {0};

	start(&c, &t);
	ck_assert_msg(mc_conf_set(&c, assignment, &e) == MC_USAGE, "%s: taken", assignment);
	ck_assert_int_eq(e.rc, MC_USAGE);
	ck_assert_str_eq(e.file, "--set");
	ck_assert_str_eq(e.key, key);
	ck_assert_msg(strstr(e.text, says) != NULL, "%s: %s", assignment, e.text);
	mc_conf_fini(&c);
}

START_TEST(assignments)
{
	struct mc_conf c;
	struct thing t;

	start(&c, &t);
	ck_assert_int_eq(mc_conf_set(&c, "kv.tokens=64Ki", NULL), 0);
	ck_assert_int_eq(mc_conf_set(&c, "on=true", NULL), 0);
	ck_assert_int_eq(mc_conf_set(&c, "slo.ttft=100ms", NULL), 0);
	ck_assert_int_eq(mc_conf_set(&c, "policy=round-robin", NULL), 0);
	ck_assert_int_eq(mc_conf_set(&c, "policy=random", NULL), 0);
	ck_assert(t.tokens == 65536 && t.on && t.ttft == 100 * MC_NS_PER_MS);
	ck_assert_str_eq(t.policy, "random");
	ck_assert_int_eq(mc_conf_set(&c, "model=tiny", NULL), 0);
	ck_assert_str_eq(json_string_value(t.model), "tiny");
	ck_assert_int_eq(mc_conf_set(&c, "model={\"layers\": 3}", NULL), 0);
	ck_assert_int_eq(json_integer_value(json_object_get(t.model, "layers")), 3);
	ck_assert_int_eq(mc_conf_set(&c, "events=[{\"at\": 1}, {}]", NULL), 0);
	ck_assert_uint_eq(json_array_size(t.events), 2);
	ck_assert_int_eq(mc_conf_set(&c, "events=", NULL), 0);
	ck_assert_ptr_null(t.events);
	mc_conf_fini(&c);

	set_fails("seed", "", "expected key=value");
	set_fails("=3", "", "expected key=value");
	set_fails("", "", "expected key=value");
	set_fails("sead=3", "sead", "did you mean 'seed'?");
	set_fails("seed=", "seed", "not a number");
	set_fails("seed=1x", "seed", "not a plain number");
	set_fails("seed=-1", "seed", "out of range");
	set_fails("on=yes", "on", "true or false");
	set_fails("slo=3", "slo", "keys ttft");
	set_fails("model.layers=3", "model.layers", "set it whole");
	set_fails("model={\"a\": 1, \"a\": 2}", "model", "duplicate");
	set_fails("model=[1]", "model", "neither a name nor an object");
	set_fails("events=[1]", "events", "not a list of objects");
	set_fails("events={}", "events", "not a list of objects");
	set_fails("events=x", "events", "not valid JSON");
	set_fails("events.at=x", "events.at", "events=[...]");
	set_fails("model=\xff\xfe", "model", "UTF-8");
	set_fails("policy=", "policy", "expected one of");
}
END_TEST

static uint64_t draw(uint64_t *x)
{
	*x = *x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *x >> 11;
}

static double draw_real(uint64_t *x, double max)
{
	double u = (double)draw(x) / 9007199254740992.0;

	return draw(x) % 4 ? u * max : floor(u * 10);
}

static void fill(struct mc_conf *c, struct thing *t, uint64_t *x)
{
	t->on = draw(x) % 2;
	t->seed = (int64_t)(draw(x) << (draw(x) % 7)) % 1000000000000000000;
	t->tokens = 1 + (int64_t)draw(x) % 1000000000000;
	t->bytes = (int64_t)((draw(x) << 11) >> (draw(x) % 63 + 1)) * (draw(x) % 2 ? 1 : -1);
	t->ratio = draw_real(x, 1) > 1 ? 1 : draw_real(x, 0.999) / 10;
	t->rate = 1 + draw_real(x, 1e14);
	t->flops = 1 + draw_real(x, 1e300);
	t->ttft = (int64_t)draw(x) % (1000000 * MC_NS_PER_S);
	t->until = (int64_t)((draw(x) << 10) >> (draw(x) % 60));
	if (draw(x) % 4 == 0)
		t->until = MC_TIME_MAX;
	if (draw(x) % 2) {
		ck_assert_int_eq(mc_conf_set(c, "trace.path=\"x\\ü\n\t", NULL), 0);
		ck_assert_int_eq(mc_conf_set(c, "model={\"a\":[1,2.5,null],\"b.c\":{}}", NULL), 0);
		ck_assert_int_eq(mc_conf_set(c, "policy=round-robin", NULL), 0);
		ck_assert_int_eq(mc_conf_set(c, "events=[{\"at\": [1]}, {}]", NULL), 0);
	}
}

/* Loading a dump gives the same values, for a random part of the table. */
START_TEST(dump_round_trip)
{
	uint64_t x = 42;

	for (int round = 0; round < 1000; round++) {
		struct mc_field some[sizeof fields / sizeof *fields];
		struct mc_conf a, b;
		struct thing t, u;
		struct mc_err e = {0};
		json_t *dump, *again;
		size_t n = 0;
		char *text;

		start(&a, &t);
		fill(&a, &t, &x);
		for (const struct mc_field *f = fields; f->key; f++) {
			some[n] = *f;
			some[n].key = f->key;
			n += draw(&x) % 4 != 0;
		}
		some[n] = (struct mc_field){0};
		a.fields = some;
		for (size_t i = 0; i < n; i++)
			a.set[i] = true;
		dump = mc_conf_dump(&a);
		text = json_dumps(dump, JSON_INDENT(2));
		memset(&u, 0, sizeof u);
		ck_assert_int_eq(mc_conf_init(&b, some, &u, NULL), 0);
		ck_assert_msg(mc_conf_load_text(&b, text, strlen(text), "dump", &e) == 0, "%s: %s\n%s", e.key,
			      e.text, text);
		again = mc_conf_dump(&b);
		ck_assert_msg(json_equal(dump, again), "%s", text);
		for (size_t i = 0; i < n; i++) {
			size_t at = some[i].offset;

			if (some[i].type == MC_F_STRING || some[i].type == MC_F_CHOICE)
				ck_assert_str_eq(*(char **)((char *)&t + at), *(char **)((char *)&u + at));
			else if (some[i].type != MC_F_JSON && some[i].type != MC_F_LIST &&
				 some[i].type != MC_F_BOOL)
				ck_assert_msg(!memcmp((char *)&t + at, (char *)&u + at, 8), "%s\n%s",
					      some[i].key, text);
		}
		ck_assert(json_is_string(json_object_get(dump, "schema")));
		free(text);
		json_decref(dump);
		json_decref(again);
		mc_conf_fini(&b);
		a.fields = fields;
		mc_conf_fini(&a);
	}
}
END_TEST

START_TEST(bad_tables_are_found)
{
	static const struct mc_field broken[] = {{"x", MC_F_INT, 0, "many", 0, 0, "", "", NULL}, {0}};
	struct mc_conf c;
	struct mc_err e = {0};
	int64_t v;

	ck_assert_int_eq(mc_conf_init(&c, broken, &v, &e), MC_USAGE);
	ck_assert_str_eq(e.key, "x");
}
END_TEST

START_TEST(help_names_all)
{
	char *text;
	size_t n;
	FILE *fp = open_memstream(&text, &n);

	mc_conf_help(fields, fp);
	fclose(fp);
	for (const struct mc_field *f = fields; f->key; f++)
		ck_assert(strstr(text, f->key) && strstr(text, f->help));
	ck_assert(strstr(text, "(required)") && strstr(text, "kvcache-centric, random") &&
		  strstr(text, "[0 to 1000000 s]"));
	ck_assert(strstr(text, "[at least 1 FLOP/s]"));
	free(text);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("conf");
	TCase *t = tcase_create("conf");

	tcase_add_test(t, defaults);
	tcase_add_test(t, assignments);
	tcase_add_test(t, dump_round_trip);
	tcase_add_test(t, bad_tables_are_found);
	tcase_add_test(t, help_names_all);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
