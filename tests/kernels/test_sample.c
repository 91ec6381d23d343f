/*
 * Sampling of every backend: greedy against a plain search, drawing against scores in double precision and
 * against softmax itself (chi-square over many seeds). Logits are f32 whatever a model's format, so each
 * backend is tested once.
 */
#include "tests/unit/unit.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "tests/kernels/rig.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

/* Open unless the pair's backend was tested with another format; false if so. */
static bool opened(struct rig *r, int i)
{
	rig_open(r, i);
	if (r->be->dtypes & ((1u << r->dtype) - 1)) {
		rig_close(r);
		return false;
	}
	return true;
}

/* Rows of the host, run: what lies between the end of a row and the next would win if it were read. */
struct rows {
	int rows, vocab, stride;
	float *logits, *temperature;
	uint64_t *seed;
	int32_t *token;
};

static void rows_init(struct rows *s, int rows, int vocab, int gap)
{
	size_t n = (size_t)rows;

	s->rows = rows;
	s->vocab = vocab;
	s->stride = (vocab + 3) / 4 * 4 + gap;
	s->logits = malloc(n * (size_t)s->stride * sizeof *s->logits + 1);
	s->temperature = calloc(n + 1, sizeof *s->temperature);
	s->seed = calloc(n + 1, sizeof *s->seed);
	s->token = malloc(n * sizeof *s->token + 1);
	for (size_t i = 0; i < n * (size_t)s->stride; i++)
		s->logits[i] = INFINITY;
}

static void rows_fini(struct rows *s)
{
	free(s->logits);
	free(s->temperature);
	free(s->seed);
	free(s->token);
}

static float *row_of(const struct rows *s, int i)
{
	return s->logits + (size_t)i * (size_t)s->stride;
}

static void normal_row(struct rows *s, int row, struct rig_random *g, float scale)
{
	for (int t = 0; t < s->vocab; t++)
		row_of(s, row)[t] = rig_normal(g) * scale;
}

static void rows_run(struct rows *s, struct rig *r)
{
	size_t n = (size_t)s->rows;
	struct mc_sample a = {.logits = rig_put(r, MC_F32, s->logits, n * (size_t)s->stride),
			      .temperature = rig_put(r, MC_F32, s->temperature, n),
			      .seed = rig_put_bytes(r, s->seed, n * sizeof *s->seed),
			      .token = rig_blank(r, n * sizeof *s->token),
			      .rows = s->rows,
			      .vocab = s->vocab,
			      .stride = s->stride};

	r->be->sample(r->s, &a);
	rig_get_bytes(r, a.token, s->token, n * sizeof *s->token);
}

/* The largest logit, the first of equals; -1 if none is above -infinity. */
static int greedy(const struct rows *s, int row)
{
	const float *x = row_of(s, row);
	int best = -1;

	for (int t = 0; t < s->vocab; t++)
		if (x[t] > (best < 0 ? -INFINITY : x[best]))
			best = t;
	return best;
}

static void check_greedy(const struct rows *s)
{
	for (int i = 0; i < s->rows; i++)
		ck_assert_msg(s->token[i] == greedy(s, i), "vocab %d, row %d: %d, not %d", s->vocab, i,
			      s->token[i], greedy(s, i));
}

/* Vocabularies around what a thread and a block take in one go; the largest logit at both ends and anywhere.
 */
START_TEST(greedy_sizes)
{
	static const int vocab[] = {1,    2,    3,    4,    5,     31,    127,   128,   129,    1000,
				    4095, 4097, 8191, 8195, 16384, 16391, 32000, 50257, 131072, 262144};
	struct rig_random g = {41};

	for (size_t v = 0; v < COUNT(vocab); v++) {
		struct rig r;
		struct rows s;

		if (!opened(&r, _i))
			return;
		rows_init(&s, vocab[v] > 4000 ? 4 : 8, vocab[v], v % 2 ? 8 : 0);
		for (int i = 0; i < s.rows; i++) {
			int at =
			    i < 4 && i < s.vocab ? s.vocab - 1 - i : (int)rig_below(&g, (uint32_t)s.vocab);

			normal_row(&s, i, &g, 3);
			if (i != 3)
				row_of(&s, i)[i == 2 ? 0 : at] = 50;
		}
		rows_run(&s, &r);
		check_greedy(&s);
		rows_fini(&s);
		rig_close(&r);
	}
}
END_TEST

