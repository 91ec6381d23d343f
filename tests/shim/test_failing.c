/*
 * Each call of CUDA's that a model makes fails once, ordered from the shim: opening one says so and gives
 * back what it had; a step's error comes with the next sync, once, and later steps are as if nothing had
 * been.
 */
#include "tests/unit/unit.h"

#include <string.h>

#include "tests/kernels/llama_rig.h"
#include "tests/kernels/rig.h"
#include "tests/shim/shim.h"

enum { SEED = 21, TOKENS = 21, MANY = 400 };

static const int32_t block[] = {7, 3};

static int left(void)
{
	return (int)shim_memory_left() + shim_streams_left() + shim_handles_left();
}

/* How many calls of that kind opening a model makes, each of which failed in its turn. */
static int opened_after(int i, enum shim_fault kind, int error)
{
	struct mc_llama_want want;
	struct mc_weights *w;
	struct mc_llama *m;
	int n = 0, rc;

	llama_want(i, llama_tiny(), 2, &want);
	mc_weights_seeded(&w, SEED);
	do {
		struct mc_err err = {0};

		ck_assert_int_lt(n, MANY);
		shim_fault_set(kind, ++n, error);
		rc = mc_llama_open(&m, &want, w, &err);
		shim_fault_set(kind, 0, 0);
		ck_assert_msg(rc == (m ? 0 : MC_FAIL), "%d of kind %d: %d, %s", n, (int)kind, rc, err.text);
		ck_assert_int_eq(rc != 0, err.text[0] != 0);
		mc_llama_close(m);
		ck_assert_msg(left() == 0, "%d of kind %d: something is left", n, (int)kind);
	} while (rc);
	mc_weights_close(w);
	return n - 1;
}

/* Of two ranks: each has 4 pieces of memory beside its stage and the communicator's, and rank 0 a pinned one;
 * its stream and, for a while, the communicator's; 4 events; a copy for each tensor or share of one. */
START_TEST(opening)
{
	ck_assert_int_eq(opened_after(_i, SHIM_STREAM, cudaErrorMemoryAllocation), 4);
	ck_assert_int_eq(opened_after(_i, SHIM_EVENT, cudaErrorMemoryAllocation), 8);
	ck_assert_int_ge(opened_after(_i, SHIM_ALLOC, cudaErrorMemoryAllocation), 13);
	ck_assert_int_ge(opened_after(_i, SHIM_LAUNCH, cudaErrorLaunchOutOfResources), 8);
	ck_assert_int_ge(opened_after(_i, SHIM_COPY, cudaErrorUnknown),
			 2 * (mc_llama_tensors(llama_tiny()) + 1));
}
END_TEST

/* How many calls of that kind a step makes. */
static int stepped_after(struct llama_rig *l, enum shim_fault kind, int error)
{
	size_t bytes = (size_t)llama_tiny()->vocab * sizeof(float);
	int32_t token[TOKENS];
	struct mc_llama_seq q;
	struct mc_llama_step step = {.seq = &q, .seqs = 1};
	float *good, *again;
	int n = 0, rc;

	llama_prompt(llama_tiny(), 1, token, TOKENS);
	q = llama_seq(token, 0, TOKENS, block);
	good = llama_step(l, &step, NULL);
	do {
		struct mc_err err = {0};

		ck_assert_int_lt(n, MANY);
		shim_fault_set(kind, ++n, error);
		ck_assert_int_eq(mc_llama_step(l->m, &step, NULL, &err), 0);
		shim_fault_set(kind, 0, 0);
		rc = mc_llama_sync(l->m, &err);
		ck_assert(rc == 0 || (rc == MC_FAIL && err.text[0]));
		again = llama_step(l, &step, NULL);
		ck_assert(!memcmp(good, again, bytes));
		free(again);
	} while (rc);
	free(good);
	return n - 1;
}

START_TEST(steps)
{
	struct llama_rig l;

	llama_open(&l, _i, llama_tiny(), 1, SEED);
	/* 2 layers of 2 norms, rope, scatter, attention, SwiGLU; an embedding before them; 2, norm and sample
	 * after. */
	ck_assert_int_ge(stepped_after(&l, SHIM_LAUNCH, cudaErrorLaunchOutOfResources), 2 * 6 + 1 + 4);
	ck_assert_int_eq(stepped_after(&l, SHIM_GEMM, 14), 2 * 4 + 1);
	ck_assert_int_eq(stepped_after(&l, SHIM_COPY, cudaErrorUnknown), 2); /* lengths; tokens */
	llama_close(&l);
	ck_assert_int_eq(left(), 0);
}
END_TEST

/* One rank's part of an all-reduce was never started: the others' give up, and the model still closes. */
START_TEST(lost_rank)
{
	struct llama_rig l;
	struct mc_err err = {0};
	int32_t token[TOKENS];
	struct mc_llama_seq q;
	struct mc_llama_step step = {.seq = &q, .seqs = 1};

	llama_open(&l, _i, llama_tiny(), 2, SEED);
	llama_prompt(llama_tiny(), 1, token, TOKENS);
	q = llama_seq(token, 0, TOKENS, block);
	free(llama_step(&l, &step, NULL));
	/* Both embed; both have norm, rope, scatter and attention; rank 0's sum, rank 1's. */
	shim_fault_set(SHIM_LAUNCH, 2 + 2 * 4 + 2, cudaErrorLaunchOutOfResources);
	ck_assert_int_eq(mc_llama_step(l.m, &step, NULL, &err), 0);
	ck_assert_int_eq(mc_llama_sync(l.m, &err), MC_FAIL);
	mc_llama_close(l.m);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("failing");
	TCase *t = tcase_create("failing");

	tcase_set_timeout(t, 60);
	tcase_add_loop_test(t, opening, 0, 1); /* the number format changes nothing */
	tcase_add_loop_test(t, steps, 0, 1);
	tcase_add_loop_test(t, lost_rank, 0, 1);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
