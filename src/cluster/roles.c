/*
 * Nodes that change between prefill and decode (roles.*). A node that may has an instance of each kind, of
 * which one is at work: the view knows the other as down, so that nothing is placed there and nothing fetched
 * from it. When the policy (sched/roles.h) says so, a node
 * - drains: nothing new comes to it; it finishes what it has, and requests that have not begun to be handed
 * over to it get another decode node;
 * - is away for roles.cost: the engine restarts with its weights in place. Its DRAM pool belongs to the
 * process that ends, registered with the NICs by it, and the other role lays it out anew: what it held is
 * given up;
 * - works in its other role, with an empty pool.
 * Both instances have the node's NICs, which is the same as one of them having it, since they never send or
 * receive at the same time.
 */
#include "cluster/roles.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cluster/state.h"
#include "engine/kinds.h"

#define LOOKS 16 /* an interval */

struct mc_role_extra mc_roles_extra(const struct mc_scenario *s)
{
	uint32_t n = (uint32_t)s->roles.switchable;

	if (strcmp(s->roles.policy, "load"))
		n = 0;
	/* In turn from both pools, a decode node first. */
	return (struct mc_role_extra){.prefill = (n + 1) / 2, .decode = n / 2};
}

int mc_roles_check(const struct mc_scenario *s, struct mc_err *err)
{
	struct mc_role_extra extra = mc_roles_extra(s);

	if (!strcmp(s->roles.policy, "static"))
		return MC_OK;
	if (extra.prefill >= s->cluster.decode || extra.decode >= s->cluster.prefill)
		return mc_scenario_bad(
		    err, "roles.switchable",
		    "leaves no node of one kind that stays; expected fewer, half of which are of each kind");
	if (s->cluster.coupled)
		return mc_scenario_bad(
		    err, "roles.policy",
		    "is for nodes that do one of both; expected static with cluster.coupled");
	if (s->cluster.prefill_group > 1)
		return mc_scenario_bad(
		    err, "roles.policy",
		    "is for nodes that work alone; expected static with cluster.prefill_group");
	if (strcmp(s->kv.ssd_write, "never"))
		return mc_scenario_bad(
		    err, "roles.policy",
		    "gives up what a node has cached; expected static with an SSD tier (kv.ssd_write)");
	if (s->net.rack_nodes)
		return mc_scenario_bad(err, "roles.policy",
				       "knows no racks; expected static with net.rack_nodes");
	if (s->conductor.staleness)
		return mc_scenario_bad(
		    err, "roles.policy",
		    "needs a Conductor that knows at once; expected static with conductor.staleness");
	if (mc_faults_any(s))
		return mc_scenario_bad(err, "roles.policy", "knows no faults; expected static with faults.*");
	return MC_OK;
}

/* Its instance of its role, and of the other one. */
static uint32_t at_work(const struct mc_role_node *x)
{
	return x->at[x->role];
}

static uint32_t at_rest(const struct mc_role_node *x)
{
	return x->at[!x->role];
}

/* Time in a state has passed, up to now or to the end of the run. */
static void count(struct mc_cluster *c, struct mc_role_node *x, mc_time to)
{
	struct mc_role_times *r = &c->result->roles;
	double t = to > x->since ? mc_time_to_s(to - x->since) : 0;

	if (x->state == MC_ROLE_AWAY)
		r->away_s += t;
	else
		*(x->role == MC_ROLE_PREFILL ? &r->prefill_s : &r->decode_s) += t;
	if (x->state == MC_ROLE_DRAINS)
		r->drain_s += t;
	x->since = to;
}

static void enter(struct mc_cluster *c, struct mc_role_node *x, enum mc_role_state state)
{
	count(c, x, mc_cluster_over(c) ? c->result->end : c->loop.now);
	x->state = state;
}

