#include "calib/nettable.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "calib/measure.h"

/* Medians of a point's visits. */
struct row {
	const struct mc_opsample *s;
	double seconds;
	bool bare;
};

struct rows {
	MC_VEC(struct row)
};

static const int64_t *dims(const struct row *r)
{
	return r->s->point.dim;
}

static bool same(const struct mc_opsample *a, const struct mc_opsample *b)
{
	return a->point.op == b->point.op && !strcmp(a->flag, b->flag) &&
	       !memcmp(a->point.dim, b->point.dim, sizeof a->point.dim);
}

static int compare_samples(const void *va, const void *vb)
{
	const struct mc_opsample *a = *(const struct mc_opsample *const *)va,
				 *b = *(const struct mc_opsample *const *)vb;
	int64_t x = a->point.dim[MC_DIM_BYTES], y = b->point.dim[MC_DIM_BYTES];
	int c;

	if (a->point.op != b->point.op)
		return a->point.op < b->point.op ? -1 : 1;
	if (x != y)
		return x < y ? -1 : 1;
	c = memcmp(a->point.dim, b->point.dim, sizeof a->point.dim);
	return c ? c : strcmp(a->flag, b->flag);
}

/* Those of transfers that count, by op and size; a point's stand together. */
static void sort(const struct mc_opsamples *s, struct rows *out)
{
	const struct mc_opsample **all = mc_xcalloc(s->n + 1, sizeof *all);
	struct mc_calib_series visits = {0};
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		if (mc_op_is_net(s->at[i].point.op) &&
		    (!s->at[i].flag[0] || mc_opsample_bare(&s->at[i])))
			all[n++] = &s->at[i];
	if (n)
		qsort(all, n, sizeof *all, compare_samples);
	for (size_t i = 0; i < n; i++) {
		struct mc_calib_summary sum;

		mc_vec_push(&visits, all[i]->seconds);
		if (i + 1 < n && same(all[i], all[i + 1]))
			continue;
		mc_calib_summarise(&visits, &sum);
		mc_vec_push(out, ((struct row){all[i], sum.median, all[i]->flag[0] != 0}));
		visits.n = 0;
	}
	mc_vec_fini(&visits);
	free(all);
}

static double rate(const struct row *r)
{
	const int64_t *d = dims(r);

	return (double)d[MC_DIM_BYTES] * (double)(d[MC_DIM_DEPTH] * d[MC_DIM_PEERS]) / r->seconds;
}

/* Of rows of one op, size and peer: alone[bare], the shortest of depth 1; most[bare], the highest
 * rate. NULL where there is none. */
struct best {
	const struct row *alone[2], *most[2];
};

static void look(struct best *b, const struct row *r)
{
	const int64_t *d = dims(r);

	if (d[MC_DIM_PEERS] > 1)
		return; /* the plain ways are to one */
	if (d[MC_DIM_DEPTH] == 1 && (!b->alone[r->bare] || r->seconds < b->alone[r->bare]->seconds))
		b->alone[r->bare] = r;
	if (!b->most[r->bare] || rate(r) > rate(b->most[r->bare]))
		b->most[r->bare] = r;
}

/* "64 B", "96 MiB"; others in bytes. */
static const char *size_text(int64_t bytes, char text[32])
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB"};
	int u = 0;

	while (u < 3 && bytes >= 1024 && bytes % 1024 == 0) {
		bytes /= 1024;
		u++;
	}
	snprintf(text, 32, "%lld %s", (long long)bytes, units[u]);
	return text;
}

static void figure(double v, FILE *out)
{
	if (v > 0)
		fprintf(out, " %9.*f", v < 0.1 ? 4 : v < 10 ? 2 : v < 1000 ? 1 : 0, v);
	else
		fprintf(out, " %9s", "");
}

static void both(double engine, double bare, FILE *out)
{
	figure(engine, out);
	figure(bare, out);
	if (engine > 0 && bare > 0)
		fprintf(out, " %7.2f", engine / bare);
	else
		fprintf(out, " %7s", "");
}

static double us(const struct row *r)
{
	return r ? 1e6 * r->seconds : 0;
}

static double mbs(const struct row *r)
{
	return r ? rate(r) / 1e6 : 0;
}

static void line(const struct best *b, FILE *out)
{
	const struct row *any = b->most[0] ? b->most[0] : b->most[1];
	char size[32];

	if (!any)
		return;
	fprintf(out, "%-9s %10s", mc_op_names[any->s->point.op], size_text(dims(any)[MC_DIM_BYTES], size));
	both(us(b->alone[0]), us(b->alone[1]), out);
	fputs("  ", out);
	both(mbs(b->most[0]), mbs(b->most[1]), out);
	if (b->most[0]) {
		const int64_t *d = dims(b->most[0]);

		fprintf(out, "   %lld", (long long)d[MC_DIM_DEPTH]);
		fprintf(out, ", %s", size_text(d[MC_DIM_SLICE], size));
		if (d[MC_DIM_NICS] > 1)
			fprintf(out, ", %lld ports", (long long)d[MC_DIM_NICS]);
	}
	fputc('\n', out);
}

void mc_nettable_print(const struct mc_opsamples *s, FILE *out)
{
	struct rows rows = {0};
	struct best b = {0};

	sort(s, &rows);
	if (rows.n)
		fprintf(out, "%-9s %10s %28s   %28s\n%-9s %10s %9s %9s %7s   %9s %9s %7s   %s\n", "", "",
			"alone, us", "most, MB/s", "", "size", "engine", "bare", "ratio", "engine", "bare",
			"ratio", "with");
	for (size_t i = 0; i < rows.n; i++) {
		const struct row *r = &rows.at[i], *next = i + 1 < rows.n ? r + 1 : NULL;

		look(&b, r);
		if (next && next->s->point.op == r->s->point.op &&
		    dims(next)[MC_DIM_BYTES] == dims(r)[MC_DIM_BYTES])
			continue;
		line(&b, out);
		b = (struct best){0};
	}
	mc_vec_fini(&rows);
}
