/* mooncake help [TOPIC]: the list of commands, the usage of one, or a page on a topic. */
#include <string.h>

#include "base/suggest.h"
#include "base/vec.h"
#include "cli/command.h"
#include "cluster/metrics.h"
#include "cluster/scenario.h"
#include "out/textfmt.h"
#include "trace/format.h"

static void help_config(void)
{
	printf("A scenario is a JSON object; keys nest by their dots: {\"trace\": {\"path\": ...}}. "
	       "\"base\": \"other.json\" is loaded\n"
	       "first. `--set KEY=VALUE` changes one value. See also: mooncake help units, mooncake config "
	       "show SCENARIO.\n"
	       "A leading ${MOONCAKE_DATA} in trace.path is that environment variable: a folder that "
	       "traces/fetch filled.\n\n");
	mc_conf_help(mc_scenario_fields, stdout);
}

static void show_metric(const struct mc_metric_def *d)
{
	printf("%s%s%s%s\n", d->key, *d->unit ? " (" : "", d->unit, *d->unit ? ")" : "");
	mc_text_wrapped(stdout, d->text, 4, 0);
}

/* Is it this key, or one of that group? */
static bool in_group(const char *key, const char *name)
{
	size_t n = strlen(name);

	return !strncmp(key, name, n) && (!key[n] || key[n] == '.');
}

/* Does it end with that name: "conductor.admission" with admission? */
static bool ends_with(const char *key, const char *name)
{
	const char *dot = strrchr(key, '.');

	return dot && !strcmp(dot + 1, name);
}

/* The keys and the metrics that the name fits; false: there are none. */
static bool help_named(const char *name, bool (*fits)(const char *key, const char *name))
{
	struct {
		MC_VEC(struct mc_field)
	} keys = {0};
	bool some = false;

	for (const struct mc_field *f = mc_scenario_fields; f->key; f++)
		if (fits(f->key, name))
			mc_vec_push(&keys, *f);
	if (keys.n) {
		some = true;
		mc_vec_push(&keys, (struct mc_field){0});
		mc_conf_help(keys.at, stdout);
	}
	mc_vec_fini(&keys);
	for (const struct mc_metric_def *d = mc_metric_defs; d->key; d++) {
		if (!fits(d->key, name))
			continue;
		if (some)
			putchar('\n');
		some = true;
		show_metric(d);
	}
	return some;
}

static void help_metrics(void)
{
	printf("Every metric of a result, by its key in the JSON. Counted are requests that arrived after "
	       "run.warmup.\n\n");
	for (const struct mc_metric_def *d = mc_metric_defs; d->key; d++)
		show_metric(d);
}

static void help_formats(void)
{
	printf("Trace formats; zstd is recognised by content, - is standard input.\n\n");
	for (const struct mc_trace_format *const *p = mc_trace_formats; *p; p++)
		printf("  %-12s %s\n", (*p)->name, (*p)->help);
	printf(
	    "\n"
	    "mooncake: a JSON object a line with timestamp (ms), input_length and output_length (tokens), "
	    "and hash_ids: an id for\n"
	    "each block of trace.block_tokens (512) prompt tokens, the last one partial; equal id, equal "
	    "whole prefix.\n"
	    "Optional are chat_id and parent_chat_id (whose prompt and answer this prompt goes on from), for "
	    "kv.write_back. See\n"
	    "mooncake-trace(5).\n");
}

static void help_units(void)
{
	printf("Values are plain numbers in the base unit, or text with a unit:\n\n"
	       "  times    \"100ms\" \"5us\" \"30s\" \"5min\" \"1h\"; base unit: s. \"inf\" where there is "
	       "no limit\n"
	       "  counts   \"3M\" tokens; K, M, G, T are powers of 1000, Ki, Mi, Gi, Ti powers of 1024\n"
	       "  bytes    \"80GB\" \"64KiB\"\n"
	       "  rates    \"800Gbps\" (bits) \"100GB/s\" (bytes); base unit: bytes/s\n"
	       "  FLOP/s   \"312TFLOPS\"\n");
}

static const struct {
	const char *name, *help;
	void (*show)(void);
} topics[] = {
    {"config", "every key of a scenario: type, default, unit, meaning", help_config},
    {"formats", "trace formats", help_formats},
    {"metrics", "every metric of a result, defined", help_metrics},
    {"units", "how values are written", help_units},
};

#define TOPICS (sizeof topics / sizeof *topics)

static int no_topic(const char *name)
{
	const char *names[64], *near;
	size_t n = 0;

	for (size_t i = 0; i < TOPICS; i++)
		names[n++] = topics[i].name;
	for (const struct mc_command *const *c = mc_commands; *c && n < 63; c++)
		names[n++] = (*c)->name;
	names[n] = NULL;
	near = mc_suggest(name, names);
	return mc_cli_misuse("no help on '%s'%s%s; expected a command or a topic (mooncake help lists all)",
			     name, near ? "; did you mean " : "", near ? near : "");
}

static int help_run(int argc, char **argv)
{
	const struct mc_command *c;

	if (argc < 2) {
		mc_cli_usage(stdout);
		printf("\nTopics, for `mooncake help TOPIC`:\n\n");
		for (size_t i = 0; i < TOPICS; i++)
			printf("  %-10s %s\n", topics[i].name, topics[i].help);
		printf("  %-10s %s\n", "NAME",
		       "keys and metrics of a group (kv, net, cache ...), or one of them");
		return MC_OK;
	}
	/* A topic comes before the command of its name: `config --help` shows that one. */
	for (size_t i = 0; i < TOPICS; i++) {
		if (!strcmp(topics[i].name, argv[1])) {
			topics[i].show();
			return MC_OK;
		}
	}
	c = mc_command_find(argv[1]);
	if (!c && (help_named(argv[1], in_group) || help_named(argv[1], ends_with)))
		return MC_OK;
	if (!c)
		return no_topic(argv[1]);
	fputs(c->usage, stdout);
	return MC_OK;
}

const struct mc_command mc_command_help = {
    .name = "help",
    .help = "this list, or a page on one topic",
    .usage = "usage: mooncake help [COMMAND|config|metrics|formats|units|NAME]\n",
    .run = help_run,
};
