#include "unit.h"

#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf_thing.h"

static void put(const char *path, const char *text)
{
	FILE *fp = fopen(path, "w");

	ck_assert_ptr_nonnull(fp);
	fputs(text, fp);
	fclose(fp);
}

static char tmpdir[64];

static void enter(void)
{
	snprintf(tmpdir, sizeof tmpdir, "/tmp/mc_test_conf_XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(tmpdir));
	ck_assert_int_eq(chdir(tmpdir), 0);
}

static void leave(void)
{
	char cmd[128];

	ck_assert_int_eq(chdir("/"), 0);
	snprintf(cmd, sizeof cmd, "rm -rf '%s'", tmpdir);
	ck_assert_int_eq(system(cmd), 0);
}

START_TEST(a_file_sets_and_inherits)
{
	struct mc_conf c;
	struct thing t;
	struct mc_err e = {0};

	ck_assert_int_eq(mkdir("sub", 0777), 0);
	put("sub/base.json",
	    "{\"schema\": \"1.7\", \"seed\": 9, \"kv\": {\"tokens\": \"5M\", \"bytes\": 1e3},"
	    "\"model\": {\"layers\": 3, \"hidden\": 4}, \"base\": \"../root.json\"}");
	put("root.json", "{\"on\": true, \"seed\": 8, \"trace\": {\"path\": \"r\"}}");
	put("s.json", "{\"base\": \"sub/base.json\", \"schema\": 1, \"kv\": {\"tokens\": 7},\n"
		      "\"model\": {\"heads\": 2}, \"slo\": {\"ttft\": 0.1}, \"run\": {\"until\": \"inf\"}}");
	start(&c, &t);
	ck_assert_msg(mc_conf_load(&c, "s.json", &e) == 0, "%s:%ld: %s: %s", e.file, e.line, e.key, e.text);
	ck_assert(t.on && t.seed == 9 && t.tokens == 7 && t.bytes == 1000 && t.ttft == 100 * MC_NS_PER_MS);
	ck_assert_str_eq(t.path, "r");
	ck_assert_ptr_null(json_object_get(t.model, "layers")); /* replaced whole */
	ck_assert_int_eq(json_integer_value(json_object_get(t.model, "heads")), 2);
	ck_assert(mc_conf_is_set(&c, "seed") && mc_conf_is_set(&c, "on") && !mc_conf_is_set(&c, "policy"));
	mc_conf_fini(&c);
}
END_TEST

/* text, line, column, key, part of the message */
static const struct bad {
	const char *text;
	long line, column;
	const char *key, *says;
} refused[] = {
    {"", 1, 1, "", "not valid JSON"},
    {"[1]", 1, 1, "", "expected an object"},
    {"{\"seed\": 1", 1, 10, "seed", "not valid JSON"},
    {"{\"seed\": 1} x", 1, 13, "", "not valid JSON"},
    {"{\n \"kv\": {\"tokens\": nope}}", 2, 19, "kv.tokens", "not valid JSON"},
    {"{\n \"kv\": {\"tokens\": NaN}}", 2, 19, "kv.tokens", "not valid JSON"},
    {"{\n \"kv\": {\"tokens\": 99999999999999999999}}", 2, 19, "kv.tokens", "out of range"},
    {"{\"kv\": {\"deep\": {\n\"ratio\": 1e999}}}", 2, 10, "kv.deep.ratio", "out of range"},
    {"{\"seed\": 1, \"on\": true,\n  \"seed\": 2}", 2, 3, "seed", "duplicate key"},
    {"{\"kv\": {\"tokens\": 1},\n\"slo\": {\"ttft\": 1, \"ttft\": 1}}", 2, 20, "slo.ttft", "duplicate key"},
    {"{\"model\": {\"a\": {\"b\": 1, \"b\": 2}}}", 1, 26, "model.a.b", "duplicate key"},
    {"{\"sead\": 1}", 1, 2, "sead", "did you mean 'seed'?"},
    {"{\"kv\": {\n\t\"tokans\": 1}}", 2, 2, "kv.tokans", "did you mean 'kv.tokens'?"},
    {"{\"ttft\": 1}", 1, 2, "ttft", "did you mean 'slo.ttft'?"},
    {"{\"zzz\": 1}", 1, 2, "zzz", "unknown key"},
    {"{\"slo\": {\"ttft\": 1}, \"slo.ttft\": 2}", 1, 22, "slo.ttft", "nested"},
    {"{\"kv\": {\"deep.ratio\": 2}}", 1, 9, "kv.deep.ratio", "nested"},
    {"{\"kv\": \"3M\"}", 1, 8, "kv", "expected one with the keys tokens, bytes, deep.ratio"},
    {"{\"kv\":\n 3}", 2, 2, "kv", "is not an object"},
    {"{\"seed\": {\"x\": 1}}", 1, 10, "seed", "is an object; expected an integer"},
    {"{\"seed\": \"1\"}", 1, 10, "seed", "is a string; expected an integer"},
    {"{\"seed\": 1.5}", 1, 10, "seed", "not a whole number"},
    {"{\"seed\": 1e17}", 1, 10, "seed", "write its digits"},
    {"{\"seed\": -1}", 1, 10, "seed", "expected 0 to 1e+18"},
    {"{\"seed\": null}", 1, 10, "seed", "is null"},
    {"{\"on\": 1}", 1, 8, "on", "expected true or false"},
    {"{\"on\": \"true\"}", 1, 8, "on", "expected true or false"},
    {"{\"kv\": {\"tokens\": \"3k\"}}", 1, 19, "kv.tokens", "unknown unit 'k'"},
    {"{\"kv\": {\"tokens\": \"0\"}}", 1, 19, "kv.tokens", "out of range"},
    {"{\"kv\": {\"tokens\": \"\"}}", 1, 19, "kv.tokens", "not a number"},
    {"{\"kv\": {\"tokens\": [1]}}", 1, 19, "kv.tokens", "is an array"},
    {"{\"kv\": {\"deep\": {\"ratio\": 1.01}}}", 1, 27, "kv.deep.ratio", "out of range; expected 0 to 1"},
    {"{\"kv\": {\"deep\": {\"ratio\": \"0.5\"}}}", 1, 27, "kv.deep.ratio", "expected a number"},
    {"{\"slo\": {\"ttft\": \"inf\"}}", 1, 18, "slo.ttft", "cannot be infinite"},
    {"{\"slo\": {\"ttft\": \"3 parsecs\"}}", 1, 18, "slo.ttft", "unknown unit"},
    {"{\"slo\": {\"ttft\": 1e12}}", 1, 18, "slo.ttft", "too large"},
    {"{\"slo\": {\"ttft\": -1}}", 1, 18, "slo.ttft", "out of range"},
    {"{\"run\": {\"until\": -1}}", 1, 19, "run.until", "expected at least 0 s"},
    {"{\"net\": {\"rate\": \"0Gbps\"}}", 1, 18, "net.rate", "out of range"},
    {"{\"policy\": \"rnadom\"}", 1, 12, "policy", "did you mean 'random'?"},
    {"{\"policy\": \"x\"}", 1, 12, "policy", "expected one of kvcache-centric, random, round-robin"},
    {"{\"policy\": 3}", 1, 12, "policy", "is a number; expected a name"},
    {"{\"model\": 3}", 1, 11, "model", "expected a name or an object"},
    {"{\"trace\": {\"path\": 3}}", 1, 20, "trace.path", "expected a string"},
    {"{\"schema\": \"2.0\"}", 1, 12, "schema", "newer than this program"},
    {"{\"schema\": 2}", 1, 12, "schema", "newer"},
    {"{\"schema\": \"0.9\"}", 1, 12, "schema", "expected \"1.0\""},
    {"{\"schema\": \"1.x\"}", 1, 12, "schema", "expected \"1.0\""},
    {"{\"schema\": []}", 1, 12, "schema", "expected \"1.0\""},
    {"{\"base\": 3}", 1, 10, "base", "is no path"},
    {"{\"base\": \"-\"}", 1, 10, "base", "is no path"},
    {"{\"seed\": 2,\n\"base\": \"none.json\"}", 2, 9, "base", "No such file"},
    {"{\"\\u0073ead\": 1}", 1, 2, "sead", "did you mean 'seed'?"},
    {"{\"käse\": 1, \"sead\": 1}", 1, 2, "käse", "unknown key"},
    {"{\"events\": [1]}", 1, 12, "events", "not a list of objects"},
    {"{\"events\": {}}", 1, 12, "events", "is an object; expected a list of objects"},
    {"{\"extra\": {\"käse\": 1}, \"sead\": 1}", 1, 24, "sead", "unknown key"},
};

START_TEST(bad_files)
{
	const struct bad *b = &refused[_i];
	struct mc_conf c;
	struct thing t;
	struct mc_err e = {0};

	put("bad.json", b->text);
	start(&c, &t);
	ck_assert_msg(mc_conf_load(&c, "bad.json", &e) == MC_USAGE, "%s: taken", b->text);
	ck_assert_int_eq(e.rc, MC_USAGE);
	ck_assert_str_eq(e.file, "bad.json");
	ck_assert_msg(!strcmp(e.key, b->key), "%s: key '%s', not '%s'", b->text, e.key, b->key);
	ck_assert_msg(e.line == b->line && e.column == b->column, "%s: at %ld:%ld", b->text, e.line,
		      e.column);
	ck_assert_msg(strstr(e.text, b->says) != NULL, "%s: says '%s'", b->text, e.text);
	/* The caller may not want to know. */
	ck_assert_int_eq(mc_conf_load(&c, "bad.json", NULL), MC_USAGE);
	mc_conf_fini(&c);
}
END_TEST

static void chain_fails(const char *file, const char *want_file, const char *key, const char *says)
{
	struct mc_conf c;
	struct thing t;
	struct mc_err e = {0};

	start(&c, &t);
	ck_assert_int_eq(mc_conf_load(&c, file, &e), MC_USAGE);
	ck_assert_str_eq(e.file, want_file);
	ck_assert_str_eq(e.key, key);
	ck_assert_int_eq(e.line, 1);
	ck_assert_msg(strstr(e.text, says) != NULL, "%s", e.text);
	mc_conf_fini(&c);
}

START_TEST(bad_bases)
{
	char text[64], name[32];

	ck_assert_int_eq(mkdir("d", 0777), 0);
	put("a.json", "{\"base\": \"d/b.json\"}");
	put("d/b.json", "{\"base\": \"../d/../a.json\"}");
	chain_fails("a.json", "d/b.json", "base", "cycle");
	put("self.json", "{\"base\": \"./self.json\"}");
	chain_fails("self.json", "self.json", "base", "cycle");
	put("d/b.json", "{\"sead\": 1}");
	chain_fails("a.json", "d/b.json", "sead", "did you mean 'seed'?");
	put("d/b.json", "{\"seed\": 1");
	chain_fails("a.json", "d/b.json", "seed", "not valid JSON");
	put("dir.json", "{\"base\": \"d\"}");
	chain_fails("dir.json", "dir.json", "base", "cannot");
	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof name, "c%d.json", i);
		snprintf(text, sizeof text, "{\"base\": \"c%d.json\"}", i + 1);
		put(name, text);
	}
	chain_fails("c0.json", "c32.json", "base", "more than 32 bases");
}
END_TEST

