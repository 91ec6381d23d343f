/* What the files of a coupled node share. */
#ifndef MC_ENGINE_COUPLED_STATE_H
#define MC_ENGINE_COUPLED_STATE_H

#include "engine/coupled.h"

static inline void mc_coupled_list_push(struct mc_coupled_list *l, struct mc_coupled_job *job)
{
	job->prev = l->tail;
	job->next = NULL;
	*(l->tail ? &l->tail->next : &l->head) = job;
	l->tail = job;
	l->n++;
}

static inline void mc_coupled_list_push_head(struct mc_coupled_list *l, struct mc_coupled_job *job)
{
	job->prev = NULL;
	job->next = l->head;
	*(l->head ? &l->head->prev : &l->tail) = job;
	l->head = job;
	l->n++;
}

static inline struct mc_coupled_job *mc_coupled_list_take(struct mc_coupled_list *l,
							  struct mc_coupled_job *job)
{
	*(job->prev ? &job->prev->next : &l->head) = job->next;
	*(job->next ? &job->next->prev : &l->tail) = job->prev;
	l->n--;
	return job;
}

/* Of the open segment. */
static inline mc_time mc_coupled_iteration(const struct mc_coupled *n, uint32_t k)
{
	int64_t batch = (int64_t)n->batch.n;

	return mc_cost_decode_ns(n->cost, batch, n->context + k * batch);
}

/* coupled_plan.c: make room for the next token of all members; true: requests were thrown out for it. */
bool mc_coupled_grow(struct mc_coupled *n);
/* Let prompts start, and give out slices; true: a pass with prompts is next. */
bool mc_coupled_give_slices(struct mc_coupled *n, bool may_start);

/* coupled.c: write the segment down as far as the cursor, and begin the next one there. */
void mc_coupled_close(struct mc_coupled *n);

#endif
