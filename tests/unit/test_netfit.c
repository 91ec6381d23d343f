/* Transfers that follow hw/nettime.h exactly, or but for noise, give their coefficients back. */
#include <math.h>
#include <string.h>

#include "base/vec.h"
#include "fit/netfit.h"
#include "fixture.h"
#include "unit.h"

static const struct mc_nettime truth = {.startup_s = 60e-6,
					.request_s = 15e-6,
					.slice_s = 7e-6,
					.peer_loss = 0.1,
					.nics = 2,
					.nic_bytes_per_s = 3e9};

static void push(struct mc_opsamples *s, const struct mc_nettime *t, struct mc_op_point p, double factor,
		 const char *flag)
{
	struct mc_opsample x = {.point = p, .spread_ratio = -1, .repeats = 1};

	x.seconds = mc_nettime_point_s(t, &p) * factor;
	strcpy(x.flag, flag);
	mc_vec_push(s, x);
}

static struct mc_op_point point(enum mc_op op, int64_t bytes, int64_t depth, int64_t slice, int64_t peers)
{
	struct mc_op_point p = {.op = op};

	p.dim[MC_DIM_BYTES] = bytes;
	p.dim[MC_DIM_DEPTH] = depth;
	p.dim[MC_DIM_SLICE] = slice;
	p.dim[MC_DIM_PEERS] = peers;
	p.dim[MC_DIM_NICS] = 2;
	return p;
}

/* A grid of it all; noise: the log of factors is uniform within that. */
static void grid(struct mc_opsamples *s, const struct mc_nettime *t, double noise)
{
	uint64_t state = 11;

	*s = (struct mc_opsamples){.device = (char *)"a [b]", .date = (char *)"2026-11-30"};
	for (int64_t bytes = 64; bytes <= 1 << 26; bytes *= 2)
		for (int64_t depth = 1; depth <= 16; depth *= 4)
			for (int64_t peers = 1; peers <= 3; peers++) {
				enum mc_op op = draw(&state, 2) ? MC_OP_NET_READ : MC_OP_NET_WRITE;
				double u = (double)draw(&state, 2001) / 1000 - 1;

				push(s, t, point(op, bytes, depth, 1 << 16, peers), exp(noise * u), "");
			}
}

static void near(double is, double want, double ratio)
{
	ck_assert_msg(fabs(is - want) <= ratio * want, "%g; expected %g", is, want);
}

START_TEST(exact_and_noisy)
{
	double noise = _i ? 0.1 : 0, close = _i ? 0.1 : 1e-6;
	struct mc_opsamples s;
	struct mc_netfit f;
	size_t n;

	grid(&s, &truth, noise);
	n = s.n;
	for (int k = 0; k < 20; k++) /* flagged ones say nothing */
		push(&s, &truth, point(MC_OP_NET_READ, 1 << 20, 2, 1 << 16, 1), 0.01,
		     k % 2 ? "bare" : "busy");
	for (int k = 0; k < 5; k += 2) /* other slices than most have: held apart */
		push(&s, &truth, point(MC_OP_NET_READ, 1 << 26, 1, 1 << (15 + k), 1), 3, "");
	for (int k = 0; k < 8; k++) { /* the same sum both ways as one way: twice the time it would take */
		push(&s, &truth, point(MC_OP_NET_BOTH, 1 << 26, 2, 1 << 16, 1), 2, "");
		push(&s, &truth, point(MC_OP_NET_WRITE, 1 << 26, 2, 1 << 16, 1), 0.5, "");
		s.at[s.n - 1].point.dim[MC_DIM_NICS] = 1 + 2 * (k % 2);
	}
	ck_assert(mc_netfit_samples(&f, &s, 1, _i ? 7 : 2)); /* of 7 NICs there are none: most have 2 */
	ck_assert_uint_eq(f.points, n);
	ck_assert_uint_eq(f.flagged, 10); /* what is bare is as it should be */
	ck_assert_uint_eq(f.t.nics, 2);
	near(f.t.startup_s, truth.startup_s, close);
	if (!_i) { /* noise hides which is which: requests up to a slice have one each */
		near(f.t.request_s, truth.request_s, close);
		near(f.t.slice_s, truth.slice_s, close);
		near(f.t.nic_bytes_per_s, truth.nic_bytes_per_s, close);
	}
	near(f.t.request_s + f.t.slice_s, truth.request_s + truth.slice_s, 3 * close);
	near(mc_nettime_bytes_per_s(&f.t), 2 / (1 / truth.nic_bytes_per_s + truth.slice_s / 65536), close);
	near(f.t.peer_loss, truth.peer_loss, 4 * close);
	near(f.t.slice_bytes, 1 << 16, 0);
	near(f.t.duplex, 1, 0.02);
	for (int k = 0; k < MC_NETFIT_LEFTS; k++) {
		ck_assert_uint_gt(f.left_out[k].points, n / 4);
		ck_assert_double_le(f.left_out[k].median, _i ? 0.2 : 1e-6);
		ck_assert_double_le(f.left_out[k].worst, _i ? 0.5 : 1e-3);
		ck_assert_double_le(fabs(f.left_out[k].bias), _i ? 0.05 : 1e-6);
	}
	ck_assert_uint_eq(f.left_out[MC_NETFIT_POINT].points, n);
	ck_assert_uint_eq(f.apart[MC_NETFIT_BOTH_WAYS].points, 8);
	near(1 + f.apart[MC_NETFIT_BOTH_WAYS].bias, 1, _i ? 0.1 : 0.01);
	ck_assert_uint_eq(f.apart[MC_NETFIT_OTHER_SLICES].points, 3);
	ck_assert_double_lt(f.apart[MC_NETFIT_OTHER_SLICES].bias, -0.5);
	ck_assert_uint_eq(f.apart[MC_NETFIT_OTHER_NICS].points, 8);
	mc_vec_fini(&s);
}
END_TEST

