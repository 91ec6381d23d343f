#include "model/grid.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

static int whole_order(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void steps_find_below(struct mc_steps *s)
{
	size_t n = (size_t)fmin(mc_steps_top(s), MC_STEPS_WHOLE) + 1, i = 0;

	s->below = mc_xcalloc(n, sizeof *s->below);
	for (size_t x = 1; x < n; x++) {
		if (i + 1 < s->n && (double)x >= s->at[i + 1])
			i++;
		s->below[x] = (uint32_t)i;
	}
}

void mc_steps_init(struct mc_steps *s, int64_t top, int bits, const struct mc_marks *marks)
{
	struct mc_octaves o = mc_octaves_to((double)top, bits);
	struct mc_marks all = {0};

	assert(top >= 2);
	mc_vec_push(&all, top);
	for (size_t i = 0; i < o.n; i++)
		mc_vec_push(&all, (int64_t)mc_octaves_at(&o, i));
	for (size_t i = 0; i < marks->n; i++)
		mc_vec_push(&all, marks->at[i]);
	qsort(all.at, all.n, sizeof *all.at, whole_order);
	s->at = mc_xcalloc(all.n, sizeof *s->at);
	s->n = 0;
	for (size_t i = 0; i < all.n; i++)
		if (all.at[i] >= 1 && all.at[i] <= top && (!s->n || (double)all.at[i] > s->at[s->n - 1]))
			s->at[s->n++] = (double)all.at[i];
	mc_vec_fini(&all);
	s->inverse = mc_xcalloc(s->n, sizeof *s->inverse);
	for (size_t i = 0; i + 1 < s->n; i++)
		s->inverse[i] = 1 / (s->at[i + 1] - s->at[i]);
	steps_find_below(s);
}

void mc_steps_fini(struct mc_steps *s)
{
	free(s->at);
	free(s->inverse);
	free(s->below);
	memset(s, 0, sizeof *s);
}

size_t mc_steps_bisect(const struct mc_steps *s, double x)
{
	size_t low = 0, high = s->n;

	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (s->at[mid] <= x)
			low = mid;
		else
			high = mid;
	}
	return low;
}

struct mc_octaves mc_octaves_to(double top, int bits)
{
	struct mc_octaves o = {.bits = bits, .top = 2};
	size_t octaves = 1;

	while (o.top < top) {
		o.top *= 2;
		octaves++;
	}
	o.n = (octaves << bits) + 1;
	return o;
}

double mc_octaves_at(const struct mc_octaves *o, size_t i)
{
	size_t steps = (size_t)1 << o->bits;

	return ldexp(1 + (double)(i % steps) / (double)steps, (int)(i / steps));
}

void mc_line_init(struct mc_line *l, const struct mc_steps *x, mc_grid_fn f, void *arg)
{
	l->x = *x;
	l->y = mc_xcalloc(x->n + 1, sizeof *l->y);
	for (size_t i = 0; i < x->n; i++)
		l->y[i] = f(arg, (int64_t)x->at[i], 0);
	l->y[x->n] = l->y[x->n - 1];
}

void mc_line_fini(struct mc_line *l)
{
	mc_steps_fini(&l->x);
	free(l->y);
	l->y = NULL;
}

static void fill_row(struct mc_plane *p, size_t i, mc_grid_fn f, void *arg)
{
	const struct mc_octaves *o = &p->y;
	double *row = p->z + i * (o->n + 1);
	int64_t x = (int64_t)p->x.at[i];

	for (size_t j = 0; j < o->n; j++) {
		double at = mc_octaves_at(o, j);
		int64_t whole = (int64_t)at;

		row[j] = f(arg, x, whole);
		if (at > (double)whole) /* in the first octaves */
			row[j] += (at - (double)whole) * (f(arg, x, whole + 1) - row[j]);
	}
	row[o->n] = row[o->n - 1];
}

void mc_plane_init(struct mc_plane *p, const struct mc_steps *x, struct mc_octaves y, mc_grid_fn f, void *arg)
{
	size_t width = y.n + 1;

	p->x = *x;
	p->y = y;
	p->z = mc_xcalloc((x->n + 1) * width, sizeof *p->z);
	for (size_t i = 0; i < x->n; i++)
		fill_row(p, i, f, arg);
	memcpy(p->z + x->n * width, p->z + (x->n - 1) * width, width * sizeof *p->z);
}

void mc_plane_fini(struct mc_plane *p)
{
	mc_steps_fini(&p->x);
	free(p->z);
	p->z = NULL;
}
