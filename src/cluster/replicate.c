/*
 * The replication policy (sched/replicate.h), carried out: at every interval copies of hot blocks begin, and
 * spare ones of cold blocks go. Ends when the last request has come and gone.
 */
#include "cluster/state.h"
#include "engine/kinds.h"
#include "kv/heat.h"
#include "sched/replicate.h"

/* Of the copies under way, those that are the policy's. */
static void find_moves(struct mc_cluster *c, struct mc_replica_moves *moves)
{
	for (const struct mc_copying *y = c->copies; y; y = y->next)
		if (y->job.bytes == &c->result->replica_bytes)
			mc_vec_push(moves, ((struct mc_replica_move){y->job.id[y->job.n - 1], y->job.to}));
	mc_cluster_stale_moves(c, moves);
}

static void copy(struct mc_cluster *c, const struct mc_replica_action *a)
{
	uint32_t n = mc_tree_first(c->known, a->run) + mc_tree_length(c->known, a->run), steps;
	uint64_t *id = mc_xmalloc(n * sizeof *id);
	struct mc_copy_job job = {.id = id,
				  .n = n,
				  .from = a->from,
				  .to = a->to,
				  .in_dram = true,
				  .bytes = &c->result->replica_bytes};

	mc_tree_chain(c->known, a->run, id);
	mc_vec_reserve(&c->steps, n);
	steps = mc_tree_trail(c->tree, id, n, c->steps.at);
	job.n = mc_tree_match_resident(c->tree, c->steps.at, steps, a->from);
	job.have = mc_tree_match_resident(c->tree, c->steps.at, steps, a->to);
	c->result->stale_blocks += n - job.n;
	if (job.have < job.n) {
		mc_cluster_copy(c, &job);
		c->result->replica_copies++;
	}
	free(id);
}

/* The run, and nothing else, if nobody uses it there now. The pools' tree may be cut in other places. */
static void drop(struct mc_cluster *c, const struct mc_replica_action *a)
{
	uint32_t first = mc_tree_first(c->known, a->run), n = first + mc_tree_length(c->known, a->run);
	uint64_t *id = mc_xmalloc(n * sizeof *id);
	uint32_t steps;

	mc_tree_chain(c->known, a->run, id);
	mc_vec_reserve(&c->steps, n);
	steps = mc_tree_trail(c->tree, id, n, c->steps.at);
	while (steps-- > 0) {
		const struct mc_step *s = &c->steps.at[steps];
		uint32_t from = mc_tree_first(c->tree, s->run);

		if (from < first)
			break;
		if (s->end == from + mc_tree_length(c->tree, s->run))
			c->result->replica_dropped_blocks += mc_pool_discard(c->pool[a->to], s->run);
	}
	free(id);
}

static void on_tick(struct mc_loop *loop, struct mc_event *ev)
{
	struct mc_cluster *c = mc_container_of(ev, struct mc_cluster, replicate);
	const struct mc_scenario *s = c->scenario;
	struct mc_replicate policy = {(uint32_t)s->conductor.replicas, (uint32_t)s->conductor.replica_heat,
				      (uint32_t)s->conductor.replica_transfers, ++c->tick};
	struct mc_replica_actions actions = {0};
	struct mc_replica_moves moves = {0};

	if (mc_cluster_over(c))
		return;
	mc_cluster_look(c);
	find_moves(c, &moves);
	mc_replicate_plan(&policy, &c->view, &moves, &actions);
	for (size_t k = 0; k < actions.n; k++) {
		const struct mc_replica_action *a = &actions.at[k];

		if (a->drop)
			drop(c, a);
		else
			copy(c, a);
	}
	mc_vec_fini(&actions);
	mc_vec_fini(&moves);
	mc_loop_at(loop, ev, loop->now + s->conductor.replica_interval);
}

void mc_cluster_replicate_init(struct mc_cluster *c)
{
	mc_event_init(&c->replicate, MC_EV_REPLICATE, on_tick);
	c->replicating = c->scenario->conductor.replicas && c->view.sources != MC_SOURCES_NONE;
	if (c->replicating)
		mc_loop_at(&c->loop, &c->replicate, c->scenario->conductor.replica_interval);
}

void mc_cluster_replicate_note(struct mc_cluster *c, const struct mc_prompt *prompt)
{
	if (c->replicating)
		mc_tree_touch(c->known, prompt->step, prompt->n_steps, c->tick);
}