/* Equals: the lowest token, near and far, across threads, warps and turns; zeros of both signs are equal. */
START_TEST(greedy_ties)
{
	enum { VOCAB = 20003, ROWS = 20 };
	struct rig_random g = {42};
	struct rows s;
	struct rig r;

	if (!opened(&r, _i))
		return;
	rows_init(&s, ROWS, VOCAB, 0);
	for (int i = 0; i < ROWS; i++) {
		int at = (int)rig_below(&g, VOCAB), more = i % 5 + (i > 0);

		for (int t = 0; t < VOCAB; t++)
			row_of(&s, i)[t] = i == 0 ? 7 : -1 - (float)rig_below(&g, 100);
		for (int j = 0; j < more; j++)
			row_of(&s, i)[(at + j * (i % 2 ? 1 : 4099)) % VOCAB] = j % 2 ? -0.0f : 0.0f;
	}
	rows_run(&s, &r);
	check_greedy(&s);
	rows_fini(&s);
	rig_close(&r);
}
END_TEST

enum { FINITE = 8, NOTHING = FINITE + 3, ODD_ROWS = NOTHING + 3 };

/* Row i of what can go wrong, all with the same answer greedily and drawn: one token, or none (-1). */
static int odd_row(float *x, int vocab, int i)
{
	static const float ends[] = {-FLT_MAX, -1e30f, 1e30f, FLT_MAX, INFINITY, 0, 0x1p-149f, -0x1p-149f};
	int at = (i * 977 + 5) % vocab;

	for (int t = 0; t < vocab; t++) {
		if (i < FINITE || i >= NOTHING)
			x[t] = i % 3 == 0 || (i % 3 == 2 && t % 2) ? NAN : -INFINITY;
		else
			x[t] = i == FINITE + 1 ? -FLT_MAX : (float)-t;
	}
	if (i < FINITE) /* alone among no numbers */
		x[at] = ends[i];
	else if (i < NOTHING) /* far above all others; the range of floats is too small for the second's
				 distance */
		x[at] = i == FINITE ? 1e30f : i == FINITE + 1 ? FLT_MAX : INFINITY;
	return i < NOTHING ? at : -1;
}

START_TEST(odd_numbers)
{
	static const int vocab[] = {3, 40, 2001};
	static const float temperature[] = {0, 1e-30f, 0x1p-149f, 1, 1e30f, FLT_MAX};

	for (size_t v = 0; v < COUNT(vocab); v++)
		for (size_t t = 0; t < COUNT(temperature); t++) {
			int want[ODD_ROWS];
			struct rows s;
			struct rig r;

			if (!opened(&r, _i))
				return;
			rows_init(&s, ODD_ROWS, vocab[v], 4);
			for (int i = 0; i < ODD_ROWS; i++) {
				want[i] = odd_row(row_of(&s, i), vocab[v], i);
				/* finite differences are nothing to an immense temperature */
				s.temperature[i] =
				    i < FINITE || i > FINITE + 1 ? temperature[t] : fminf(temperature[t], 1);
				s.seed[i] = (uint64_t)i * 1234567;
			}
			rows_run(&s, &r);
			for (int i = 0; i < ODD_ROWS; i++)
				ck_assert_msg(s.token[i] == want[i],
					      "vocab %d, temperature %g, row %d: %d, not %d", vocab[v],
					      (double)temperature[t], i, s.token[i], want[i]);
			rows_fini(&s);
			rig_close(&r);
		}
}
END_TEST

static double score(const struct rows *s, int row, int t)
{
	double x = row_of(s, row)[t], u = mc_sample_uniform(s->seed[row], t);

	return x / s->temperature[row] - log(-log(u));
}

/*
 * The token drawn scores as much as the best does in double precision, but for rounding: half a step of a
 * number of up to 20 + 17 in the difference, the division and the sum, and two logarithms of one step each:
 * below 12 * 2^-23 * 20. Mixed rows: temperatures (0 among them), seeds, scales.
 */
