/*
 * A Conductor that learns late (conductor.staleness). What nodes do is written down in order as it happens,
 * and becomes part of the view that much later, before the next decision: when prefill instances expect to be
 * free, KV that has come to decode nodes, requests that have ended there, sends and reads, and all that pools
 * hold, which a second prefix tree follows (kv/mirror.h). What the Conductor decides itself it knows at once,
 * until the report comes that was made with it done: so the view is that of then, and its own placements
 * since.
 *
 * When it places by what is not so any more, the node finds out as it tries (face.c).
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/state.h"
#include "kv/heat.h"
#include "kv/mirror.h"
#include "sched/replicate.h"

enum what {
	NOTHING, /* it was heard before its time */
	FREE_AT,
	CHANGE,
	DECODE,
	ADMIT,
	NEWS,
};

struct report {
	mc_time at;
	enum what what;
	uint32_t node; /* of the tree */
	union {
		struct {
			mc_time at;
			uint64_t given; /* placements that it was given up to then */
			mc_time late;
		} free;
		struct mc_node_change change;
		struct {
			int64_t request;
			uint32_t instance;
			struct mc_decode_change by;
		} decode;
		struct mc_admit_news admit;
		struct {
			enum mc_news_of of;
			uint32_t depth, n;
			uint64_t *id;
		} news;
	};
};

/* A placement that no report covers yet. */
struct given {
	mc_time at, takes; /* predicted occupancy of the instance */
	const uint64_t *id;
	uint32_t n;    /* blocks that it will hold, as the Conductor thinks */
	uint32_t kept; /* those that it did hold when it was given the prompt */
};

/* What is known of a prefill instance. */
struct known {
	struct {
		MC_VEC(struct given)
	} given;
	size_t head;      /* of `given`: the first that is not covered */
	uint64_t covered; /* placements ever */
	mc_time free_at;  /* as it was reported last */
	bool dirty;
};

/* A copy of the replication policy that has ended. */
struct moved {
	mc_time at;
	struct mc_replica_move move;
};

struct mc_stale {
	mc_time late;
	struct mc_tree *mirror;
	struct {
		MC_VEC(struct report)
	} log;
	size_t head;      /* of `log`: what is before it was heard */
	uint64_t unheard; /* of the rest */
	struct known *prefill;
	struct {
		MC_VEC(uint32_t)
	} dirty; /* instances whose free_at is to be worked out again */
	struct {
		MC_VEC(struct moved)
	} moved;
};

static void report_fini(struct report *r)
{
	if (r->what == NEWS)
		free(r->news.id);
	if (r->what == ADMIT)
		mc_cluster_admit_forget(r->admit.expected);
	r->what = NOTHING;
}

void mc_cluster_stale_fini(struct mc_cluster *c)
{
	struct mc_stale *s = c->stale;

	if (!s)
		return;
	for (size_t k = s->head; k < s->log.n; k++)
		report_fini(&s->log.at[k]);
	mc_vec_fini(&s->log);
	for (uint32_t i = 0; i < c->view.n_prefill; i++)
		mc_vec_fini(&s->prefill[i].given);
	free(s->prefill);
	mc_tree_free(s->mirror);
	mc_vec_fini(&s->dirty);
	mc_vec_fini(&s->moved);
	free(s);
}

static void tell(struct mc_cluster *c, const struct report *r)
{
	struct mc_stale *s = c->stale;

	if (s->log.n == s->log.cap &&
	    s->head > s->log.n / 2) { /* what was heard makes room before there is more */
		memmove(s->log.at, s->log.at + s->head, (s->log.n - s->head) * sizeof *s->log.at);
		s->log.n -= s->head;
		s->head = 0;
	}
	s->unheard++;
	mc_vec_push(&s->log, *r);
	s->log.at[s->log.n - 1].at = c->loop.now;
}

