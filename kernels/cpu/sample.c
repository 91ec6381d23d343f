/*
 * The next token of each row: the largest logit, or Gumbel's maximum. Bytes: 4 an element. At a temperature
 * two logarithms an element, but for elements that can't win even with the largest noise. Threads share the
 * rows.
 */
#include "kernels/cpu/cpu.h"

struct job {
	const struct mc_sample *a;
	const struct mc_cpu_vec *vec;
};

/* Above the largest noise of a score, which is 16.636. */
static const float noise_most = 16.64f;

static int draw(const struct mc_sample *a, size_t row, int largest)
{
	const float *x = a->logits + row * (size_t)a->stride;
	float most = x[largest], temperature = a->temperature[row];
	float best = mc_sample_score(most, most, temperature, a->seed[row], largest);
	int token = largest;

	for (int i = 0; i < a->vocab; i++) {
		float score;

		/* Who can't win isn't worth its logarithms. */
		if (!(x[i] == most || (x[i] - most) / temperature > best - noise_most))
			continue;
		score = mc_sample_score(x[i], most, temperature, a->seed[row], i);
		if (score > best || (score == best && i < token)) {
			best = score;
			token = i;
		}
	}
	return token;
}

static void work(void *arg, int thread, int threads)
{
	const struct job *j = arg;
	const struct mc_sample *a = j->a;
	size_t part[2];

	mc_cpu_part((size_t)a->rows, 1, thread, threads, part);
	for (size_t i = part[0]; i < part[1]; i++) {
		int largest = j->vec->argmax(a->logits + i * (size_t)a->stride, a->vocab);

		a->token[i] = largest < 0 || a->temperature[i] == 0 ? largest : draw(a, i, largest);
	}
}

void mc_cpu_sample(struct mc_cpu_team *t, const void *arguments)
{
	const struct mc_sample *a = arguments;
	struct job j = {a, t->vec};

	mc_cpu_pool_run(t->pool, mc_cpu_team_threads(t, (size_t)a->rows * (size_t)a->vocab, 1 << 14), work,
			&j);
}