/* What isn't there isn't found: the simplest form, with noise as without. */
START_TEST(simplest_form)
{
	struct mc_nettime t = truth;
	struct mc_opsamples s;
	struct mc_netfit f;

	t.request_s = t.slice_s = t.peer_loss = 0;
	grid(&s, &t, _i ? 0.2 : 0);
	ck_assert(mc_netfit_samples(&f, &s, 1, 2));
	ck_assert(f.t.request_s == 0 && f.t.slice_s == 0 && f.t.peer_loss == 0);
	near(f.t.startup_s, truth.startup_s, 0.05);
	near(f.t.nic_bytes_per_s, truth.nic_bytes_per_s, 0.05);
	mc_vec_fini(&s);
	t.peer_loss = 0.5;
	grid(&s, &t, _i ? 0.2 : 0);
	ck_assert(mc_netfit_samples(&f, &s, 1, 2));
	ck_assert(f.t.request_s == 0 && f.t.slice_s == 0);
	near(f.t.peer_loss, 0.5, 0.2);
	ck_assert_double_eq(f.t.duplex, 2);
	mc_vec_fini(&s);
	t.duplex = 1.37; /* none of the samples both ways is seen, but for it */
	grid(&s, &t, 0);
	for (int k = 0; k < 12; k++)
		push(&s, &t, point(MC_OP_NET_BOTH, 1 << (14 + k), 2 + 2 * (k % 4), 1 << 16, 1), 1, "");
	ck_assert(mc_netfit_samples(&f, &s, 1, 2));
	near(f.t.duplex, 1.37, 1e-9);
	ck_assert_double_lt(f.apart[MC_NETFIT_BOTH_WAYS].worst, 1e-6);
	mc_vec_fini(&s);
}
END_TEST

START_TEST(too_little)
{
	struct mc_opsamples s = {.device = (char *)"", .date = (char *)""};
	struct mc_netfit f;

	ck_assert(!mc_netfit_samples(&f, &s, 1, 1));
	ck_assert_uint_eq(f.points + f.flagged, 0);
	for (int i = 0; i < 8; i++)
		push(&s, &truth, point(MC_OP_NET_READ, 4096, 1 + i, 65536, 1), 1, "");
	ck_assert(!mc_netfit_samples(&f, &s, 1, 2)); /* all of one size */
	ck_assert_uint_eq(f.points, 8);
	for (int i = 0; i < 8; i++)
		s.at[i].point.dim[MC_DIM_BYTES] = 4096 << i, s.at[i].seconds = 1;
	ck_assert(!mc_netfit_samples(&f, &s, 1, 2)); /* size doesn't matter */
	mc_vec_fini(&s);
}
END_TEST

static double number(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(json_object_get(o, "hardware"), key));
}