static void listener(void *cluster, const struct mc_news *news)
{
	struct mc_cluster *c = cluster;
	struct report r = {.what = NEWS, .node = news->node, .news = {.of = news->of, .depth = news->depth}};

	if (news->of != MC_NEWS_CLEARED) {
		r.news.n = mc_tree_first(c->tree, news->run) + mc_tree_length(c->tree, news->run);
		r.news.id = mc_xmalloc(r.news.n * sizeof *r.news.id);
		mc_tree_chain(c->tree, news->run, r.news.id);
	}
	tell(c, &r);
}

void mc_cluster_stale_init(struct mc_cluster *c)
{
	struct mc_stale *s;

	if (!c->scenario->conductor.staleness)
		return;
	c->stale = s = mc_xcalloc(1, sizeof *s);
	s->late = c->scenario->conductor.staleness;
	s->mirror = mc_tree_new();
	mc_tree_groups(s->mirror, c->view.n_prefill, c->view.n_prefill + c->view.n_decode);
	mc_tree_listen(c->tree, listener, c);
	c->known = s->mirror;
	c->view.tree = s->mirror;
	s->prefill = mc_xcalloc(c->view.n_prefill, sizeof *s->prefill);
	for (uint32_t i = 0; i < c->view.n_prefill; i++)
		s->prefill[i].free_at = c->view.prefill[i].free_at;
}

/* Of a chain that the node no longer holds from some block on: as far as the instance was told, in placements
 * that are not covered, to hold it (again). */
static uint32_t promised(const struct mc_cluster *c, const struct mc_chain *chain, uint32_t from)
{
	const struct known *k = chain->node < c->view.n_prefill ? &c->stale->prefill[chain->node] : NULL;
	uint32_t most = from;

	for (size_t i = k ? k->head : 0; k && i < k->given.n; i++) {
		const struct given *g = &k->given.at[i];
		uint32_t n = from;

		while (n < g->n && n < chain->n && g->id[n] == chain->id[n])
			n++;
		most = n > most ? n : most;
	}
	return most;
}

static void cut(struct mc_cluster *c, const struct mc_chain *chain, uint32_t depth)
{
	mc_mirror_cut(c->stale->mirror, chain, depth, promised(c, chain, depth));
}

static void hear_news(struct mc_cluster *c, const struct report *r)
{
	struct mc_tree *t = c->stale->mirror;
	struct mc_chain chain = {r->node, r->news.id, r->news.depth};

	if (r->news.of == MC_NEWS_HELD)
		mc_mirror_hold(t, &chain);
	else if (r->news.of == MC_NEWS_RESIDENT)
		mc_mirror_have(t, &chain);
	else if (r->news.of == MC_NEWS_CLEARED)
		mc_mirror_clear(t, r->node);
	chain.n = r->news.n;
	if (r->news.of == MC_NEWS_CUT)
		cut(c, &chain, r->news.depth);
}

static void make_dirty(struct mc_stale *s, uint32_t i)
{
	if (!s->prefill[i].dirty)
		mc_vec_push(&s->dirty, i);
	s->prefill[i].dirty = true;
}

static void hear_free_at(struct mc_cluster *c, const struct report *r)
{
	struct known *k = &c->stale->prefill[r->node];

	k->free_at = r->free.at;
	c->view.prefill[r->node].late = r->free.late;
	for (; k->covered < r->free.given; k->covered++) {
		struct given g = k->given.at[k->head++];

		if (g.kept < g.n) /* there was no room for the rest */
			cut(c, &(struct mc_chain){r->node, g.id, g.n}, g.kept);
	}
	if (k->head == k->given.n)
		k->head = k->given.n = 0;
	make_dirty(c->stale, r->node);
}

static void change(struct mc_cluster *c, uint32_t node, const struct mc_node_change *by)
{
	struct mc_view_node *n = &c->view.node[node];

	n->sends += (uint32_t)by->sends;
	n->streams += (uint32_t)by->streams;
	n->reads += (uint32_t)by->reads;
	n->stream_bytes_per_s += by->stream_bytes_per_s;
}

