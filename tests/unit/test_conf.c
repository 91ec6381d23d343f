#include "unit.h"

#include <math.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/time.h"
#include "conf/field.h"

struct thing {
	bool on;
	int64_t seed, tokens, bytes;
	double ratio, rate, flops;
	mc_time ttft, until;
	char *path, *policy;
	json_t *model, *extra;
};

static const char *const *policies(void)
{
	static const char *const list[] = {"kvcache-centric", "random", "round-robin", NULL};

	return list;
}

#define AT(m) offsetof(struct thing, m)
static const struct mc_field fields[] = {
    {"on", MC_F_BOOL, AT(on), "false", 0, 0, "", "a switch", NULL},
    {"seed", MC_F_INT, AT(seed), "1", 0, 1e18, "", "seed of all random streams", NULL},
    {"kv.tokens", MC_F_COUNT, AT(tokens), "3M", 1, 1e12, "tokens", "room", NULL},
    {"kv.bytes", MC_F_BYTES, AT(bytes), "64KiB", 0, 0, "B", "bytes", NULL},
    {"kv.deep.ratio", MC_F_REAL, AT(ratio), "0.5", 0, 1, "", "share", NULL},
    {"net.rate", MC_F_RATE, AT(rate), "800Gbps", 1, 1e15, "B/s", "link", NULL},
    {"net.flops", MC_F_FLOPS, AT(flops), "312TFLOPS", 1, INFINITY, "FLOP/s", "peak", NULL},
    {"slo.ttft", MC_F_TIME, AT(ttft), "30s", 0, 1e6, "s", "objective of TTFT", NULL},
    {"run.until", MC_F_TIME, AT(until), "inf", 0, INFINITY, "s", "end", NULL},
    {"trace.path", MC_F_STRING, AT(path), NULL, 0, 0, "", "the trace", NULL},
    {"policy", MC_F_CHOICE, AT(policy), "random", 0, 0, "", "policy", policies},
    {"model", MC_F_JSON, AT(model), "llama3-70b", 0, 0, "", "shape", NULL},
    {"extra", MC_F_JSON, AT(extra), "", 0, 0, "", "free", NULL},
    {0},
};

static void start(struct mc_conf *c, struct thing *t)
{
	struct mc_err e = {0};

	memset(t, 0x5a, sizeof *t);
	ck_assert_msg(mc_conf_init(c, fields, t, &e) == 0, "%s %s", e.key, e.text);
}

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
	char text[64], name[16];

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
			else if (some[i].type != MC_F_JSON && some[i].type != MC_F_BOOL)
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
	TCase *t = tcase_create("conf"), *files = tcase_create("files");

	tcase_add_test(t, defaults);
	tcase_add_test(t, nesting_and_garbage_do_no_harm);
	tcase_add_test(t, mutations_keep_their_place);
	tcase_add_test(t, assignments);
	tcase_add_test(t, dump_round_trip);
	tcase_add_test(t, bad_tables_are_found);
	tcase_add_test(t, help_names_all);
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
