/* Turns of conversations: read, cut, re-blocked and written; and the blocks of answers against their texts.
 */
#include "unit.h"

#include "fixture.h"
#include "trace/reader.h"
#include "trace/reshape.h"
#include "trace/stats.h"
#include "trace/turns.h"
#include "trace/write.h"
#include "trace_unit.h"

#define LINE(ms, in, out, ids, more)                                                                         \
	"{\"timestamp\": " #ms ", \"input_length\": " #in ", \"output_length\": " #out                       \
	", \"hash_ids\": " ids more "}\n"
#define CHAT(id, parent) ", \"chat_id\": " #id ", \"parent_chat_id\": " #parent

static void read_text(const char *text, struct mc_trace_params *p, struct mc_trace *t)
{
	struct trace_file f;
	struct mc_err err = {0};

	trace_file_text(&f, text);
	p->path = f.path;
	ck_assert_msg(!mc_trace_read(t, p, &err), "%s", err.text);
	unlink(f.path);
}

/* Of equal ids the latest counts; one that is not above, or comes later, is nobody. */
START_TEST(parents_are_above)
{
	static const char text[] = LINE(0, 8, 4, "[1, 2]", CHAT(50, -1)) LINE(1, 8, 4, "[3, 4]", "")
	    LINE(2, 20, 4, "[1, 2, 5, 6, 7]", CHAT(9, 50)) LINE(3, 8, 4, "[1, 8]", CHAT(50, 77))
		LINE(4, 8, 4, "[1, 9]", CHAT(0, 50)) LINE(5, 8, 4, "[1, 10]", ", \"parent_chat_id\": 0")
		    LINE(6, 8, 4, "[1, 11]", CHAT(4, 4));
	static const int64_t want[] = {-1, -1, 0, -1, 3, 4, -1};
	struct mc_trace_params p = MC_TRACE_PARAMS_DEFAULT;
	struct mc_trace t, again;
	struct mc_err err = {0};

	p.block_tokens = 4;
	read_text(text, &p, &t);
	ck_assert_int_eq(t.n, 7);
	for (int i = 0; i < 7; i++)
		ck_assert_int_eq(t.parent[i], want[i]);
	ck_assert_int_eq(mc_trace_write(&t, "turns_test.jsonl", NULL, &err), 0);
	p.path = "turns_test.jsonl";
	ck_assert_int_eq(mc_trace_read(&again, &p, &err), 0);
	unlink("turns_test.jsonl");
	ck_assert_uint_eq(again.fingerprint, t.fingerprint);
	mc_trace_fini(&again);
	/* The first two rows go, with the parent of the third. */
	ck_assert_int_eq(mc_trace_cut(&t, 2 * MC_NS_PER_MS, 3, &err), 0);
	ck_assert_int_eq(t.n, 3);
	ck_assert_int_eq(t.parent[0], -1);
	ck_assert_int_eq(t.parent[1], -1);
	ck_assert_int_eq(t.parent[2], 1);
	ck_assert_int_eq(mc_trace_cut(&t, 2 * MC_NS_PER_MS, 0, &err), 0);
	ck_assert_ptr_null(t.parent);
	ck_assert_ptr_null(mc_trace_turns(&t));
	mc_trace_fini(&t);
}
END_TEST

/* Without a parent that is there, nothing is allocated, and the fingerprint is that of a trace without ids of
 * chats. */
START_TEST(no_parents)
{
	struct mc_trace_params p = MC_TRACE_PARAMS_DEFAULT;
	struct mc_trace a, b;

	p.block_tokens = 4;
	read_text(LINE(0, 8, 4, "[1, 2]", "") LINE(1, 8, 4, "[3, 4]", ""), &p, &a);
	read_text(LINE(0, 8, 4, "[1, 2]", CHAT(5, -1)) LINE(1, 8, 4, "[3, 4]", CHAT(6, 7)), &p, &b);
	ck_assert_ptr_null(a.parent);
	ck_assert_ptr_null(b.parent);
	ck_assert_uint_eq(a.fingerprint, b.fingerprint);
	mc_trace_fini(&a);
	mc_trace_fini(&b);
}
END_TEST

#define TEXT 160 /* tokens */

/* Conversations as texts: the oracle knows every token. */
struct text {
	uint16_t token[TEXT];
	uint32_t input, output;
	int64_t parent;
};

static void extend(struct text *x, const struct text *from, uint64_t *r)
{
	uint32_t n = from->input + from->output;

	*x = *from;
	if (!draw(r, 5)) /* the answer was not kept whole */
		n = (uint32_t)draw(r, n) + 1;
	if (!draw(r, 5)) /* the user went back and changed the prompt */
		x->token[draw(r, from->input)] ^= 0x800;
	x->input = n + (uint32_t)draw(r, 12);
}

static void make(struct text *x, int n, uint64_t *r)
{
	for (int i = 0; i < n; i++) {
		int64_t parent = i && draw(r, 4) ? (int64_t)draw(r, (uint64_t)i) : -1;

		if (parent >= 0 && x[parent].input + x[parent].output < TEXT - 40) {
			extend(&x[i], &x[parent], r);
			x[i].parent = parent;
		} else {
			x[i] = (struct text){.input = 1 + (uint32_t)draw(r, 40), .parent = -1};
			memset(x[i].token, 0, sizeof x[i].token);
		}
		x[i].output = (uint32_t)draw(r, 24);
		for (uint32_t k = x[i].parent < 0 ? 0 : x[parent].input + x[parent].output; k < TEXT; k++)
			x[i].token[k] = (uint16_t)draw(r, 0x400);
	}
}