static void change_decode(struct mc_cluster *c, uint32_t decode, int64_t request,
			  const struct mc_decode_change *by)
{
	struct mc_prompt prompt = mc_cluster_prompt(c, &c->result->row[request]);

	if (by->running)
		mc_view_decode_run(&c->view, decode, &prompt, by->running);
	if (by->announced)
		mc_view_decode_announce(&c->view, decode, &prompt, by->announced);
	if (by->assigned)
		mc_view_decode_add(&c->view, decode, by->assigned, by->assigned * (int64_t)prompt.tokens);
}

static void hear(struct mc_cluster *c, struct report *r)
{
	if (r->what == FREE_AT)
		hear_free_at(c, r);
	else if (r->what == CHANGE)
		change(c, r->node, &r->change);
	else if (r->what == DECODE)
		change_decode(c, r->decode.instance, r->decode.request, &r->decode.by);
	else if (r->what == ADMIT)
		mc_cluster_admit_hear(c, &r->admit);
	else if (r->what == NEWS)
		hear_news(c, r);
	c->stale->unheard -= r->what != NOTHING;
	report_fini(r);
}

/* The report, and what was given since, each behind the one before it. */
static void work_out(struct mc_cluster *c, uint32_t i)
{
	struct known *k = &c->stale->prefill[i];
	mc_time t = k->free_at;

	for (size_t g = k->head; g < k->given.n; g++)
		t = (t > k->given.at[g].at ? t : k->given.at[g].at) + k->given.at[g].takes;
	mc_view_prefill_set(&c->view, i, t);
	k->dirty = false;
}

static void work_out_all(struct mc_cluster *c)
{
	struct mc_stale *s = c->stale;

	for (size_t k = 0; k < s->dirty.n; k++)
		work_out(c, s->dirty.at[k]);
	s->dirty.n = 0;
}

void mc_cluster_look(struct mc_cluster *c)
{
	struct mc_stale *s = c->stale;

	c->view.now = c->loop.now;
	if (!s)
		return;
	for (; s->head < s->log.n && c->loop.now - s->log.at[s->head].at >= s->late; s->head++)
		hear(c, &s->log.at[s->head]);
	work_out_all(c);
}

void mc_cluster_hear(struct mc_cluster *c, uint32_t node)
{
	struct mc_stale *s = c->stale;

	for (size_t k = s ? s->head : 0; s && k < s->log.n; k++)
		if (node == MC_NONE || mc_view_home(&c->view, s->log.at[k].node) == node)
			hear(c, &s->log.at[k]);
	if (s)
		work_out_all(c);
}

void mc_cluster_report(struct mc_cluster *c, uint32_t i)
{
	mc_time free_at =
	    c->coupled ? mc_coupled_free_at(&c->coupled[i]) : mc_prefill_free_at(&c->prefill[i]);
	mc_time late = c->coupled ? 0 : mc_prefill_late(&c->prefill[i]);

	c->view.now = c->loop.now;
	if (c->stale) {
		const struct known *k = &c->stale->prefill[i];

		tell(c, &(struct report){.what = FREE_AT,
					 .node = i,
					 .free = {free_at, k->covered + k->given.n - k->head, late}});
	} else {
		mc_view_prefill_set(&c->view, i, free_at);
		c->view.prefill[i].late = late;
	}
}

void mc_cluster_report_change(struct mc_cluster *c, uint32_t node, const struct mc_node_change *by)
{
	if (c->stale)
		tell(c, &(struct report){.what = CHANGE, .node = node, .change = *by});
	else
		change(c, node, by);
}

void mc_cluster_report_decode(struct mc_cluster *c, const struct mc_row *row,
			      const struct mc_decode_change *by)
{
	int64_t request = row - c->result->row;
	struct report r = {.what = DECODE,
			   .node = mc_view_decode_node(&c->view, row->decode),
			   .decode = {request, row->decode, *by}};

	if (c->stale)
		tell(c, &r);
	else
		change_decode(c, row->decode, request, by);
}

void mc_cluster_report_admit(struct mc_cluster *c, uint32_t node, const struct mc_admit_news *news)
{
	if (c->stale) {
		tell(c, &(struct report){.what = ADMIT, .node = node, .admit = *news});
		return;
	}
	mc_cluster_admit_hear(c, news);
	mc_cluster_admit_forget(news->expected);
}