START_TEST(drawn_scores)
{
	static const int vocab[] = {1, 2, 5, 130, 4099, 32000, 128256};
	static const float temperature[] = {1, 0.6f, 0, 2, 0.1f, 30};
	struct rig_random g = {43};

	for (size_t v = 0; v < COUNT(vocab); v++) {
		struct rows s;
		struct rig r;

		if (!opened(&r, _i))
			return;
		rows_init(&s, vocab[v] > 10000 ? 6 : 30, vocab[v], 4);
		for (int i = 0; i < s.rows; i++) {
			normal_row(&s, i, &g, i % 4 == 3 ? 0.01f : 3);
			s.temperature[i] = temperature[i % (int)COUNT(temperature)];
			s.seed[i] = i % 2 ? (uint64_t)i : (uint64_t)rig_below(&g, UINT32_MAX) << 31;
		}
		rows_run(&s, &r);
		for (int i = 0; i < s.rows; i++) {
			double best = -INFINITY;

			ck_assert_int_ge(s.token[i], 0);
			ck_assert_int_lt(s.token[i], s.vocab);
			if (s.temperature[i] == 0) {
				ck_assert_int_eq(s.token[i], greedy(&s, i));
				continue;
			}
			for (int t = 0; t < s.vocab; t++)
				best = fmax(best, score(&s, i, t));
			rig_close_to(score(&s, i, s.token[i]), best, 240 * 0x1p-23, "score of row",
				     (size_t)i);
		}
		rows_fini(&s);
		rig_close(&r);
	}
}
END_TEST

/* Chi-square of counts against n p, in units of its standard deviation above its mean. */
static double surprise(const double *count, const double *p, int bins, double n)
{
	double chi = 0;

	for (int i = 0; i < bins; i++) {
		ck_assert_double_ge(n * p[i], 5); /* the test's own sense */
		chi += (count[i] - n * p[i]) * (count[i] - n * p[i]) / (n * p[i]);
	}
	return (chi - (bins - 1)) / sqrt(2 * (bins - 1));
}

/* Logits of the same row and softmax of them at a temperature. */
static void softmax(double *p, const float *x, int vocab, double temperature)
{
	double sum = 0;

	for (int t = 0; t < vocab; t++)
		sum += p[t] = exp((double)(x[t] - x[0]) / temperature); /* x[0] is as good as any */
	for (int t = 0; t < vocab; t++)
		p[t] /= sum;
}

/* Seeds that follow each other, or differ in high bits only, or are any: all draw from softmax, at three
 * temperatures that take turns in one batch, also where all logits are large. */
START_TEST(drawn_softmax)
{
	enum { VOCAB = 11, ROWS = 3 * 1000 };
	static const float temperature[] = {0.5f, 1, 2};
	static const float shift[] = {0, 0, 1000};

	for (int c = 0; c < 3; c++) {
		struct rig_random g = {44};
		struct rows s;
		struct rig r;

		if (!opened(&r, _i))
			return;
		rows_init(&s, ROWS, VOCAB, 0);
		for (int i = 0; i < ROWS; i++) {
			for (int t = 0; t < VOCAB; t++)
				row_of(&s, i)[t] = shift[c] + (float)(t * 5 % VOCAB) * 0.1875f;
			s.temperature[i] = temperature[i % 3];
			s.seed[i] = c == 0   ? (uint64_t)i
				    : c == 1 ? (uint64_t)i << 48 | 99
					     : (uint64_t)rig_below(&g, UINT32_MAX) << 32 | (uint64_t)i;
		}
		rows_run(&s, &r);
		for (int k = 0; k < 3; k++) {
			double p[VOCAB], count[VOCAB] = {0};

			softmax(p, row_of(&s, 0), VOCAB, temperature[k]);
			for (int i = k; i < ROWS; i += 3)
				count[s.token[i]]++;
			ck_assert_double_lt(fabs(surprise(count, p, VOCAB, ROWS / 3.0)), 5);
		}
		rows_fini(&s);
		rig_close(&r);
	}
}
END_TEST

