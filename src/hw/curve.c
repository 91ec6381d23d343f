#include "hw/curve.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define KNOTS_MAX 100000 /* of a curve */
/* A time is given to 6 digits. */
#define EQUAL 0.99999

double mc_op_work_s(const struct mc_op_point *p, const struct mc_op_limits *l, double element_bytes)
{
	static const struct mc_op_limits unknown = {1e15, 1e12, 1e12, 1e12, 1e12, 1e12, 1e12};
	struct mc_op_limits only = *l;
	double moved, done;

	only.flops = 0;
	moved = mc_op_floor_s(p, &only, element_bytes);
	if (moved == 0)
		moved = mc_op_bytes(p, element_bytes) / unknown.memory_bytes_per_s;
	done = mc_op_flops(p) / (l->flops > 0 ? l->flops : unknown.flops);
	return moved + done;
}

double mc_curve_coordinate(enum mc_dim d, double x)
{
	return log(d == MC_DIM_CONTEXT ? 1 + x : x);
}

bool mc_curve_matches(const struct mc_curve *c, const struct mc_op_point *p)
{
	if (p->op != c->fixed.op)
		return false;
	for (int d = 0; d < MC_DIMS; d++)
		if (c->fixed.dim[d] && p->dim[d] != c->fixed.dim[d])
			return false;
	return true;
}

bool mc_curve_covers(const struct mc_curve *c, const struct mc_op_point *p)
{
	for (int a = 0; a < c->axes; a++) {
		double x = (double)p->dim[c->dim[a]];

		if (x < c->at[a][0] || x > c->at[a][c->n[a] - 1])
			return false;
	}
	return true;
}

/* Knot at or below x (at most the last but one) and the share of the way to the next; x is within the knots.
 */
static size_t locate(const struct mc_curve *c, int a, double x, double *share)
{
	size_t low = 0, high = c->n[a] - 1;
	double from, to;

	if (c->n[a] == 1) {
		*share = 0;
		return 0;
	}
	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (c->at[a][mid] <= x)
			low = mid;
		else
			high = mid;
	}
	from = mc_curve_coordinate(c->dim[a], c->at[a][low]);
	to = mc_curve_coordinate(c->dim[a], c->at[a][low + 1]);
	*share = (mc_curve_coordinate(c->dim[a], x) - from) / (to - from);
	return low;
}

/* Multilinear between the knots around `inside`, all corners in one order. */
static double between(const struct mc_curve *c, const struct mc_op_point *inside)
{
	size_t low[MC_CURVE_AXES];
	double share[MC_CURVE_AXES], sum = 0;

	for (int a = 0; a < c->axes; a++)
		low[a] = locate(c, a, (double)inside->dim[c->dim[a]], &share[a]);
	for (unsigned corner = 0; corner < 1u << c->axes; corner++) {
		double weight = 1;
		size_t i = 0;

		for (int a = 0; a < c->axes; a++) {
			bool up = corner >> a & 1;

			weight *= up ? share[a] : 1 - share[a];
			i = i * c->n[a] + low[a] + (up && c->n[a] > 1);
		}
		if (weight != 0)
			sum += weight * c->log_s[i];
	}
	return sum;
}

/* Ratio of work; 1 where work is not known. */
static double growth(const struct mc_curve *c, const struct mc_op_point *from, const struct mc_op_point *to)
{
	double work_s = mc_op_work_s(from, &c->limits, c->element_bytes);

	return work_s > 0 ? mc_op_work_s(to, &c->limits, c->element_bytes) / work_s : 1;
}

double mc_curve_s(const struct mc_curve *c, const struct mc_op_point *p)
{
	struct mc_op_point inside = *p, edge = *p;
	bool beyond = false;
	double s, floor_s;

	assert(mc_curve_matches(c, p));
	for (int a = 0; a < c->axes; a++) {
		double x = (double)p->dim[c->dim[a]], first = c->at[a][0], last = c->at[a][c->n[a] - 1];

		inside.dim[c->dim[a]] = (int64_t)(x < first ? first : x > last ? last : x);
		/* Below the first knot the time, and so the work, is the first knot's. */
		edge.dim[c->dim[a]] = (int64_t)(x < first ? first : x);
		beyond |= x > last;
	}
	s = exp(between(c, &inside));
	if (c->over_work)
		s *= mc_op_work_s(&edge, &c->limits, c->element_bytes);
	else if (beyond)
		s *= growth(c, &inside, &edge);
	floor_s = mc_op_floor_s(p, &c->limits, c->element_bytes);
	return s > floor_s ? s : floor_s;
}

