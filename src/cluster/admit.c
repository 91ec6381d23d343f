/*
 * Admission after the Conductor's decision (sched/admission.h): who decodes when, for rules that predict; and
 * refusals of requests whose prompt is computed, by the rule when prefill ends, or by the decode node itself
 * when all KV is there (the double check; report, section 3). Their prefill is wasted, but for what later
 * prompts find cached.
 */
#include <stdlib.h>
#include <string.h>

#include "cluster/state.h"
#include "sched/horizon.h"

void mc_cluster_admit_init(struct mc_cluster *c)
{
	const char *check = c->scenario->conductor.decode_check;

	c->decode_check = !strcmp(check, "on") || (!strcmp(check, "auto") && c->conductor.admission->judges);
	c->view.max_batch = c->scenario->cluster.max_batch;
	if (c->conductor.admission->uses_horizon)
		c->horizon = mc_horizon_new(c->view.n_decode);
	c->view.horizon = c->horizon;
}

/* A request in the horizon. It outlasts its flight while what was told of it is not known (stale.c). */
struct mc_expected {
	struct mc_horizon_entry entry;
	uint32_t refs;
};

void mc_cluster_admit_forget(struct mc_expected *e)
{
	if (e && !--e->refs)
		free(e);
}

void mc_cluster_admit_fini(struct mc_cluster *c)
{
	for (struct mc_flight *f = c->first; f; f = f->next)
		mc_cluster_admit_forget(f->expected);
	mc_horizon_free(c->horizon);
}

void mc_cluster_admit_dispatched(struct mc_cluster *c, struct mc_flight *f, const struct mc_prompt *prompt,
				 const struct mc_decision *d)
{
	struct mc_expected *e;

	if (!c->horizon || d->decode == MC_NONE)
		return;
	f->expected = e = mc_xcalloc(1, sizeof *e);
	e->refs = 1;
	e->entry.decode = d->decode;
	e->entry.starts = mc_admission_starts(&c->view, d);
	e->entry.joins = mc_admission_joins(&c->view, d);
	/* The first token is prefill's. */
	mc_horizon_add(c->horizon, &e->entry, prompt, d->length > 1 ? d->length - 1 : d->length);
}

/* The node that has the request now tells of it. */
static void tell(struct mc_cluster *c, struct mc_flight *f, struct mc_admit_news *news)
{
	bool there = f->stage == MC_STAGE_DECODE && f->row->decode != MC_NONE;

	if (!c->horizon && !c->conductor.length)
		return; /* nobody asks */
	news->request = f->row - c->result->row;
	news->expected = f->expected;
	if (f->expected)
		f->expected->refs++;
	mc_cluster_report_admit(c, there ? mc_view_decode_node(&c->view, f->row->decode) : f->row->prefill,
				news);
}

void mc_cluster_admit_hear(struct mc_cluster *c, const struct mc_admit_news *news)
{
	const struct mc_row *row = &c->result->row[news->request];
	struct mc_prompt prompt = mc_cluster_prompt(c, row);

	if (news->expected && news->of == MC_ADMIT_MOVED)
		mc_horizon_move(c->horizon, &news->expected->entry, news->starts, news->joins);
	else if (news->expected)
		mc_horizon_remove(c->horizon, &news->expected->entry);
	if (news->of != MC_ADMIT_ENDED)
		return;
	if (c->horizon && news->stay >= 0)
		mc_horizon_note(c->horizon, news->stay, row->output - 1);
	mc_conductor_observe(&c->conductor, &prompt, row->output);
}

void mc_cluster_admit_joins(struct mc_cluster *c, struct mc_flight *f, mc_time at)
{
	tell(c, f,
	     &(struct mc_admit_news){.of = MC_ADMIT_MOVED, .starts = f->row->prefill_start, .joins = at});
}

void mc_cluster_admit_rehomed(struct mc_cluster *c, struct mc_flight *f)
{
	if (f->expected)
		mc_horizon_rehome(c->horizon, &f->expected->entry, f->row->decode);
}

void mc_cluster_admit_gone(struct mc_cluster *c, struct mc_flight *f)
{
	if (f->expected)
		mc_horizon_remove(c->horizon, &f->expected->entry);
}

void mc_cluster_admit_ended(struct mc_cluster *c, struct mc_flight *f)
{
	mc_time since = f->row->handover_end;

	tell(c, f,
	     &(struct mc_admit_news){.of = MC_ADMIT_ENDED, .stay = since >= 0 ? c->loop.now - since : -1});
}

/* Its hand-over, of which some is under way, stops. */
static void stop_sending(struct mc_cluster *c, struct mc_flight *f)
{
	double left;

	if (f->transfer == MC_NONE)
		return;
	left = f->sending - mc_fabric_cancel(c->fabric, f->transfer);
	f->transfer = MC_NONE;
	c->broken++;
	mc_cluster_stream_over(c, f);
	mc_cluster_report_change(c, f->row->prefill, &(struct mc_node_change){.sends = -1});
	c->crossed -= left;
	c->result->handover_bytes -= left;
}

/* Its prompt is computed, its decode node has not begun. */
static void refuse(struct mc_cluster *c, struct mc_flight *f, enum mc_refusal why)
{
	struct mc_row *row = f->row;

	stop_sending(c, f);
	mc_cluster_report_decode(c, row, &(struct mc_decode_change){.announced = -1, .assigned = -1});
	mc_decode_withdraw(&c->decode[row->decode], &f->decode);
	if (f->decode_lease.held)
		mc_pool_release(c->pool[mc_view_decode_node(&c->view, row->decode)], &f->decode_lease);
	if (f->lease.held)
		mc_pool_release(c->pool[row->prefill], &f->lease);
	tell(c, f, &(struct mc_admit_news){.of = MC_ADMIT_GONE});
	mc_cluster_close(f);
	mc_cluster_refuse(c, row - c->result->row, why);
}

bool mc_cluster_admit_prefilled(struct mc_cluster *c, struct mc_flight *f)
{
	struct mc_prompt prompt = mc_cluster_prompt(c, f->row);
	enum mc_refusal why;

	mc_cluster_look(c);
	why = mc_conductor_prefilled(&c->conductor, &c->view, &prompt, f->row->decode);
	if (why)
		refuse(c, f, why);
	return !why;
}

bool mc_cluster_admit_arrived(struct mc_cluster *c, struct mc_flight *f)
{
	struct mc_prompt prompt = mc_cluster_prompt(c, f->row);

	if (!c->decode_check || !prompt.tbt ||
	    mc_decode_forecast(&c->decode[f->row->decode], &f->decode) <= prompt.tbt)
		return true;
	refuse(c, f, MC_REFUSED_DECODE_CHECK);
	return false;
}