START_TEST(bad_places)
{
	struct mc_conf c;
	struct thing t;
	struct mc_err e = {0};
	FILE *fp;

	start(&c, &t);
	ck_assert_int_eq(mc_conf_load(&c, "absent.json", &e), MC_USAGE);
	ck_assert_str_eq(e.file, "absent.json");
	ck_assert(strstr(e.text, "No such file") != NULL);
	e = (struct mc_err){0};
	ck_assert_int_eq(mc_conf_load(&c, ".", &e), MC_USAGE);
	e = (struct mc_err){0};
	fp = fopen("big.json", "w");
	ck_assert_int_eq(ftruncate(fileno(fp), (16 << 20) + 1), 0);
	fclose(fp);
	ck_assert_int_eq(mc_conf_load(&c, "big.json", &e), MC_USAGE);
	ck_assert_str_eq(e.file, "big.json");
	ck_assert(strstr(e.text, "larger than") != NULL);
	mc_conf_fini(&c);
}
END_TEST

START_TEST(stdin_is_a_file)
{
	struct mc_conf c;
	struct thing t;
	struct mc_err e = {0};

	put("in.json", "{\"base\": \"base.json\", \"seed\": 4,\n \"sead\": 5}");
	put("base.json", "{\"on\": true}");
	ck_assert_ptr_nonnull(freopen("in.json", "r", stdin));
	start(&c, &t);
	ck_assert_int_eq(mc_conf_load(&c, "-", &e), MC_USAGE);
	ck_assert_str_eq(e.file, "<stdin>");
	ck_assert_str_eq(e.key, "sead");
	ck_assert_int_eq(e.line, 2);
	ck_assert(t.on && t.seed == 4);
	mc_conf_fini(&c);
}
END_TEST