void mc_curve_fini(struct mc_curve *c)
{
	for (int a = 0; a < MC_CURVE_AXES; a++)
		free(c->at[a]);
	free(c->log_s);
	free(c->source);
	memset(c, 0, sizeof *c);
}

static int load_fixed(struct mc_curve *c, const json_t *fixed, struct mc_err *err)
{
	json_t *o = (json_t *)(uintptr_t)fixed, *v; /* jansson iterates over non-const objects only */
	const char *name;

	if (!fixed)
		return MC_OK;
	if (!json_is_object(fixed))
		return mc_err_key(err, MC_USAGE, "fixed", "is not an object of dimensions");
	json_object_foreach(o, name, v)
	{
		enum mc_dim d = mc_dim_find(name);

		if (d == MC_DIMS || !(mc_op_dims[c->fixed.op] >> d & 1))
			return mc_err_key(err, MC_USAGE, name, "is no dimension of this operator");
		if (!json_is_integer(v) || json_integer_value(v) < 1)
			return mc_err_key(err, MC_USAGE, name, "is not a whole number from 1");
		c->fixed.dim[d] = json_integer_value(v);
	}
	return MC_OK;
}

static int load_axis(struct mc_curve *c, const json_t *axis, struct mc_err *err)
{
	const char *name = json_string_value(json_object_get(axis, "dim"));
	const json_t *at = json_object_get(axis, "at");
	enum mc_dim d = name ? mc_dim_find(name) : MC_DIMS;
	size_t n = json_array_size(at);
	int a = c->axes;

	if (json_object_size(axis) != 2 || d == MC_DIMS || !(mc_op_dims[c->fixed.op] >> d & 1) ||
	    c->fixed.dim[d])
		return mc_err_key(
		    err, MC_USAGE, "axes",
		    "holds no {\"dim\", \"at\"} of a dimension of this operator that is not fixed");
	for (int b = 0; b < a; b++)
		if (c->dim[b] == d)
			return mc_err_key(err, MC_USAGE, "axes", "names a dimension twice");
	if (!n || n > KNOTS_MAX)
		return mc_err_key(err, MC_USAGE, "at", "is not a list of 1 to 100,000 numbers");
	c->dim[a] = d;
	c->n[a] = n;
	c->at[a] = mc_xcalloc(n, sizeof *c->at[a]);
	c->axes++;
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(at, i);
		json_int_t x = json_integer_value(v);

		if (!json_is_integer(v) || x < (d != MC_DIM_CONTEXT) || (i && (double)x <= c->at[a][i - 1]))
			return mc_err_key(err, MC_USAGE, "at", "is not a list of increasing whole numbers");
		c->at[a][i] = (double)x;
	}
	return MC_OK;
}

size_t mc_curve_knots(const struct mc_curve *c)
{
	size_t n = 1;

	for (int a = 0; a < c->axes; a++)
		n *= c->n[a];
	return n;
}

struct mc_op_point mc_curve_knot(const struct mc_curve *c, size_t i)
{
	struct mc_op_point p = c->fixed;

	for (int a = c->axes - 1; a >= 0; a--) {
		p.dim[c->dim[a]] = (int64_t)c->at[a][i % c->n[a]];
		i /= c->n[a];
	}
	return p;
}

