/*
 * What is the CPU backend's alone: each set of vector instructions that this machine has against double
 * precision, the same bytes for any number of threads and whatever rows stand beside a row, and the threads.
 */
#include "tests/unit/unit.h"

#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "tests/kernels/naive_attention.h"

static int vecs(const struct mc_cpu_vec **out)
{
	int n = 0;

	for (size_t i = 0; mc_cpu_vecs[i]; i++)
		if (mc_cpu_vec_runs(mc_cpu_vecs[i]))
			out[n++] = mc_cpu_vecs[i];
	return n;
}

static int vec_count(void)
{
	const struct mc_cpu_vec *v[8];

	return vecs(v);
}

static const struct mc_cpu_vec *vec_at(int i)
{
	const struct mc_cpu_vec *v[8];

	ck_assert_int_lt(i, vecs(v));
	return v[i];
}

static float *normals(struct rig_random *g, size_t n)
{
	return rig_normals(g, MC_F32, n, 1);
}

/* Where float lies between steps of 2^-24 of its binade. */
static double ulp(double x)
{
	int e;

	frexp(x, &e);
	return ldexp(1, e - 24);
}

START_TEST(exponential)
{
	enum { N = 50003 };
	static const float special[] = {0, -0.0f, INFINITY, -INFINITY, 88.8f, 1e30f, -87.4f, -1e30f, NAN};
	static const float want[] = {1, 1, INFINITY, 0, INFINITY, INFINITY, 0, 0, NAN};
	const struct mc_cpu_vec *v = vec_at(_i);
	float *x = malloc(N * sizeof *x), *y = malloc(N * sizeof *y);

	for (int i = 0; i < N; i++)
		x[i] = (float)(-87.336 + (87.336 + 88.722) * i / (N - 1));
	v->exp(x, y, N);
	for (size_t i = 0; i < N; i++)
		rig_close_to(y[i], exp((double)x[i]), 2 * ulp(exp((double)x[i])), v->name, i);
	for (size_t n = 1; n <= 9; n++) { /* also what is left of a vector */
		v->exp(special, y, n);
		for (size_t i = 0; i < n; i++)
			ck_assert_msg(y[i] == want[i] || (isnan(y[i]) && isnan(want[i])), "%s: exp(%g) = %g",
				      v->name, (double)special[i], (double)y[i]);
	}
	free(x);
	free(y);
}
END_TEST

/* One product by nt, with strides and a guard behind each row of c. */
static void check_nt(const struct mc_cpu_vec *v, struct rig_random *g, int m, int n, int k)
{
	size_t as = (size_t)k + 4, bs = (size_t)k + 4 * rig_below(g, 3), cs = (size_t)n + 1;
	float *a = normals(g, (size_t)m * as), *b = normals(g, (size_t)n * bs),
	      *c = normals(g, (size_t)m * cs), *old = malloc((size_t)m * cs * sizeof *old),
	      *one = malloc(cs * sizeof *one);
	void *packed;
	bool accumulate = rig_below(g, 2);

	ck_assert_int_eq(posix_memalign(&packed, 64, (size_t)(m + 8) * (size_t)(k + 16) * sizeof(float)), 0);
	memcpy(old, c, (size_t)m * cs * sizeof *old);
	struct mc_cpu_nn from = {.a = a, .m = m, .k = k, .a_stride = as};
	struct mc_cpu_nt t = {packed, b, b, c, m, n, k, bs, cs, accumulate};

	v->pack(packed, &from, 0.5f);
	v->nt(&t);
	for (size_t i = 0; i < (size_t)m; i++) {
		for (size_t j = 0; j < (size_t)n; j++) {
			double want = accumulate ? (double)old[i * cs + j] : 0, size = fabs(want);

			for (size_t x = 0; x < (size_t)k; x++) {
				double p = 0.5 * (double)a[i * as + x] * (double)b[j * bs + x];

				want += p;
				size += fabs(p);
			}
			rig_close_to(c[i * cs + j], want, size * (k / v->lanes + 8) * 0x1p-24, v->name,
				     i * (size_t)n + j);
		}
		ck_assert(memcmp(&c[i * cs + (size_t)n], &old[i * cs + (size_t)n], sizeof *c) == 0);
	}
	/* The last row alone: the same bits. */
	from.a += (size_t)(m - 1) * as;
	from.m = t.m = 1;
	t.c = one;
	memcpy(one, old + (size_t)(m - 1) * cs, cs * sizeof *one);
	v->pack(packed, &from, 0.5f);
	v->nt(&t);
	ck_assert_msg(memcmp(one, c + (size_t)(m - 1) * cs, (size_t)n * sizeof *one) == 0,
		      "%s: a row alone of %d x %d x %d differs", v->name, m, n, k);
	free(a);
	free(b);
	free(c);
	free(old);
	free(one);
	free(packed);
}

