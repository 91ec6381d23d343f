#include "calib/disktable.h"

#include <math.h>
#include <string.h>

#include "base/units.h"

/* Nearest rank, of a sorted series. */
static double quantile(const struct mc_calib_series *s, double q)
{
	size_t rank = (size_t)ceil(q * (double)s->n);

	return s->at[rank ? rank - 1 : 0];
}

void mc_disk_table_add(struct mc_disk_table *t, const struct mc_disk_point *p, struct mc_calib_series *s)
{
	struct mc_calib_summary sorts;

	if (!s->n)
		return;
	mc_calib_summarise(s, &sorts);
	mc_vec_push(t, ((struct mc_disk_latency){*p, quantile(s, 0.5), quantile(s, 0.9), quantile(s, 0.99),
						 quantile(s, 0.999), s->at[s->n - 1]}));
}

void mc_disk_table_fini(struct mc_disk_table *t)
{
	mc_vec_fini(t);
}

static struct mc_disk_point point_of(const struct mc_opsample *s)
{
	return (struct mc_disk_point){s->point.op == MC_OP_DISK_WRITE, s->point.dim[MC_DIM_BYTES],
				      s->point.dim[MC_DIM_DEPTH]};
}

static bool same(const struct mc_disk_point *a, const struct mc_disk_point *b)
{
	return a->write == b->write && a->bytes == b->bytes && a->depth == b->depth;
}

static const struct mc_disk_latency *latency_of(const struct mc_disk_table *t, const struct mc_disk_point *p)
{
	for (size_t i = t->n; i > 0; i--)
		if (same(&t->at[i - 1].point, p))
			return &t->at[i - 1];
	return NULL;
}

/* Reads first, then by size, by depth, and as they were measured. */
static int compare(const void *va, const void *vb)
{
	const struct mc_opsample *const *a = va, *const *b = vb;
	struct mc_disk_point p = point_of(*a), q = point_of(*b);

	if (p.write != q.write)
		return p.write - q.write;
	if (p.bytes != q.bytes)
		return p.bytes < q.bytes ? -1 : 1;
	if (p.depth != q.depth)
		return p.depth < q.depth ? -1 : 1;
	return *a < *b ? -1 : 1;
}

/* "4 KiB", "16 MiB" */
static const char *size_text(int64_t bytes, char text[24])
{
	bool mega = bytes % (1 << 20) == 0;

	snprintf(text, 24, "%lld %s", (long long)(bytes >> (mega ? 20 : 10)), mega ? "MiB" : "KiB");
	return text;
}

static void line(const struct mc_disk_table *t, const struct mc_opsample *s, FILE *out)
{
	const struct mc_disk_point p = point_of(s);
	const struct mc_disk_latency *l = p.depth == 1 ? latency_of(t, &p) : NULL;
	double requests = 1 / s->seconds;
	char size[24];

	fprintf(out, "%-5s %8s %5lld %10.1f %10.0f %7.1f", p.write ? "write" : "read",
		size_text(p.bytes, size), (long long)p.depth, (double)p.bytes * requests / 1e6, requests,
		100 * fmax(0, s->spread_ratio));
	if (l)
		fprintf(out, " %8.1f %8.1f %8.1f %8.1f %8.1f", 1e6 * l->p50, 1e6 * l->p90, 1e6 * l->p99,
			1e6 * l->p999, 1e6 * l->max);
	fprintf(out, "%s%s\n", *s->flag ? "  " : "", s->flag);
}

void mc_disk_table_print(const struct mc_disk_table *t, const struct mc_opsamples *s, FILE *out)
{
	struct {
		MC_VEC(const struct mc_opsample *)
	} rows = {0};

	for (size_t i = 0; i < s->n; i++)
		if (s->at[i].point.op == MC_OP_DISK_READ || s->at[i].point.op == MC_OP_DISK_WRITE)
			mc_vec_push(&rows, &s->at[i]);
	if (rows.n)
		qsort(rows.at, rows.n, sizeof *rows.at, compare);
	fprintf(out, "%-5s %8s %5s %10s %10s %7s | alone, us: %s\n", "", "size", "depth", "MB/s",
		"requests/s", "spread%", "p50      p90      p99    p99.9      max");
	for (size_t i = 0; i < rows.n; i++)
		line(t, rows.at[i], out);
	mc_vec_fini(&rows);
}
