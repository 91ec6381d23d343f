#include "cluster/faults.h"

#include <assert.h>
#include <gsl/gsl_randist.h>
#include <stdlib.h>

#include "cluster/fault_events.h"
#include "des/loop.h"
#include "des/stream.h"
#include "kv/evict.h"

/* Why a component is down, from time to time. */
struct cause {
	struct mc_event toggle;
	struct mc_faults *of;
	struct mc_fault fault;
	mc_time end;  /* of a spell */
	gsl_rng *rng; /* NULL: a spell */
	double mtbf_s, mttr_s;
	uint32_t component; /* MC_NONE: what is slow, each for itself */
	bool on;
};

struct mc_faults {
	struct mc_loop loop;
	struct mc_faults_shape shape;
	struct cause *cause;
	size_t n;
	uint32_t *down; /* by component: causes that are on. Nodes, then the NICs of each */
	struct mc_fault next;
	bool found;
};

static uint32_t width_of(const struct mc_faults_shape *s, uint32_t node)
{
	return node < s->n_prefill ? s->group : 1;
}

static uint32_t nodes(const struct mc_faults_shape *s)
{
	return s->n_prefill + s->n_decode;
}

static uint32_t component(const struct mc_faults_shape *s, const struct mc_fault *fault)
{
	uint32_t decode = fault->node < s->n_prefill ? 0 : fault->node - s->n_prefill, before;

	if (fault->what > MC_FAULT_NIC)
		return MC_NONE;
	if (fault->what == MC_FAULT_NODE)
		return fault->node;
	before = (fault->node - decode) * s->group + decode; /* physical nodes */
	return nodes(s) + before * s->nics + fault->nic;
}

/* Nothing beyond what a time can hold. */
static void draw(struct cause *c, double mean_s)
{
	double s = gsl_ran_exponential(c->rng, mean_s);
	mc_time t = s < 9e9 ? mc_time_from_s(s) : MC_TIME_MAX;

	t = t > 0 ? t : 1;
	if (t < MC_TIME_MAX - c->of->loop.now)
		mc_loop_at(&c->of->loop, &c->toggle, c->of->loop.now + t);
}

static void on_toggle(struct mc_loop *loop, struct mc_event *ev)
{
	struct cause *c = mc_container_of(ev, struct cause, toggle);
	struct mc_faults *f = c->of;
	bool changes = true;

	c->on = !c->on;
	if (c->rng)
		draw(c, c->on ? c->mttr_s : c->mtbf_s);
	else if (c->on && c->end != MC_TIME_MAX)
		mc_loop_at(loop, ev, c->end);
	if (c->component != MC_NONE) {
		uint32_t *down = &f->down[c->component];

		*down += c->on ? 1 : UINT32_MAX;
		changes = *down == c->on; /* 0 to 1, or 1 to 0 */
	}
	if (!changes)
		return;
	f->found = true;
	f->next = c->fault;
	f->next.at = loop->now;
	f->next.begins = c->on;
}

static struct cause *cause_add(struct mc_faults *f, const struct mc_fault *fault)
{
	struct cause *c = &f->cause[f->n++];

	*c = (struct cause){.of = f, .fault = *fault, .component = component(&f->shape, fault)};
	mc_event_init(&c->toggle, 0, on_toggle);
	return c;
}

static void add_spells(struct mc_faults *f, const struct mc_spells *spells)
{
	for (size_t i = 0; i < spells->n; i++) {
		struct cause *c = cause_add(f, &spells->at[i].fault);

		c->end = spells->at[i].end;
		mc_loop_at(&f->loop, &c->toggle, c->fault.at);
	}
}