/* A draw says nothing of the one with the next seed. */
START_TEST(drawn_independent)
{
	enum { VOCAB = 5, ROWS = 2000 };
	double p[VOCAB], pair[VOCAB * VOCAB], count[VOCAB * VOCAB] = {0};
	struct rows s;
	struct rig r;

	if (!opened(&r, _i))
		return;
	rows_init(&s, ROWS, VOCAB, 0);
	for (int i = 0; i < ROWS; i++) {
		for (int t = 0; t < VOCAB; t++)
			row_of(&s, i)[t] = (float)t * 0.25f;
		s.temperature[i] = 1;
		s.seed[i] = UINT64_MAX - ROWS / 2 + (uint64_t)i;
	}
	rows_run(&s, &r);
	softmax(p, row_of(&s, 0), VOCAB, 1);
	for (int i = 0; i < VOCAB * VOCAB; i++)
		pair[i] = p[i / VOCAB] * p[i % VOCAB];
	for (int i = 0; i < ROWS; i += 2)
		count[s.token[i] * VOCAB + s.token[i + 1]]++;
	ck_assert_double_lt(fabs(surprise(count, pair, VOCAB * VOCAB, ROWS / 2.0)), 5);
	rows_fini(&s);
	rig_close(&r);
}
END_TEST

/* A token depends on its own row only: not on which row of the batch it is, nor on the run. */
START_TEST(drawn_again)
{
	enum { VOCAB = 3001, ROWS = 20 };
	struct rig_random g = {45};
	struct rows s, other;
	struct rig r;

	if (!opened(&r, _i))
		return;
	rows_init(&s, ROWS, VOCAB, 0);
	rows_init(&other, ROWS, VOCAB, 64);
	for (int i = 0; i < ROWS; i++) {
		normal_row(&s, i, &g, 1);
		s.temperature[i] = (float)(i % 4) * 0.5f;
		s.seed[i] = (uint64_t)i * i;
	}
	for (int i = 0; i < ROWS; i++) {
		int from = (i * 7 + 3) % ROWS;

		memcpy(row_of(&other, i), row_of(&s, from), VOCAB * sizeof(float));
		other.temperature[i] = s.temperature[from];
		other.seed[i] = s.seed[from];
	}
	rows_run(&s, &r);
	rows_run(&other, &r);
	for (int i = 0; i < ROWS; i++)
		ck_assert_int_eq(other.token[i], s.token[(i * 7 + 3) % ROWS]);
	rows_fini(&s);
	rows_fini(&other);
	rig_close(&r);
}
END_TEST

/* Of two tokens that drew the same number, and no other a larger one, the lower. */
START_TEST(drawn_ties)
{
	enum { VOCAB = 4096 };
	struct rows s;
	struct rig r;
	int ties = 0, first = 0;

	if (!opened(&r, _i))
		return;
	rows_init(&s, 1, VOCAB, 0);
	memset(row_of(&s, 0), 0, VOCAB * sizeof(float));
	s.temperature[0] = 1;
	while (ties < 2) { /* some two thousand seeds */
		float most = 0;

		s.seed[0]++;
		for (int t = 0; t < VOCAB; t++) {
			float u = mc_sample_uniform(s.seed[0], t);

			ties = u > most ? 1 : ties + (u == most);
			first = u > most ? t : first;
			most = u > most ? u : most;
		}
	}
	rows_run(&s, &r);
	ck_assert_int_eq(s.token[0], first);
	rows_fini(&s);
	rig_close(&r);
}
END_TEST

START_TEST(no_rows)
{
	struct rows s;
	struct rig r;

	if (!opened(&r, _i))
		return;
	rows_init(&s, 0, 8, 0);
	rows_run(&s, &r);
	rows_fini(&s);
	rig_close(&r);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("sample");
	TCase *t = tcase_create("sample");

	tcase_set_timeout(t, 120);
	tcase_add_loop_test(t, greedy_sizes, 0, rig_count());
	tcase_add_loop_test(t, greedy_ties, 0, rig_count());
	tcase_add_loop_test(t, odd_numbers, 0, rig_count());
	tcase_add_loop_test(t, drawn_scores, 0, rig_count());
	tcase_add_loop_test(t, drawn_softmax, 0, rig_count());
	tcase_add_loop_test(t, drawn_independent, 0, rig_count());
	tcase_add_loop_test(t, drawn_again, 0, rig_count());
	tcase_add_loop_test(t, drawn_ties, 0, rig_count());
	tcase_add_loop_test(t, no_rows, 0, rig_count());
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