/* Has the instance done all that it had to? */
static bool is_idle(const struct mc_cluster *c, uint32_t node)
{
	const struct mc_view_node *v = &c->view.node[node];
	uint32_t first = c->view.n_prefill;

	if (v->sends || v->streams || mc_fabric_sends(c->fabric, node) || mc_fabric_receives(c->fabric, node))
		return false;
	if (c->pool[node] && mc_pool_stats(c->pool[node]).pinned)
		return false;
	if (node < first)
		return !c->prefill[node].queue.n && !c->prefill[node].running;
	return !c->view.decode[node - first].batch;
}

static void on_back(struct mc_loop *loop, struct mc_event *ev)
{
	struct mc_role_node *x = mc_container_of(ev, struct mc_role_node, back);
	struct mc_cluster *c = x->cluster;

	(void)loop;
	enter(c, x, MC_ROLE_WORKS);
	mc_view_down(&c->view, at_work(x), false);
	if (x->role == MC_ROLE_PREFILL)
		mc_cluster_report(c, at_work(x));
}

/* Nodes that have drained go. */
static void on_drained(struct mc_loop *loop, struct mc_event *ev)
{
	struct mc_cluster *c = mc_container_of(ev, struct mc_role_switch, drained)->node->cluster;

	for (uint32_t i = 0; i < c->roles->n && !mc_cluster_over(c); i++) {
		struct mc_role_node *x = &c->roles->node[i];

		if (x->state != MC_ROLE_DRAINS || !is_idle(c, at_work(x)))
			continue;
		if (c->pool[at_work(x)])
			mc_pool_clear(c->pool[at_work(x)]);
		enter(c, x, MC_ROLE_AWAY);
		c->roles->draining--;
		c->result->roles.switches++;
		x->role = !x->role;
		mc_loop_at(loop, &x->back, loop->now + c->scenario->roles.cost);
	}
}

void mc_cluster_roles_eased(struct mc_cluster *c)
{
	if (c->roles && c->roles->draining && !mc_event_pending(&c->roles->drained))
		mc_loop_at(&c->loop, &c->roles->drained, c->loop.now);
}

static void begin(struct mc_cluster *c, struct mc_role_node *x)
{
	uint32_t node = at_work(x);

	enter(c, x, MC_ROLE_DRAINS);
	c->roles->draining++;
	mc_view_down(&c->view, node, true);
	for (struct mc_flight *f = c->first; f; f = f->next)
		if (f->stage == MC_STAGE_PREFILL && f->row->decode != MC_NONE &&
		    mc_view_decode_node(&c->view, f->row->decode) == node)
			mc_cluster_move(c, f);
	mc_cluster_roles_eased(c);
}

/* What an instance has still to do: it should be little. */
static int64_t burden(const struct mc_cluster *c, uint32_t node)
{
	return node < c->view.n_prefill ? mc_view_queue(&c->view, node)
					: c->view.decode[node - c->view.n_prefill].context;
}

static struct mc_role_node *pick(struct mc_cluster *c, enum mc_role from)
{
	struct mc_role_node *best = NULL;

	for (uint32_t i = 0; i < c->roles->n; i++) {
		struct mc_role_node *x = &c->roles->node[i];

		if (x->state == MC_ROLE_WORKS && x->role == from &&
		    (!best || burden(c, at_work(x)) < burden(c, at_work(best))))
			best = x;
	}
	return best;
}

static void decide(struct mc_cluster *c)
{
	struct mc_roles_coming coming = {0};
	struct mc_role_node *x = NULL;
	enum mc_roles_move move;

	for (uint32_t i = 0; i < c->roles->n; i++) {
		const struct mc_role_node *y = &c->roles->node[i];
		bool prefill = (y->role == MC_ROLE_PREFILL) == (y->state == MC_ROLE_AWAY);

		if (y->state != MC_ROLE_WORKS)
			*(prefill ? &coming.prefill : &coming.decode) += 1;
	}
	move = mc_roles_decide(&c->roles->policy, &c->view, &coming);
	if (move != MC_ROLES_STAY)
		x = pick(c, move == MC_ROLES_TO_PREFILL ? MC_ROLE_DECODE : MC_ROLE_PREFILL);
	if (x)
		begin(c, x);
}