/* The k-th node of instance `node`, and its NICs. */
static void add_rates(struct mc_faults *f, const struct mc_scenario *s, uint32_t node, uint32_t k)
{
	bool prefill = node < f->shape.n_prefill;
	uint64_t at = prefill ? (uint64_t)node * f->shape.group + k : node - f->shape.n_prefill;
	struct mc_fault fault = {.node = node, .nic = MC_NONE, .event = MC_NONE};
	struct cause *c;

	if (s->faults.node_mtbf != MC_TIME_MAX) {
		c = cause_add(f, &fault);
		c->rng = mc_stream_new((uint64_t)s->seed, prefill ? "faults.prefill" : "faults.decode", at);
		c->mtbf_s = mc_time_to_s(s->faults.node_mtbf);
		c->mttr_s = mc_time_to_s(s->faults.node_mttr);
		draw(c, c->mtbf_s);
	}
	fault.what = MC_FAULT_NIC;
	for (uint32_t i = 0; i < f->shape.nics && s->faults.nic_mtbf != MC_TIME_MAX; i++) {
		fault.nic = k * f->shape.nics + i;
		c = cause_add(f, &fault);
		c->rng = mc_stream_new((uint64_t)s->seed,
				       prefill ? "faults.prefill.nic" : "faults.decode.nic", at << 32 | i);
		c->mtbf_s = mc_time_to_s(s->faults.nic_mtbf);
		c->mttr_s = mc_time_to_s(s->faults.nic_mttr);
		draw(c, c->mtbf_s);
	}
}

static struct mc_faults_shape shape_of(const struct mc_scenario *s)
{
	return (struct mc_faults_shape){
	    .n_prefill = (uint32_t)(s->cluster.prefill / s->cluster.prefill_group),
	    .n_decode = (uint32_t)s->cluster.decode,
	    .group = (uint32_t)s->cluster.prefill_group,
	};
}

int mc_faults_check(const struct mc_scenario *s, struct mc_err *err)
{
	struct mc_faults_shape shape = shape_of(s);
	struct mc_spells spells = {0};
	int rc = mc_spells_read(s, &shape, &spells, err);

	mc_vec_fini(&spells);
	return rc;
}

bool mc_faults_by_rates(const struct mc_scenario *s)
{
	return s->faults.node_mtbf != MC_TIME_MAX || s->faults.nic_mtbf != MC_TIME_MAX;
}

bool mc_faults_any(const struct mc_scenario *s)
{
	return json_array_size(s->faults.events) || mc_faults_by_rates(s);
}

/* Is there an event of a node (else: of a single NIC)? */
static bool event_of(const struct mc_scenario *s, bool node)
{
	struct mc_faults_shape shape = shape_of(s);
	struct mc_spells spells = {0};
	bool any = false;

	mc_spells_read(s, &shape, &spells, NULL);
	for (size_t i = 0; i < spells.n; i++)
		any = any ||
		      (node ? spells.at[i].fault.what == MC_FAULT_NODE : spells.at[i].fault.nic != MC_NONE);
	mc_vec_fini(&spells);
	return any;
}

bool mc_faults_of_nodes(const struct mc_scenario *s)
{
	return s->faults.node_mtbf != MC_TIME_MAX || event_of(s, true);
}

bool mc_faults_of_nics(const struct mc_scenario *s)
{
	return s->faults.nic_mtbf != MC_TIME_MAX || event_of(s, false);
}

int mc_faults_new(const struct mc_scenario *s, const struct mc_faults_shape *shape, struct mc_faults **out,
		  struct mc_err *err)
{
	struct mc_spells spells = {0};
	uint32_t all = shape->n_prefill * shape->group + shape->n_decode;
	struct mc_faults *f;
	int rc;

	*out = NULL;
	rc = mc_spells_read(s, shape, &spells, err);
	if (!rc) {
		*out = f = mc_xcalloc(1, sizeof *f);
		f->shape = *shape;
		f->cause = mc_xcalloc(spells.n + (size_t)all * (1 + shape->nics), sizeof *f->cause);
		f->down = mc_xcalloc(nodes(shape) + (size_t)all * shape->nics, sizeof *f->down);
		mc_loop_init(&f->loop);
		add_spells(f, &spells);
		for (uint32_t i = 0; i < nodes(shape); i++)
			for (uint32_t k = 0; k < width_of(shape, i); k++)
				add_rates(f, s, i, k);
	}
	mc_vec_fini(&spells);
	return rc;
}

void mc_faults_free(struct mc_faults *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->n; i++)
		if (f->cause[i].rng)
			gsl_rng_free(f->cause[i].rng);
	mc_loop_fini(&f->loop);
	free(f->cause);
	free(f->down);
	free(f);
}

bool mc_faults_next(struct mc_faults *f, struct mc_fault *out)
{
	f->found = false;
	while (!f->found && mc_loop_step(&f->loop))
		;
	*out = f->next;
	return f->found;
}