START_TEST(nesting_and_garbage_do_no_harm)
{
	static char text[200000];
	struct mc_conf c;
	struct thing t;
	uint64_t x = 7;

	start(&c, &t);
	memset(text, '[', sizeof text);
	ck_assert_int_eq(mc_conf_load_text(&c, text, sizeof text, "deep", NULL), MC_USAGE);
	for (size_t i = 0; i < sizeof text; i++)
		text[i] = "{\"a\":"[i % 5];
	ck_assert_int_eq(mc_conf_load_text(&c, text, sizeof text, "deep", &(struct mc_err){0}), MC_USAGE);
	for (int round = 0; round < 20000; round++) {
		static const char alphabet[] = "{}[]:,\"\\ \n19.e-truefals\"seed\"\"kv\"\0\xff";
		size_t n = (size_t)(x >> 33) % 60;

		for (size_t i = 0; i < n; i++) {
			x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			text[i] = alphabet[(x >> 33) % (sizeof alphabet - 1)];
		}
		text[0] = '{';
		mc_conf_load_text(&c, text, n, "noise", &(struct mc_err){0});
	}
	mc_conf_fini(&c);
}
END_TEST

/* Any mutation of a good text is taken, or refused with a line inside it. */
START_TEST(mutations_keep_their_place)
{
	static const char good[] =
	    "{\"seed\": 9, \"kv\": {\"tokens\": \"5M\",\n \"deep\": {\"ratio\": 0.25}},\n"
	    "\"model\": {\"layers\": [3, {\"x\": null}], \"h\\u0041\": 4e1}, \"policy\": \"random\"}";
	struct mc_conf c;
	struct thing t;
	uint64_t x = 3;

	start(&c, &t);
	for (int round = 0; round < 10000; round++) {
		struct mc_err e = {0};
		char text[sizeof good];

		memcpy(text, good, sizeof good);
		x = x * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		text[(x >> 33) % (sizeof good - 1)] = (char)(x >> 50);
		if (mc_conf_load_text(&c, text, sizeof good - 1, "m", &e)) {
			ck_assert_int_eq(e.rc, MC_USAGE);
			ck_assert_str_eq(e.file, "m");
			ck_assert_msg(e.line >= 1 && e.line <= 4 && e.column >= 1, "%s: %ld", text, e.line);
		}
	}
	mc_conf_fini(&c);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("conf_load");
	TCase *t = tcase_create("text"), *files = tcase_create("files");

	tcase_add_test(t, nesting_and_garbage_do_no_harm);
	tcase_add_test(t, mutations_keep_their_place);
	tcase_set_timeout(t, 60);
	suite_add_tcase(s, t);
	tcase_add_checked_fixture(files, enter, leave);
	tcase_add_test(files, a_file_sets_and_inherits);
	tcase_add_loop_test(files, bad_files, 0, (int)(sizeof refused / sizeof *refused));
	tcase_add_test(files, bad_bases);
	tcase_add_test(files, bad_places);
	tcase_add_test(files, stdin_is_a_file);
	suite_add_tcase(s, files);
	return s;
}

UNIT_MAIN