/* Ids of blocks of `size` tokens: whole ones name their text, a partial one the whole prompt. */
static void push(struct mc_trace *t, const struct text *x, uint32_t size)
{
	uint64_t id[TEXT], h = 0;
	uint32_t n = 0;

	for (uint32_t k = 0; k < x->input; k++) {
		h = mc_hash_pair(h, x->token[k]);
		if ((k + 1) % size == 0 || k + 1 == x->input)
			id[n++] = k + 1 < x->input || x->input % size == 0 ? h : mc_hash_pair(h, 12345);
	}
	mc_trace_push(t, t->n, x->input, x->output, id);
	if (x->parent >= 0)
		mc_trace_set_parent(t, x->parent);
}

/* What blocks of `size` must be: the request's KV ends before its last token. */
static void check_turn(const struct text *x, int n, int i, const struct mc_trace *t,
		       const struct mc_trace_turn *turn)
{
	uint32_t size = (uint32_t)t->block_tokens, named = 0,
		 kv = x[i].input + x[i].output - (x[i].output > 0);
	int child = i + 1;
	bool begins;

	while (child < n && x[child].parent != i)
		child++;
	if (child == n) {
		ck_assert_int_eq(turn->next, -1);
		return;
	}
	begins = x[child].input >= x[i].input + x[i].output;
	/* What lies in a partial block of the trace, ids cannot tell. */
	for (uint32_t k = 0; k < x[i].input / (uint32_t)t->id_tokens * (uint32_t)t->id_tokens; k++)
		begins = begins && (k >= x[i].input / size * size || x[child].token[k] == x[i].token[k]);
	while (begins && named < mc_trace_blocks(t, i) && named < mc_trace_blocks(t, child) &&
	       t->block[t->first[i] + named] == t->block[t->first[child] + named])
		named++;
	if (!begins || named >= kv / size) {
		ck_assert_int_eq(turn->next, -1);
		return;
	}
	ck_assert_int_eq(turn->next, child);
	ck_assert_uint_eq(turn->from, named);
	ck_assert_uint_eq(turn->to, kv / size);
	ck_assert_uint_le(turn->to, mc_trace_blocks(t, child));
}

START_TEST(blocks_of_answers)
{
	static const int64_t to[] = {8, 4, 2, 1, 16, 32};
	uint64_t r = (uint64_t)_i + 1;
	struct text x[40];

	make(x, 40, &r);
	for (size_t k = 0; k < sizeof to / sizeof *to; k++) {
		struct mc_trace_turn *turn;
		struct mc_trace t;

		mc_trace_init(&t, 8);
		for (int i = 0; i < 40; i++)
			push(&t, &x[i], 8);
		if (draw(&r, 2))
			mc_trace_chain(&t);
		ck_assert_int_eq(mc_trace_reblock(&t, to[k], NULL), 0);
		turn = mc_trace_turns(&t);
		for (int i = 0; turn && i < 40; i++)
			check_turn(x, 40, i, &t, &turn[i]);
		ck_assert(turn);
		free(turn);
		mc_trace_fini(&t);
	}
}
END_TEST

/* A: 10 tokens and 7 more, of which 6 have KV: blocks [2, 4) of 4 tokens each. */
START_TEST(ceiling_by_hand)
{
	static const char text[] =
	    LINE(0, 10, 7, "[1, 2, 3]", CHAT(1, -1)) LINE(1, 18, 1, "[1, 2, 4, 5, 6]", CHAT(2, 1))
		LINE(2, 10, 7, "[1, 2, 3]", CHAT(3, -1)) LINE(3, 16, 1, "[1, 2, 4, 7]", CHAT(4, 3));
	struct mc_trace_params p = MC_TRACE_PARAMS_DEFAULT;
	struct mc_trace_numbers numbers;
	struct mc_trace_stats s;
	struct mc_trace t;

	p.block_tokens = 4;
	read_text(text, &p, &t);
	mc_trace_numbers_init(&numbers, &t);
	mc_trace_stats_compute(&t, &numbers, &s);
	ck_assert_int_eq(s.children, 2);
	ck_assert_int_eq(s.continued, 1); /* 16 tokens cannot hold 10 and 7 */
	ck_assert_uint_eq(s.hit_blocks, 0 + 2 + 3 + 3);
	ck_assert_uint_eq(s.hit_tokens, 0 + 8 + 10 + 12);
	ck_assert_uint_eq(s.kept_blocks, 0 + 4 + 3 + 3);
	ck_assert_uint_eq(s.kept_tokens, 0 + 16 + 10 + 12);
	mc_trace_numbers_fini(&numbers);
	mc_trace_fini(&t);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("turns");
	TCase *t = tcase_create("turns");

	tcase_add_test(t, parents_are_above);
	tcase_add_test(t, no_parents);
	tcase_add_loop_test(t, blocks_of_answers, 0, 50);
	tcase_add_test(t, ceiling_by_hand);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
