#include "out/fitpredict.h"

#include <inttypes.h>
#include <stdio.h>

#include "model/compose.h"
#include "model/cost.h"

static void rows(struct mc_fitpredict *t)
{
	static const int64_t prompts[] = {512, 2048, 8192, 32768, 131072}, contexts[] = {1024, 8192, 32768},
			     batches[] = {1, 8, 32, 128};
	int n = 0;

	for (int i = 0; i < 5; i++) {
		t->row[n].tokens = prompts[i];
		t->row[n++].batch = 1;
	}
	for (int b = 0; b < 4; b++)
		for (int i = 0; i < 3; i++) {
			t->row[n].decode = true;
			t->row[n].tokens = contexts[i];
			t->row[n++].batch = batches[b];
		}
}

static int64_t outside(const struct mc_parts *parts)
{
	int64_t n = 0;

	for (int i = 0; i < parts->n; i++)
		n += parts->part[i].outside;
	return n;
}

/* MC_USAGE: the operators don't make the model. */
static int composed(struct mc_fitpredict *t, int side, const struct mc_profile *p, struct mc_err *err)
{
	struct mc_compose c;
	int rc = mc_compose_init(&c, &p->operators, &t->shape, t->tensor_parallel, err);

	for (int i = 0; i < MC_FITPREDICT_ROWS && !rc; i++) {
		int64_t tokens = t->row[i].tokens, batch = t->row[i].batch;
		struct mc_parts parts = {0};

		if (t->row[i].decode) {
			rc = mc_compose_add(&c, &(struct mc_iteration){1, tokens - 1, batch, batch}, &parts,
					    err);
		} else {
			const struct mc_prompts prompts = {
			    .tokens = tokens, .chunk = MC_FITPREDICT_CHUNK, .seqs = batch};

			rc = mc_compose_prefill(&c, &prompts, &parts, err);
		}
		t->row[i].seconds[side] = rc ? 0 : parts.seconds;
		t->row[i].outside[side] = rc ? 0 : outside(&parts);
	}
	snprintf(t->how[side], sizeof t->how[side], "sums of operators, prompts %d tokens at a time",
		 MC_FITPREDICT_CHUNK);
	return rc;
}

static int counted(struct mc_fitpredict *t, int side, const struct mc_profile *p, struct mc_err *err)
{
	bool known = false;
	struct mc_cost c;
	int rc = MC_OK;

	if (p->gpus != t->tensor_parallel)
		rc = mc_err_set(err, MC_USAGE, "has times of models over all of its %" PRId64 " GPUs only",
				p->gpus);
	if (!rc)
		rc = mc_cost_init(&c, p, &t->shape, NULL, err);
	known = !rc;
	for (int i = 0; i < MC_FITPREDICT_ROWS && !rc; i++) {
		double tokens = (double)t->row[i].tokens, batch = (double)t->row[i].batch;

		t->row[i].seconds[side] = t->row[i].decode ? mc_cost_decode_s(&c, batch, batch * tokens)
							   : mc_cost_prefill_gpu_s(&c, tokens, 0);
	}
	snprintf(t->how[side], sizeof t->how[side], "as in a run: %s",
		 known && c.times == MC_TIMES_MEASURED ? "from its measured entry"
						       : "counted, nobody measured this shape");
	if (known)
		mc_cost_fini(&c);
	return rc;
}

void mc_fitpredict(struct mc_fitpredict *t, const struct mc_profile *p, const struct mc_profile *other)
{
	const struct mc_profile *const sides[2] = {p, other};

	rows(t);
	for (int side = 0; side < 2; side++) {
		const struct mc_profile *q = sides[side];
		struct mc_err err = {0};
		char text[sizeof t->how[0]];

		if (!q)
			continue;
		if (!(q->operators.n ? composed(t, side, q, &err) : counted(t, side, q, &err)))
			continue;
		mc_err_format(&err, text, sizeof text);
		snprintf(t->how[side], sizeof t->how[side], "%.200s", text);
		for (int i = 0; i < MC_FITPREDICT_ROWS; i++)
			t->row[i].seconds[side] = 0;
	}
}