void mc_cluster_stale_given(struct mc_cluster *c, const struct mc_prompt *prompt,
			    const struct mc_score *placed, uint32_t held)
{
	struct known *k = &c->stale->prefill[placed->prefill];
	uint32_t hit = mc_view_hit_tokens(&c->view, prompt, placed->hit);
	struct given g = {.at = c->loop.now,
			  .takes = mc_view_prefill_occupancy(&c->view, prompt->tokens, hit),
			  .id = prompt->block,
			  .n = c->coupled ? 0 : prompt->n_blocks, /* they promise nothing before they start */
			  .kept = held};

	if (k->given.n == k->given.cap && k->head > k->given.n / 2) {
		memmove(k->given.at, k->given.at + k->head, (k->given.n - k->head) * sizeof g);
		k->given.n -= k->head;
		k->head = 0;
	}
	mc_vec_push(&k->given, g);
	if (g.n)
		mc_mirror_hold(c->stale->mirror, &(struct mc_chain){placed->prefill, g.id, g.n});
	work_out(c, placed->prefill);
}

void mc_cluster_stale_kept(struct mc_cluster *c, uint32_t prefill, uint32_t held)
{
	struct known *k = &c->stale->prefill[prefill];
	struct given *g = &k->given.at[k->given.n - 1];

	g->kept = held > g->kept ? held : g->kept;
}

void mc_cluster_stale_moved(struct mc_cluster *c, const struct mc_replica_move *move)
{
	if (c->stale)
		mc_vec_push(&c->stale->moved, ((struct moved){c->loop.now, *move}));
}

void mc_cluster_stale_moves(struct mc_cluster *c, struct mc_replica_moves *out)
{
	struct mc_stale *s = c->stale;
	size_t kept = 0;

	for (size_t k = 0; s && k < s->moved.n; k++) {
		if (c->loop.now - s->moved.at[k].at >= s->late)
			continue;
		mc_vec_push(out, s->moved.at[k].move);
		s->moved.at[kept++] = s->moved.at[k];
	}
	if (s)
		s->moved.n = kept;
}

/* Is all that one tree says of its chains what the other one says? */
static bool agree(const struct mc_tree *a, const struct mc_tree *b)
{
	struct {
		MC_VEC(uint64_t)
	} id = {0};
	struct {
		MC_VEC(struct mc_step)
	} way = {0};
	bool same = true;

	for (uint32_t r = mc_tree_next(a, MC_NONE); r != MC_NONE && same; r = mc_tree_next(a, r)) {
		uint32_t first = mc_tree_first(a, r), n = first + mc_tree_length(a, r), copies, steps;
		const struct mc_copy *copy = mc_tree_copies(a, r, &copies);

		mc_vec_reserve(&id, n);
		mc_vec_reserve(&way, n);
		mc_tree_chain(a, r, id.at);
		steps = mc_tree_trail(b, id.at, n, way.at);
		for (uint32_t k = 0; k < copies; k++) {
			uint32_t has = mc_tree_match_resident(b, way.at, steps, copy[k].node);

			same &= mc_tree_match(b, way.at, steps, copy[k].node) == first + copy[k].held &&
				(copy[k].resident ? has == first + copy[k].resident : has <= first);
		}
	}
	mc_vec_fini(&id);
	mc_vec_fini(&way);
	return same;
}

const char *mc_cluster_stale_check(struct mc_cluster *c)
{
	struct mc_stale *s = c->stale;

	if (!s)
		return NULL;
	if (mc_tree_check(s->mirror, c->err))
		return "the prefix tree of the Conductor is broken";
	if (s->unheard)
		return NULL;
	if (!agree(c->tree, s->mirror) || !agree(s->mirror, c->tree))
		return "the Conductor has heard all, and takes pools for what they are not";
	for (uint32_t i = 0; i < c->view.n_prefill; i++)
		if (c->view.prefill[i].free_at != s->prefill[i].free_at || s->prefill[i].given.n)
			return "the Conductor has heard all, and expects a prefill to end that did";
	return NULL;
}
