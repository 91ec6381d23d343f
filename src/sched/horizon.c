#include "sched/horizon.h"

#include <stdlib.h>

#define FAR (MC_TIME_MAX / 2) /* joins + stays never passes MC_TIME_MAX */

struct mc_horizon *mc_horizon_new(uint32_t n_decode)
{
	struct mc_horizon *h = mc_xcalloc(1, sizeof *h);

	h->n = n_decode;
	h->at = mc_xcalloc(n_decode, sizeof *h->at);
	for (uint32_t i = 0; i < n_decode; i++) {
		mc_tally_init(&h->at[i].starts);
		mc_tally_init(&h->at[i].joins);
		mc_tally_init(&h->at[i].leaves);
	}
	return h;
}

void mc_horizon_free(struct mc_horizon *h)
{
	if (!h)
		return;
	for (uint32_t i = 0; i < h->n; i++) {
		mc_tally_fini(&h->at[i].starts);
		mc_tally_fini(&h->at[i].joins);
		mc_tally_fini(&h->at[i].leaves);
	}
	free(h->at);
	free(h);
}

/* How long that many tokens take; before anything has ended nobody leaves. */
static mc_time stays(const struct mc_horizon *h, uint32_t tokens)
{
	double s = h->token_sum ? (double)tokens * ((double)h->stay_sum / 1e9) / (double)h->token_sum : 0;

	return tokens && h->token_sum && s < mc_time_to_s(FAR) ? mc_time_from_s(s) : FAR;
}

static mc_time near(mc_time t)
{
	return t < FAR ? t : FAR;
}

static void place(struct mc_horizon *h, struct mc_horizon_entry *e)
{
	struct mc_horizon_instance *d = &h->at[e->decode];

	e->start = mc_tally_add(&d->starts, near(e->starts), &e->weight);
	e->join = mc_tally_add(&d->joins, near(e->joins), &e->weight);
	e->leave = mc_tally_add(&d->leaves, near(e->joins) + e->stays, &e->weight);
}

void mc_horizon_add(struct mc_horizon *h, struct mc_horizon_entry *e, const struct mc_prompt *p,
		    uint32_t tokens)
{
	e->weight = (struct mc_tally_sum){1, p->tokens, mc_prompt_kv(p)};
	e->stays = stays(h, tokens);
	place(h, e);
}

void mc_horizon_remove(struct mc_horizon *h, struct mc_horizon_entry *e)
{
	struct mc_horizon_instance *d = &h->at[e->decode];

	if (!e->join)
		return;
	mc_tally_remove(&d->starts, e->start);
	mc_tally_remove(&d->joins, e->join);
	mc_tally_remove(&d->leaves, e->leave);
	e->start = e->join = e->leave = 0;
}

void mc_horizon_move(struct mc_horizon *h, struct mc_horizon_entry *e, mc_time starts, mc_time joins)
{
	if (!e->join)
		return;
	mc_horizon_remove(h, e);
	e->starts = starts;
	e->joins = joins;
	place(h, e);
}

void mc_horizon_rehome(struct mc_horizon *h, struct mc_horizon_entry *e, uint32_t decode)
{
	mc_horizon_remove(h, e);
	e->decode = decode;
	place(h, e);
}

void mc_horizon_note(struct mc_horizon *h, mc_time stay, int64_t tokens)
{
	size_t i = h->ended++ % MC_HORIZON_WINDOW;

	h->stay_sum += stay - h->last[i].stay;
	h->token_sum += tokens - h->last[i].tokens;
	h->last[i].stay = stay;
	h->last[i].tokens = tokens;
}

mc_time mc_horizon_stay(const struct mc_horizon *h)
{
	mc_time n = h->ended < MC_HORIZON_WINDOW ? (mc_time)h->ended : MC_HORIZON_WINDOW;

	return n ? (mc_time)(h->stay_sum / n) : MC_TIME_MAX;
}

/* Those that start and join by then, without those that are gone. */
static struct mc_tally_sum present(const struct mc_horizon_instance *d, mc_time starts, mc_time joins,
				   struct mc_tally_sum gone)
{
	struct mc_tally_sum in = mc_tally_until(&d->joins, joins);

	in.kv = mc_tally_until(&d->starts, starts).kv;
	return (struct mc_tally_sum){in.n - gone.n, in.context - gone.context,
				     in.kv > gone.kv ? in.kv - gone.kv : 0};
}

struct mc_tally_sum mc_horizon_by_age(const struct mc_horizon *h, uint32_t decode, mc_time starts,
				      mc_time joins)
{
	const struct mc_horizon_instance *d = &h->at[decode];

	return present(d, starts, joins, mc_tally_until(&d->joins, joins - mc_horizon_stay(h)));
}

struct mc_tally_sum mc_horizon_by_length(const struct mc_horizon *h, uint32_t decode, mc_time starts,
					 mc_time joins)
{
	const struct mc_horizon_instance *d = &h->at[decode];

	return present(d, starts, joins, mc_tally_until(&d->leaves, joins));
}
