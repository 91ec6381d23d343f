/*
 * Growable arrays and checked allocation. Running out of memory is not recoverable here: the allocators print
 * one line and abort.
 *
 *     struct { MC_VEC(int) } v = {0};
 *     mc_vec_push(&v, 7);
 *     mc_vec_fini(&v);
 */
#ifndef MC_BASE_VEC_H
#define MC_BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>

#define MC_VEC(T)                                                                                            \
	T *at;                                                                                               \
	size_t n, cap;

void *mc_xmalloc(size_t size);
void *mc_xcalloc(size_t n, size_t size);
void *mc_xrealloc(void *p, size_t n, size_t size); /* n * size, overflow checked */
/* Uninitialised; asks for huge pages where it is large: what is written once, from end to end, spends its
 * time in page faults otherwise. free(). */
void *mc_xmalloc_large(size_t n, size_t size);
char *mc_xstrdup(const char *s);

/* Capacity for at least `need` elements: grows by half. Returns the new block, updates *cap. */
void *mc_vec_grow(void *at, size_t *cap, size_t need, size_t size);

#define mc_vec_reserve(v, need)                                                                              \
	((need) > (v)->cap ? (void)((v)->at = mc_vec_grow((v)->at, &(v)->cap, (need), sizeof *(v)->at))      \
			   : (void)0)
#define mc_vec_push(v, x) (mc_vec_reserve((v), (v)->n + 1), (void)((v)->at[(v)->n++] = (x)))
#define mc_vec_fini(v)    (free((v)->at), (v)->at = NULL, (v)->n = (v)->cap = 0)

#endif
