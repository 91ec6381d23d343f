/*
 * Two choices by prefix, without an index: an early block of the prompt names two instances (highest hash
 * first, so that one that is lost moves nobody else), and the one with the shorter wait serves it, from its
 * own cache. Prompts that share that block meet at the same two. O(instances): a hash each.
 */
#include "base/hash.h"
#include "sched/policy.h"
#include "sched/search.h"

/* The block that decides: those before it are common to too many (a system prompt), later ones part the turns
 * of a session. Chosen on the first half of the conversation trace, of 0 to 7. */
#define BLOCK 1

static void place(void *state, const struct mc_view *view, const struct mc_prompt *prompt,
		  struct mc_score *out)
{
	const struct mc_view_living *l = &view->prefill_living;
	uint32_t block = prompt->n_blocks < BLOCK + 1 ? prompt->n_blocks - 1 : BLOCK, first = 0, second = 0;
	uint64_t key = prompt->n_blocks ? prompt->block[block] : prompt->request, most[2] = {0, 0};
	struct mc_score other;

	(void)state;
	for (uint32_t k = 0; k < l->n; k++) {
		uint64_t h = mc_hash_pair(key, l->at[k]);

		if (!k || h > most[0]) {
			second = k ? first : 0;
			most[1] = most[0];
			first = k;
			most[0] = h;
		} else if (k == 1 || h > most[1]) {
			second = k;
			most[1] = h;
		}
	}
	mc_search_here(view, prompt, l->at[first], out);
	mc_search_here(view, prompt, l->at[second], &other);
	if (other.total < out->total)
		*out = other;
}

const struct mc_policy mc_policy_affinity = {
    .name = "affinity",
    .help = "least predicted TTFT of two instances that an early block of the prompt names; needs no index",
    .place = place,
};
