/*
 * Who will decode at a later moment: what admission by prediction asks. Every request is in it from its
 * dispatch to its last token, under its decode instance, by the times at which its prefill starts (it takes
 * room there from then on) and ends (it joins decode): as predicted, then as they were. How long requests
 * stay is measured on those that have ended.
 *
 * Two answers for an instance and a time t (report, section 7.4):
 * - by age: all that have joined by t, but for those that joined t_d or longer before it, t_d being the mean
 *   stay of the last requests that ended (the report's "system-level" prediction, which assumes that each
 *   decode takes the same time);
 * - by length: but for those that will have left, each after the output length predicted for it times the
 *   mean time of a token (the report's "request-level" prediction).
 * Those that should have left and have not are taken for gone at any later time, by both. KV is that of all
 * whose prefill has started before that of the request in question, which takes room in that order.
 */
#ifndef MC_SCHED_HORIZON_H
#define MC_SCHED_HORIZON_H

#include "sched/tally.h"
#include "sched/view.h"

#define MC_HORIZON_WINDOW 1000 /* requests that t_d and the time of a token are means of */

/* Of one request. */
struct mc_horizon_entry {
	uint32_t start, join, leave; /* handles; 0: it is in no horizon */
	uint32_t decode;             /* instance */
	mc_time starts, joins, stays;
	struct mc_tally_sum weight;
};

/* Of a decode instance. */
struct mc_horizon_instance {
	struct mc_tally starts, joins, leaves;
};

struct mc_horizon {
	struct mc_horizon_instance *at;
	uint32_t n;
	struct {
		mc_time stay;
		int64_t tokens;
	} last[MC_HORIZON_WINDOW]; /* a ring */
	uint64_t ended;
	__int128 stay_sum; /* of the ring: each may be a good part of what a time holds */
	int64_t token_sum;
};

struct mc_horizon *mc_horizon_new(uint32_t n_decode);
void mc_horizon_free(struct mc_horizon *h);

/* In: when its prefill starts and ends, and where it goes. It will make so many tokens (0: not predicted, and
 * it never leaves by length). */
void mc_horizon_add(struct mc_horizon *h, struct mc_horizon_entry *e, const struct mc_prompt *p,
		    uint32_t tokens);
/* Its times are known better. */
void mc_horizon_move(struct mc_horizon *h, struct mc_horizon_entry *e, mc_time starts, mc_time joins);
/* It goes to another instance. */
void mc_horizon_rehome(struct mc_horizon *h, struct mc_horizon_entry *e, uint32_t decode);
/* It is gone, at its end or otherwise. Does nothing to an entry that is in no horizon. */
void mc_horizon_remove(struct mc_horizon *h, struct mc_horizon_entry *e);
/* A request has made so many tokens at decode within `stay`. */
void mc_horizon_note(struct mc_horizon *h, mc_time stay, int64_t tokens);

/* t_d; MC_TIME_MAX: nobody has ended yet. */
mc_time mc_horizon_stay(const struct mc_horizon *h);
/* What a request will find at `decode` whose prefill starts and ends then. */
struct mc_tally_sum mc_horizon_by_age(const struct mc_horizon *h, uint32_t decode, mc_time starts,
				      mc_time joins);
struct mc_tally_sum mc_horizon_by_length(const struct mc_horizon *h, uint32_t decode, mc_time starts,
					 mc_time joins);

#endif