static int load_seconds(struct mc_curve *c, const json_t *seconds, struct mc_err *err)
{
	size_t n = mc_curve_knots(c);

	if (n > KNOTS_MAX || json_array_size(seconds) != n)
		return mc_err_key(err, MC_USAGE, "seconds",
				  "is not a list of as many numbers as there are knots, at most 100,000");
	c->log_s = mc_xcalloc(n, sizeof *c->log_s);
	for (size_t i = 0; i < n; i++) {
		double s = json_number_value(json_array_get(seconds, i)), work_s;
		struct mc_op_point p = mc_curve_knot(c, i);

		if (!(s > 0 && s <= 1e6))
			return mc_err_key(err, MC_USAGE, "seconds",
					  "holds what is not a number above 0 and at most 1,000,000");
		if (s < EQUAL * mc_op_floor_s(&p, &c->limits, c->element_bytes))
			return mc_err_key(err, MC_USAGE, "seconds",
					  "number %zu is %.3g, below the %.3g that the hardware allows",
					  i + 1, s, mc_op_floor_s(&p, &c->limits, c->element_bytes));
		work_s = mc_op_work_s(&p, &c->limits, c->element_bytes);
		if (c->over_work && work_s == 0)
			return mc_err_key(err, MC_USAGE, "between",
					  "is \"work\", which this operator doesn't count");
		c->log_s[i] = log(c->over_work ? s / work_s : s);
	}
	return MC_OK;
}

int mc_curve_error_load(struct mc_curve_error *e, const json_t *o, struct mc_err *err)
{
	const char *at = json_string_value(json_object_get(o, "worst_at"));

	if (!o)
		return MC_OK;
	e->points = json_integer_value(json_object_get(o, "points"));
	e->median = json_number_value(json_object_get(o, "median"));
	e->p95 = json_number_value(json_object_get(o, "p95"));
	e->worst = json_number_value(json_object_get(o, "worst"));
	strncat(e->worst_at, at ? at : "", sizeof e->worst_at - 1);
	if (!json_is_object(o) || e->points < 0 || e->median < 0 || e->p95 < e->median || e->worst < e->p95)
		return mc_err_key(err, MC_USAGE, "error",
				  "is not an object of points, median <= p95 <= worst, worst_at");
	return MC_OK;
}

static int load(struct mc_curve *c, const json_t *o, struct mc_err *err)
{
	static const char *const keys[] = {"op", "fixed", "axes", "seconds", "between", "error", "source"};
	const char *op = json_string_value(json_object_get(o, "op"));
	const char *how = json_string_value(json_object_get(o, "between"));
	const char *source = json_string_value(json_object_get(o, "source"));
	const json_t *axes = json_object_get(o, "axes");
	size_t known = 0;
	int rc;

	if (!json_is_object(o))
		return mc_err_set(err, MC_USAGE, "is not an object");
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
		known += json_object_get(o, keys[i]) != NULL;
	if (known != json_object_size(o))
		return mc_err_set(
		    err, MC_USAGE,
		    "has an unknown key; expected op, fixed, axes, seconds, between, error, source");
	c->fixed.op = op ? mc_op_find(op) : MC_OPS;
	if (c->fixed.op == MC_OPS)
		return mc_err_key(err, MC_USAGE, "op", "is no operator");
	if (how && strcmp(how, "seconds") && strcmp(how, "work"))
		return mc_err_key(err, MC_USAGE, "between", "is neither \"seconds\" nor \"work\"");
	c->over_work = how && !strcmp(how, "work");
	c->source = mc_xstrdup(source ? source : "");
	if (!json_array_size(axes) || json_array_size(axes) > MC_CURVE_AXES)
		return mc_err_key(err, MC_USAGE, "axes", "is not a list of 1 to 3 axes");
	rc = load_fixed(c, json_object_get(o, "fixed"), err);
	for (size_t i = 0; i < json_array_size(axes) && !rc; i++)
		rc = load_axis(c, json_array_get(axes, i), err);
	for (int d = 0; d < MC_DIMS && !rc; d++) {
		bool on_axis = false;

		for (int a = 0; a < c->axes; a++)
			on_axis |= (int)c->dim[a] == d;
		if ((mc_op_dims[c->fixed.op] >> d & 1) && !on_axis && !c->fixed.dim[d])
			rc = mc_err_key(err, MC_USAGE, mc_dim_names[d], "is neither fixed nor an axis");
	}
	if (!rc)
		rc = load_seconds(c, json_object_get(o, "seconds"), err);
	return rc ? rc : mc_curve_error_load(&c->error, json_object_get(o, "error"), err);
}

int mc_curve_load(struct mc_curve *c, const json_t *object, const struct mc_op_limits *l,
		  double element_bytes, struct mc_err *err)
{
	int rc;

	memset(c, 0, sizeof *c);
	c->limits = *l;
	c->element_bytes = element_bytes;
	rc = load(c, object, err);
	if (rc)
		mc_curve_fini(c);
	return rc;
}