static const char *source(const json_t *o)
{
	return json_string_value(json_object_get(json_object_get(o, "hardware"), "source"));
}

/* Into a profile, which then predicts the samples. */
START_TEST(to_a_profile)
{
	struct mc_profile p = {.nics = 2,
			       .nic_bytes_per_s = _i ? 2e9 : 4e9,
			       .nic_list = (char *)"",
			       .net_efficiency = 1,
			       .gpus = 1,
			       .sockets = 1,
			       .pcie_switches = 1};
	json_t *o = json_pack("{s:{s:s, s:s, s:s}}", "hardware", "source", "a sheet", "nic_bandwidth",
			      "4GB/s", "nic_bandwidths", "4GB/s,4GB/s");
	struct mc_opsamples s;
	struct mc_nettime t;
	struct mc_netfit f;

	grid(&s, &truth, 0);
	ck_assert(mc_netfit_samples(&f, &s, 1, 2));
	for (int again = 0; again < 2; again++)
		ck_assert_int_eq(mc_netfit_apply(&f, o, &p), _i);
	ck_assert_str_eq(source(o),
			 _i ? "a sheet [measured: nic_bandwidth of a (b), 2026-11-30] [measured: net_ "
			      "keys of a (b), 2026-11-30]"
			    : "a sheet [measured: net_ keys of a (b), 2026-11-30]");
	ck_assert_int_eq(json_object_get(json_object_get(o, "hardware"), "nic_bandwidths") != NULL, !_i);
	p.net_startup_s = number(o, "net_startup_s");
	p.net_request_s = number(o, "net_request_s");
	p.net_slice_s = number(o, "net_slice_s");
	p.net_slice_bytes = (int64_t)number(o, "net_slice");
	p.net_peer_loss = number(o, "net_peer_loss");
	p.net_efficiency = number(o, "net_efficiency");
	p.nic_bytes_per_s = _i ? number(o, "nic_bandwidth") : 4e9;
	near(p.net_efficiency, _i ? 1 : 0.75, 1e-3);
	mc_nettime_init(&t, &p);
	for (size_t i = 0; i < s.n; i++)
		near(mc_nettime_point_s(&t, &s.at[i].point), s.at[i].seconds, 1e-3);
	mc_vec_fini(&s);
	json_decref(o);
}
END_TEST

/* Requests of one slice each, as perftest's: what each costs is a request's, and no slice of 2 bytes comes of
 * it, which would cost as much once more for every 2 bytes of a transfer. */
START_TEST(whole_requests)
{
	struct mc_profile p = {
	    .nics = 2, .nic_bytes_per_s = 4e9, .nic_list = (char *)"", .net_efficiency = 1};
	json_t *o = json_pack("{s:{s:s, s:i}}", "hardware", "source", "a sheet", "net_slice", 4096);
	struct mc_opsamples s = {.device = (char *)"", .date = (char *)""};
	struct mc_netfit f;

	for (int64_t bytes = 2; bytes <= 1 << 23; bytes *= 2)
		for (int64_t depth = 1; depth <= 128; depth *= 128)
			push(&s, &truth, point(MC_OP_NET_WRITE, bytes, depth, bytes, 1), 1, "");
	ck_assert(mc_netfit_samples(&f, &s, 1, 2));
	ck_assert(!f.sliced && f.t.slice_s == 0);
	near(f.t.startup_s, truth.startup_s, 1e-3);
	near(f.t.request_s, truth.request_s + truth.slice_s, 1e-3);
	near(f.t.nic_bytes_per_s, truth.nic_bytes_per_s, 1e-3);
	near(mc_nettime_bytes_per_s(&f.t), 2 * truth.nic_bytes_per_s, 1e-3);
	mc_netfit_apply(&f, o, &p);
	ck_assert_double_eq(number(o, "net_slice"), 4096);
	ck_assert_double_eq(number(o, "net_slice_s"), 0);
	mc_vec_fini(&s);
	json_decref(o);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("netfit");
	TCase *t = tcase_create("netfit");

	tcase_add_loop_test(t, exact_and_noisy, 0, 2);
	tcase_add_loop_test(t, simplest_form, 0, 2);
	tcase_add_test(t, too_little);
	tcase_add_loop_test(t, to_a_profile, 0, 2);
	tcase_add_test(t, whole_requests);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