static void on_look(struct mc_loop *loop, struct mc_event *ev)
{
	struct mc_cluster *c = mc_container_of(ev, struct mc_role_switch, look)->node->cluster;

	if (mc_cluster_over(c))
		return;
	c->view.now = loop->now;
	mc_roles_look(&c->roles->policy, &c->view);
	if (++c->roles->looks == LOOKS) {
		c->roles->looks = 0;
		decide(c);
	}
	mc_loop_at(loop, ev, loop->now + c->scenario->roles.interval / LOOKS);
}

/* The last decode nodes that may change have the last prefill instances, and the other way round. */
void mc_cluster_roles_init(struct mc_cluster *c)
{
	const struct mc_scenario *s = c->scenario;
	struct mc_role_extra extra = mc_roles_extra(s);
	uint32_t prefill = (uint32_t)s->cluster.prefill, decode = (uint32_t)s->cluster.decode;
	struct mc_role_switch *r;

	if (!extra.prefill)
		return;
	c->roles = r = mc_xcalloc(1, sizeof *r);
	r->n = extra.prefill + extra.decode;
	r->node = mc_xcalloc(r->n, sizeof *r->node);
	r->of = mc_xcalloc(mc_cluster_nodes(c), sizeof *r->of);
	r->policy.params =
	    (struct mc_roles_params){s->slo.ttft, s->slo.tbt, s->roles.threshold, s->roles.hysteresis};
	for (uint32_t i = 0; i < r->n; i++) {
		struct mc_role_node *x = &r->node[i];
		bool is_decode = i < extra.prefill;
		uint32_t k = is_decode ? i : i - extra.prefill;
		uint32_t a = is_decode ? prefill + k : prefill - 1 - k;
		uint32_t b = is_decode ? decode - 1 - k : decode + k;

		*x =
		    (struct mc_role_node){.cluster = c, .role = is_decode ? MC_ROLE_DECODE : MC_ROLE_PREFILL};
		x->at[MC_ROLE_PREFILL] = a;
		x->at[MC_ROLE_DECODE] = mc_view_decode_node(&c->view, b);
		r->of[x->at[MC_ROLE_PREFILL]] = r->of[x->at[MC_ROLE_DECODE]] = x;
		mc_event_init(&x->back, MC_EV_ROLES, on_back);
		mc_view_down(&c->view, at_rest(x), true);
	}
	mc_event_init(&r->look, MC_EV_ROLES, on_look);
	mc_event_init(&r->drained, MC_EV_ROLES, on_drained);
	mc_loop_at(&c->loop, &r->look, s->roles.interval / LOOKS);
}

void mc_cluster_roles_fini(struct mc_cluster *c)
{
	if (!c->roles)
		return;
	free(c->roles->node);
	free(c->roles->of);
	free(c->roles);
}

void mc_cluster_roles_collect(struct mc_cluster *c)
{
	struct mc_result *r = c->result;
	double end = mc_time_to_s(r->end);

	if (!c->roles)
		return;
	r->n_switchable = c->roles->n;
	r->switchable = mc_xcalloc(r->n_switchable, sizeof *r->switchable);
	for (uint32_t i = 0; i < r->n_switchable; i++) {
		struct mc_role_node *x = &c->roles->node[i];

		count(c, x, r->end);
		r->switchable[i].prefill = x->at[MC_ROLE_PREFILL];
		r->switchable[i].decode = x->at[MC_ROLE_DECODE] - r->n_prefill;
	}
	/* Each of those has an instance of both kinds; the others are there all the time. */
	r->roles.prefill_s += end * (r->n_prefill - r->n_switchable);
	r->roles.decode_s += end * (r->n_decode - r->n_switchable);
}

bool mc_cluster_at_rest(const struct mc_cluster *c, uint32_t node)
{
	const struct mc_role_node *x = c->roles ? c->roles->of[node] : NULL;

	return x && (node == at_rest(x) || x->state == MC_ROLE_AWAY);
}

bool mc_cluster_rests(const struct mc_cluster *c, uint32_t node)
{
	return is_idle(c, node) && c->view.node[node].down &&
	       (!c->pool[node] || !mc_pool_stats(c->pool[node]).present);
}
