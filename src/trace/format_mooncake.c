/* Mooncake's JSON lines (FAST'25 release): timestamp (ms), input_length, output_length (tokens), hash_ids. */
#include "config.h"

#include <string.h>

#include "base/map.h"
#include "trace/format.h"
#include "trace/mooncake.h"

struct state {
	int64_t block_tokens;
	struct mc_mooncake_record record;
	bool any;      /* a record was accepted */
	mc_time first; /* timestamp of the first one: time 0 */
	mc_time last;
	uint64_t *table; /* of a request's ids, when they do not rise: open addressing, stamped */
	uint64_t *stamp, round;
	size_t mask;
	struct mc_map chat; /* rows by chat_id, the latest of each */
};

static int sniff(const char *line, size_t n)
{
	size_t at = 0;

	while (at < n && (line[at] == ' ' || line[at] == '\t'))
		at++;
	if (at == n || line[at] != '{')
		return 0;
	return memmem(line, n, "\"hash_ids\"", 10) ? 100 : 20;
}

static void *open_state(const struct mc_trace_params *params)
{
	struct state *s = mc_xcalloc(1, sizeof *s);

	s->block_tokens = params->block_tokens;
	return s;
}

static void close_state(void *state)
{
	struct state *s = state;

	mc_vec_fini(&s->record.ids);
	free(s->table);
	free(s->stamp);
	mc_map_fini(&s->chat);
	free(s);
}

/* Index of an id that came before in the request, or ids->n. */
static size_t repeated(struct state *s, const struct mc_mooncake_ids *ids)
{
	size_t rising = 1;

	while (rising < ids->n && ids->at[rising] > ids->at[rising - 1])
		rising++;
	if (rising >= ids->n)
		return ids->n;
	if (!s->table || s->mask < 2 * ids->n) {
		size_t cap = 256;

		while (cap <= 2 * ids->n)
			cap *= 2;
		free(s->table);
		free(s->stamp);
		s->table = mc_xcalloc(cap, sizeof *s->table);
		s->stamp = mc_xcalloc(cap, sizeof *s->stamp);
		s->mask = cap - 1;
		s->round = 0;
	}
	s->round++;
	for (size_t i = 0; i < ids->n; i++) {
		size_t at = mc_hash_u64(ids->at[i]) & s->mask;

		for (; s->stamp[at] == s->round; at = (at + 1) & s->mask)
			if (s->table[at] == ids->at[i])
				return i;
		s->stamp[at] = s->round;
		s->table[at] = ids->at[i];
	}
	return ids->n;
}

static int refuse(struct mc_err *err, const char *key)
{
	mc_err_at(err, NULL, 0, 0, key);
	return MC_USAGE;
}

/* What holds between the fields, and with the record before. */
static int check(struct state *s, struct mc_err *err)
{
	const struct mc_mooncake_record *r = &s->record;
	int64_t blocks;
	size_t twice;

	if (r->input < 1 || r->input > UINT32_MAX) {
		mc_err_set(err, MC_USAGE, "is %lld; expected 1 to 2^32 - 1 tokens", (long long)r->input);
		return refuse(err, "input_length");
	}
	if (r->output > UINT32_MAX) {
		mc_err_set(err, MC_USAGE, "is %lld; expected 0 to 2^32 - 1 tokens", (long long)r->output);
		return refuse(err, "output_length");
	}
	if (s->any && r->timestamp < s->last) {
		mc_err_set(err, MC_USAGE,
			   "steps back from %.17g to %.17g ms; expected no earlier than the record before",
			   (double)s->last / 1e6, (double)r->timestamp / 1e6);
		return refuse(err, "timestamp");
	}
	blocks = (r->input + s->block_tokens - 1) / s->block_tokens;
	if (r->ids.n != (size_t)blocks) {
		mc_err_set(err, MC_USAGE, "has %zu ids; expected %lld, one for every %lld of %lld tokens",
			   r->ids.n, (long long)blocks, (long long)s->block_tokens, (long long)r->input);
		return refuse(err, "hash_ids");
	}
	twice = repeated(s, &r->ids);
	if (twice < r->ids.n) {
		mc_err_set(
		    err, MC_USAGE,
		    "id %llu comes twice, again as number %zu; expected ids of prefixes, all different",
		    (unsigned long long)r->ids.at[twice], twice + 1);
		return refuse(err, "hash_ids");
	}
	return 0;
}

/* The parent is looked for among those above: an id that comes again means the latest of them. */
static void note_chat(struct state *s, struct mc_trace *t)
{
	const struct mc_mooncake_record *r = &s->record;
	uint32_t parent = r->parent < 0 ? MC_MAP_NONE : mc_map_get(&s->chat, (uint64_t)r->parent);

	if (parent != MC_MAP_NONE)
		mc_trace_set_parent(t, parent);
	if (r->chat >= 0 && t->n <= MC_MAP_NONE)
		mc_map_put(&s->chat, (uint64_t)r->chat, (uint32_t)(t->n - 1));
}

static int line(void *state, const char *text, size_t n, struct mc_trace *t, struct mc_err *err)
{
	struct state *s = state;
	struct mc_mooncake_record *r = &s->record;

	if (!mc_mooncake_scan(text, n, r) && mc_mooncake_parse(text, n, r, err))
		return MC_USAGE;
	if (check(s, err))
		return MC_USAGE;
	if (!s->any) {
		s->any = true;
		s->first = r->timestamp;
	}
	s->last = r->timestamp;
	mc_trace_push(t, r->timestamp - s->first, (uint32_t)r->input, (uint32_t)r->output, r->ids.at);
	note_chat(s, t);
	return 0;
}

const struct mc_trace_format mc_trace_format_mooncake = {
    .name = "mooncake",
    .help = "JSON lines: timestamp (ms), input_length, output_length (tokens), hash_ids (prefix-chained "
	    "block ids)",
    .sniff = sniff,
    .open = open_state,
    .line = line,
    .close = close_state,
};
