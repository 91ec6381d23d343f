#include "cli/across.h"

#include <stdlib.h>
#include <string.h>

#include "base/str.h"
#include "base/suggest.h"
#include "cli/command.h"

static const struct mc_field *field(const char *key)
{
	for (const struct mc_field *f = mc_scenario_fields; f->key; f++)
		if (!strcmp(f->key, key))
			return f;
	return NULL;
}

static int unknown_setting(const char *command, const char *key)
{
	const char *keys[256], *near;
	size_t n = 0;

	for (const struct mc_field *f = mc_scenario_fields; f->key && n < 255; f++)
		keys[n++] = f->key;
	keys[n] = NULL;
	near = mc_suggest(key, keys);
	if (near)
		return mc_cli_misuse("%s: --across %s: no such setting; did you mean %s?", command, key,
				     near);
	return mc_cli_misuse("%s: --across %s: no such setting; see mooncake help config", command, key);
}

static void add(struct mc_across *a, const char *value)
{
	if (a->n < MC_ACROSS_MAX)
		a->value[a->n++] = mc_xstrdup(value);
}

int mc_across_parse(struct mc_across *a, const char *command, const char *text)
{
	const struct mc_field *f;
	char *list;

	*a = (struct mc_across){.key = mc_xstrdup(text)};
	list = strchr(a->key, '=');
	if (list)
		*list++ = 0;
	f = field(a->key);
	if (!f)
		return unknown_setting(command, a->key);
	if (!list && !f->choices && f->type != MC_F_BOOL)
		return mc_cli_misuse("%s: --across %s: has no list of choices; expected %s=VALUE,VALUE...",
				     command, f->key, f->key);
	if (list) {
		for (char *v = strtok(list, ","); v; v = strtok(NULL, ","))
			add(a, v);
	} else if (f->choices) {
		for (const char *const *v = f->choices(); *v; v++)
			add(a, *v);
	} else {
		add(a, "false");
		add(a, "true");
	}
	if (!a->n)
		return mc_cli_misuse("%s: --across %s=: expected values", command, f->key);
	return MC_OK;
}

void mc_across_fini(struct mc_across *a)
{
	for (size_t i = 0; i < a->n; i++)
		free(a->value[i]);
	free(a->key);
}

void mc_across_push(struct mc_across *a, size_t i, struct mc_setup *setup)
{
	snprintf(a->setting, sizeof a->setting, "%s=%s", a->key, a->value[i]);
	mc_vec_push(&setup->set, a->setting);
}