START_TEST(products)
{
	struct rig_random g = {91};

	for (int m = 1; m <= 14; m++)
		for (int k = 8; k <= 48; k += 8)
			check_nt(vec_at(_i), &g, m, 4 * (1 + (int)rig_below(&g, 5)), k);
	check_nt(vec_at(_i), &g, 97, 64, 200);
}
END_TEST

static void check_nn(const struct mc_cpu_vec *v, struct rig_random *g, int m, int n, int k)
{
	size_t as = (size_t)k + 3, bs = (size_t)n + 8, cs = (size_t)n + 1;
	float *a = normals(g, (size_t)m * as), *b = normals(g, (size_t)k * bs),
	      *c = normals(g, (size_t)m * cs), *keep = normals(g, (size_t)m),
	      *old = malloc((size_t)m * cs * sizeof *old);
	struct mc_cpu_nn t = {a, b, keep, b, c, m, n, k, as, bs, cs};

	memcpy(old, c, (size_t)m * cs * sizeof *old);
	v->nn(&t);
	for (size_t i = 0; i < (size_t)m; i++) {
		for (size_t j = 0; j < (size_t)n; j++) {
			double want = (double)old[i * cs + j] * (double)keep[i], size = fabs(want);

			for (size_t x = 0; x < (size_t)k; x++) {
				double p = (double)a[i * as + x] * (double)b[x * bs + j];

				want += p;
				size += fabs(p);
			}
			rig_close_to(c[i * cs + j], want, size * (k + 2) * 0x1p-24, v->name,
				     i * (size_t)n + j);
		}
		ck_assert(memcmp(&c[i * cs + (size_t)n], &old[i * cs + (size_t)n], sizeof *c) == 0);
	}
	free(a);
	free(b);
	free(c);
	free(keep);
	free(old);
}

START_TEST(sums_of_rows)
{
	struct rig_random g = {92};

	for (int m = 1; m <= 14; m++)
		for (int n = 64; n <= 128; n += 64)
			check_nn(vec_at(_i), &g, m, n, 1 + (int)rig_below(&g, 33));
}
END_TEST

/* Two steps of the running softmax over rows of all kinds, against one over everything. */
START_TEST(running_softmax)
{
	enum { ROWS = 23, N = 41, STEPS = 2 };
	const struct mc_cpu_vec *v = vec_at(_i);
	struct rig_random g = {93};
	float top[ROWS], sum[ROWS], keep[STEPS][ROWS], *in = rig_normals(&g, MC_F32, STEPS * ROWS * N, 30),
						       score[STEPS][ROWS * N];
	int valid[STEPS][ROWS];

	memcpy(score, in, sizeof score);
	for (int i = 0; i < ROWS; i++) {
		valid[0][i] = i == 0 ? N + 5 : 1 + (int)rig_below(&g, N);
		valid[1][i] = i < 4 ? -i : (int)rig_below(&g, N + 1);
		top[i] = -INFINITY;
		sum[i] = 0;
	}
	for (int s = 0; s < STEPS; s++)
		v->softmax(&(struct mc_cpu_softmax){score[s], valid[s], top, sum, keep[s], ROWS, N, N});
	for (int i = 0; i < ROWS; i++) {
		double most = -INFINITY, total = 0;

		for (int s = 0; s < STEPS; s++)
			for (int j = 0; j < N && j < valid[s][i]; j++)
				most = fmax(most, (double)in[(s * ROWS + i) * N + j]);
		ck_assert_double_eq((double)top[i], most);
		for (int s = 0; s < STEPS; s++)
			for (int j = 0; j < N; j++) {
				double x = (double)in[(s * ROWS + i) * N + j];
				double want = j < valid[s][i] ? exp(x - most) : 0;
				double got =
				    (double)score[s][i * N + j] * (s == 0 ? (double)keep[1][i] : 1.0);

				rig_close_to(got, want, want * (most - x + 4) * 0x1p-23 + 1e-37, v->name,
					     (size_t)(i * N + j));
				total += want;
			}
		rig_close_to(sum[i], total, total * 0x1p-20, "sum", (size_t)i);
	}
	free(in);
}
END_TEST

/* The largest anywhere, among NaN and equals. */
START_TEST(largest)
{
	const struct mc_cpu_vec *v = vec_at(_i);
	float x[67];

	for (int n = 1; n <= 67; n++)
		for (int at = 0; at < n; at++) {
			for (int i = 0; i < n; i++)
				x[i] = i % 3 == 1 ? NAN : -2.0f - (float)(i % 5);
			ck_assert_int_ne(v->argmax(x, n), 1);
			x[at] = -1;
			if (at + 20 < n)
				x[at + 20] = -1;
			ck_assert_int_eq(v->argmax(x, n), at);
		}
	for (int i = 0; i < 67; i++)
		x[i] = i % 2 ? NAN : -INFINITY;
	ck_assert_int_eq(v->argmax(x, 67), -1);
	x[66] = -3e38f;
	ck_assert_int_eq(v->argmax(x, 67), 66);
}
END_TEST

static void open_with(struct rig *r, int threads, const struct mc_cpu_vec *v)
{
	struct mc_device_want want = {0, threads};
	struct mc_err err = {0};

	*r = (struct rig){.be = mc_backend_find("cpu", &err), .dtype = MC_F32};
	ck_assert_int_eq(r->be->device_open(&r->dev, &want, &err), 0);
	ck_assert_int_eq(r->be->stream_open(&r->s, r->dev, MC_COMPUTE, &err), 0);
	mc_cpu_team_use(&r->dev->team, v);
}

START_TEST(threads_refused)
{
	const struct mc_backend *be = mc_backend_find("cpu", NULL);
	struct mc_device *d;

	ck_assert_int_eq(be->device_open(&d, &(struct mc_device_want){0, -1}, NULL), MC_USAGE);
	ck_assert_int_eq(be->device_open(&d, &(struct mc_device_want){0, MC_CPU_THREADS + 1}, NULL),
			 MC_USAGE);
	ck_assert_int_eq(be->device_open(&d, &(struct mc_device_want){MC_CPU_DEVICES, 1}, NULL), MC_USAGE);
	ck_assert_ptr_null(d);
}
END_TEST

/* Products, among them some by CBLAS and some in blocks of k; results go to y. */
static float *run_products(struct rig *r, struct rig_random *g, float *y, bool check)
{
	static const int m[] = {1, 5, 70, 200}, n[] = {264, 64, 40, 8}, k[] = {2504, 64, 1032, 16};

	for (int i = 0; i < 4; i++) {
		size_t mk = (size_t)m[i] * (size_t)k[i], nk = (size_t)n[i] * (size_t)k[i],
		       mn = (size_t)m[i] * (size_t)n[i];
		float *x = normals(g, mk), *w = normals(g, nk);
		struct mc_gemm a = {rig_put(r, MC_F32, x, mk),
				    rig_put(r, MC_F32, w, nk),
				    rig_blank(r, mn * sizeof *y),
				    m[i],
				    n[i],
				    k[i],
				    k[i],
				    n[i],
				    MC_F32,
				    MC_F32,
				    false};

		r->be->gemm(r->s, &a);
		rig_get(r, MC_F32, a.y, y, mn);
		for (size_t e = 0; check && e < mn; e++) {
			double want = 0, size = 0;

			for (size_t j = 0; j < (size_t)k[i]; j++) {
				double p = (double)x[e / (size_t)n[i] * (size_t)k[i] + j] *
					   (double)w[e % (size_t)n[i] * (size_t)k[i] + j];

				want += p;
				size += fabs(p);
			}
			rig_close_to(y[e], want, size * (k[i] / 4 + 8) * 0x1p-24, "product", e);
		}
		y += mn;
		free(x);
		free(w);
	}
	return y;
}

/* Those and attention, of few and of many rows, over one part of a context and over several. */
static void run_all(struct rig *r, float *y, bool check)
{
	static const int context[] = {300, 0, 77}, fresh[] = {5, 130, 1}, long_context[] = {2500, 17};
	struct rig_random g = {95};

	y = run_products(r, &g, y, check);
	for (int i = 0; i < 4; i++) {
		bool decode = i % 2;
		struct paged_want want = {.kv_heads = 2,
					  .group = decode ? 3 : 1,
					  .head_dim = i / 2 ? 128 : 64,
					  .block_tokens = decode ? 16 : 64,
					  .seqs = decode ? 2 : 3,
					  .context = decode ? long_context : context,
					  .fresh = decode ? NULL : fresh,
					  .q_scale = 1};
		struct naive_attention ref;
		struct paged_batch b;

		paged_batch_init(&b, r, &g, &want);
		paged_attention(&b, r, decode ? r->be->attention_decode : r->be->attention_prefill, 0.1f, y);
		if (check) {
			naive_attention_init(&ref, &b, 0.1f);
			naive_attention_check(&ref, y, r->dev->team.vec->name);
			naive_attention_fini(&ref);
		}
		y += (size_t)b.rows * (size_t)(b.heads * want.head_dim);
		paged_batch_fini(&b);
	}
}

enum { ALL = 264 + 5 * 64 + 70 * 40 + 200 * 8 + 136 * 2 * (64 + 128) + 2 * 6 * (64 + 128) };

START_TEST(operators)
{
	float *y = malloc(ALL * sizeof *y);
	struct rig r;

	open_with(&r, 2, vec_at(_i));
	run_all(&r, y, true);
	rig_close(&r);
	free(y);
}
END_TEST

/* Contexts on both sides of where decode cuts them. */
START_TEST(decode_parts)
{
	struct rig_random g = {96};
	struct rig r;

	open_with(&r, 2, mc_cpu_vec_best());
	for (int part = 1; part <= 2; part++)
		for (int more = -1; more <= 2; more++) {
			int context = part * 1024 + more - 1;
			/* One KV head, two query heads of 64, blocks of 16. */
			struct paged_want want = {1, 2, 64, 16, 1, &context, NULL, 1, false};
			struct naive_attention ref;
			struct paged_batch b;
			float y[2 * 64];

			paged_batch_init(&b, &r, &g, &want);
			paged_attention(&b, &r, r.be->attention_decode, 0.125f, y);
			naive_attention_init(&ref, &b, 0.125f);
			naive_attention_check(&ref, y, "decode");
			naive_attention_fini(&ref);
			paged_batch_fini(&b);
		}
	rig_close(&r);
}
END_TEST

START_TEST(same_for_any_threads)
{
	static const int threads[] = {1, 2, 3, 8};
	struct mc_cpu_vec v = *mc_cpu_vec_best();
	float *first = malloc(ALL * sizeof *first), *y = malloc(ALL * sizeof *y);
	struct rig r;

	v.own_rows = INT_MAX; /* CBLAS promises nothing */
	for (int i = 0; i < 4; i++) {
		open_with(&r, threads[i], &v);
		run_all(&r, i ? y : first, false);
		rig_close(&r);
		ck_assert_msg(i == 0 || memcmp(first, y, ALL * sizeof *y) == 0,
			      "%d threads give other bytes than one", threads[i]);
	}
	free(first);
	free(y);
}
END_TEST

struct count {
	atomic_long calls, parts;
	int asked;
};

static void count_part(void *arg, int thread, int threads)
{
	struct count *c = arg;

	ck_assert(thread >= 0 && thread < threads && threads <= c->asked);
	atomic_fetch_add(&c->calls, 1);
	atomic_fetch_add(&c->parts, threads - 2 * thread);
}

struct asker {
	struct mc_cpu_pool *pool;
	int jobs, asked;
};

/* Each job runs each part once: thread numbers of a job of n sum to n (n - 1) / 2. */
static void *ask(void *arg)
{
	struct asker *a = arg;

	for (int i = 0; i < a->jobs; i++) {
		int n = 1 + i % a->asked;
		struct count c = {.asked = n};

		mc_cpu_pool_run(a->pool, n, count_part, &c);
		ck_assert_int_eq(atomic_load(&c.calls), n);
		ck_assert_int_eq(atomic_load(&c.parts), n);
	}
	return NULL;
}

START_TEST(pool)
{
	for (int threads = 1; threads <= 5; threads++) {
		struct asker a = {.jobs = 150, .asked = threads};
		pthread_t other;
		struct mc_err err = {0};

		ck_assert_int_eq(mc_cpu_pool_new(&a.pool, threads, &err), 0);
		ck_assert_int_eq(mc_cpu_pool_threads(a.pool), threads);
		ck_assert_int_eq(pthread_create(&other, NULL, ask, &a), 0);
		ask(&a);
		pthread_join(other, NULL);
		mc_cpu_pool_free(a.pool);
	}
	mc_cpu_pool_free(NULL);
}
END_TEST

/* Parts cover 0 .. n - 1 once, in order, cut at multiples of the unit. */
START_TEST(parts)
{
	for (size_t n = 0; n <= 40; n++)
		for (size_t unit = 1; unit <= 9; unit += 4)
			for (int threads = 1; threads <= 7; threads++) {
				size_t at = 0, part[2];

				for (int i = 0; i < threads; i++) {
					mc_cpu_part(n, unit, i, threads, part);
					ck_assert_uint_eq(part[0], at);
					ck_assert(part[1] >= at && (part[1] == n || part[1] % unit == 0));
					at = part[1];
				}
				ck_assert_uint_eq(at, n);
			}
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("cpu");
	TCase *t = tcase_create("cpu");

	tcase_set_timeout(t, 30);
	tcase_add_loop_test(t, exponential, 0, vec_count());
	tcase_add_loop_test(t, products, 0, vec_count());
	tcase_add_loop_test(t, sums_of_rows, 0, vec_count());
	tcase_add_loop_test(t, running_softmax, 0, vec_count());
	tcase_add_loop_test(t, largest, 0, vec_count());
	tcase_add_loop_test(t, operators, 0, vec_count());
	tcase_add_test(t, threads_refused);
	tcase_add_test(t, decode_parts);
	tcase_add_test(t, same_for_any_threads);
	tcase_add_test(t, pool);
	tcase_add_test(t, parts);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
