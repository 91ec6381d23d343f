/* Inside of a node: the topology matrix, ways, and when its NICs are as good as one. */
#include "unit.h"

#include <gsl/gsl_rng.h>
#include <math.h>
#include <string.h>

#include "des/stream.h"
#include "net/topology.h"

static const double nic[16] = {25e9, 25e9, 25e9, 25e9, 25e9, 25e9, 25e9, 25e9,
			       25e9, 25e9, 25e9, 25e9, 25e9, 25e9, 25e9, 25e9};

/* Eight GPUs and eight NICs in pairs behind four switches, two a socket. */
static const struct mc_node hgx = {.nics = 8, .gpus = 8, .sockets = 2, .switches = 4, .nic_bytes_per_s = nic};

#define SOCKET(i) ((struct mc_memory){MC_MEMORY_SOCKET, i})
#define GPU(i)    ((struct mc_memory){MC_MEMORY_GPU, i})
#define STRIPED   ((struct mc_memory){MC_MEMORY_STRIPED, 0})

/* Preferred NICs of every memory, as a string of 0 and 1. */
static void matrix_row(const struct mc_node *node, struct mc_memory memory, char *buf)
{
	for (uint32_t i = 0; i < node->nics; i++)
		buf[i] = mc_node_prefers(node, memory, i) ? '1' : '0';
	buf[node->nics] = 0;
}

START_TEST(topology_matrix)
{
	static const struct {
		struct mc_memory memory;
		const char *row;
	} want[] = {{{MC_MEMORY_SOCKET, 0}, "11110000"}, {{MC_MEMORY_SOCKET, 1}, "00001111"},
		    {{MC_MEMORY_GPU, 0}, "11000000"},    {{MC_MEMORY_GPU, 1}, "11000000"},
		    {{MC_MEMORY_GPU, 5}, "00001100"},    {{MC_MEMORY_GPU, 7}, "00000011"},
		    {{MC_MEMORY_STRIPED, 0}, "11111111"}};
	char row[17];

	for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
		matrix_row(&hgx, want[i].memory, row);
		ck_assert_str_eq(row, want[i].row);
	}
	ck_assert_uint_eq(mc_node_distance(&hgx, GPU(0), 1), 0);
	ck_assert_uint_eq(mc_node_distance(&hgx, GPU(0), 3), 1);
	ck_assert_uint_eq(mc_node_distance(&hgx, GPU(0), 4), 2);
}
END_TEST

/* Two NICs for four switches: GPUs without a NIC of their switch take the socket's; without any, all. */
START_TEST(next_best)
{
	struct mc_node few = {.nics = 2, .gpus = 8, .sockets = 2, .switches = 4, .nic_bytes_per_s = nic};
	struct mc_node one = {.nics = 1, .gpus = 2, .sockets = 2, .switches = 2, .nic_bytes_per_s = nic};
	char row[17];

	/* NICs are behind switches 0 and 2. */
	matrix_row(&few, GPU(2), row);
	ck_assert_str_eq(row, "10");
	matrix_row(&few, GPU(7), row);
	ck_assert_str_eq(row, "01");
	matrix_row(&one, GPU(1), row);
	ck_assert_str_eq(row, "1");
	matrix_row(&one, SOCKET(1), row);
	ck_assert_str_eq(row, "1");
}
END_TEST

static void check_way(const struct mc_node *node, struct mc_memory memory, uint32_t n, bool out,
		      const char *want)
{
	uint32_t part[MC_NODE_WAY], k = mc_node_way(node, memory, n, out, part);
	char text[128] = "", name[32];

	for (uint32_t i = 0; i < k; i++) {
		mc_node_part_name(node, part[i], name, sizeof name);
		strcat(strcat(text, i ? " " : ""), name);
	}
	ck_assert_str_eq(text, want);
}

START_TEST(ways)
{
	struct mc_node all = hgx;

	check_way(&hgx, SOCKET(0), 7, true, "nic7.out");
	all.host_bytes_per_s = all.socket_bytes_per_s = all.switch_bytes_per_s = 1e9;
	check_way(&all, SOCKET(0), 1, true, "host.out switch0.down nic1.out");
	check_way(&all, SOCKET(0), 7, true, "host.out socket0 switch3.down nic7.out");
	check_way(&all, SOCKET(0), 7, false, "host.in socket1 switch3.up nic7.in");
	check_way(&all, GPU(0), 1, true, "nic1.out");
	check_way(&all, GPU(0), 2, true, "switch0.up switch1.down nic2.out");
	check_way(&all, GPU(7), 0, true, "switch3.up socket1 switch0.down nic0.out");
	check_way(&all, GPU(7), 0, false, "switch3.down socket0 switch0.up nic0.in");
	all.socket_bytes_per_s = 0;
	check_way(&all, STRIPED, 7, false, "host.in switch3.up nic7.in");
}
END_TEST

static void check_shares(const struct mc_node *node, struct mc_memory memory, bool preferred,
			 const bool *alive, const double *want)
{
	double share[16];
	bool any = false;

	for (uint32_t i = 0; i < node->nics; i++)
		any |= want[i] > 0;
	ck_assert_int_eq(mc_node_shares(node, memory, preferred, alive, share), any);
	for (uint32_t i = 0; i < node->nics; i++)
		ck_assert_double_eq_tol(share[i], want[i], 1e-15);
}

START_TEST(shares_of_the_nics)
{
	static const double speed[] = {10e9, 10e9, 20e9, 40e9};
	static const bool alive[] = {false, true, true, true}, half[] = {false, false, true, true},
			  dead[4] = {false};
	struct mc_node node = {.nics = 4, .sockets = 2, .switches = 2, .nic_bytes_per_s = speed};

	check_shares(&node, STRIPED, false, NULL, (double[]){0.125, 0.125, 0.25, 0.5});
	check_shares(&node, SOCKET(0), false, NULL, (double[]){0.125, 0.125, 0.25, 0.5});
	check_shares(&node, SOCKET(0), true, NULL, (double[]){0.5, 0.5, 0, 0});
	check_shares(&node, SOCKET(0), true, alive, (double[]){0, 1, 0, 0});
	/* No preferred one lives: the secondary ones. */
	check_shares(&node, SOCKET(0), true, half, (double[]){0, 0, 1 / 3., 2 / 3.});
	check_shares(&node, SOCKET(0), true, dead, (double[]){0, 0, 0, 0});
	check_shares(&node, SOCKET(1), false, dead, (double[]){0, 0, 0, 0});
}
END_TEST

static void check_lump(const struct mc_node *node, struct mc_memory memory, bool preferred, double want)
{
	double out, in;
	bool lumps = mc_node_lumps(node, (struct mc_node_use){memory, preferred}, &out, &in);

	ck_assert_int_eq(lumps, want > 0);
	if (lumps) {
		ck_assert_double_eq_tol(out, want, 1e-3);
		ck_assert_double_eq_tol(in, want, 1e-3);
	}
}

START_TEST(lumps)
{
	static const double mixed[] = {25e9, 25e9, 25e9, 50e9};
	struct mc_node n = hgx;

	check_lump(&n, STRIPED, false, 200e9);
	check_lump(&n, STRIPED, true, 200e9);
	check_lump(&n, SOCKET(0), false, 200e9);
	check_lump(&n, SOCKET(0), true, 100e9);
	check_lump(&n, GPU(0), true, 50e9);
	n.host_bytes_per_s = 95e9;
	check_lump(&n, STRIPED, false, 95e9);
	check_lump(&n, GPU(0), true, 50e9);
	n.host_bytes_per_s = 0;
	n.switch_bytes_per_s = 30e9;
	check_lump(&n, STRIPED, false, 120e9);
	/* A GPU's bytes to its own switch cross no link, those to the others do. */
	check_lump(&n, GPU(0), true, 50e9);
	check_lump(&n, GPU(0), false, 0);
	n.switch_bytes_per_s = 0;
	/* A quarter of what is striped leaves a socket each way: 100e9 of 200e9 both ways together. */
	n.socket_bytes_per_s = 100e9;
	check_lump(&n, STRIPED, false, 200e9);
	n.socket_bytes_per_s = 99e9;
	check_lump(&n, STRIPED, false, 0);
	check_lump(&n, STRIPED, true, 200e9);
	check_lump(&n, SOCKET(1), false, 0);
	/* NICs of different speeds take bytes in proportion, switches don't. */
	n = (struct mc_node){.nics = 4, .sockets = 2, .switches = 2, .nic_bytes_per_s = mixed};
	check_lump(&n, STRIPED, false, 125e9);
	check_lump(&n, STRIPED, true, 0);
	n.switch_bytes_per_s = 40e9;
	check_lump(&n, STRIPED, false, 0);
	/* Three NICs behind two switches. */
	n = (struct mc_node){
	    .nics = 3, .sockets = 1, .switches = 2, .nic_bytes_per_s = nic, .switch_bytes_per_s = 40e9};
	check_lump(&n, STRIPED, false, 0);
	n.switch_bytes_per_s = 50e9;
	check_lump(&n, STRIPED, false, 75e9);
}
END_TEST

/* Marginals of the pairs are the two divisions; every share is positive; at most na + nb - 1 of them. */
START_TEST(crossing_shares)
{
	gsl_rng *rng = mc_stream_new(1, "cross", 0);

	for (int round = 0; round < 3000; round++) {
		double a[12], b[12], sum_a[12] = {0}, sum_b[12] = {0}, total[2] = {0}, share;
		uint32_t n[2], i, j, pairs = 0;
		struct mc_shares_cross x;

		for (int side = 0; side < 2; side++) {
			double *s = side ? b : a;
			int weighted = (int)gsl_rng_uniform_int(rng, 2);

			n[side] = 1 + (uint32_t)gsl_rng_uniform_int(rng, 12);
			for (uint32_t k = 0; k < n[side]; k++) {
				s[k] = k && !gsl_rng_uniform_int(rng, 4) ? 0
				       : weighted                        ? 0.1 + gsl_rng_uniform(rng)
									 : 1;
				total[side] += s[k];
			}
			for (uint32_t k = 0; k < n[side]; k++)
				s[k] /= total[side];
		}
		mc_shares_cross_init(&x, a, n[0], b, n[1]);
		while (mc_shares_cross_next(&x, &i, &j, &share)) {
			if (share <= 0)
				ck_abort_msg("share %g", share);
			sum_a[i] += share;
			sum_b[j] += share;
			pairs++;
		}
		ck_assert_uint_le(pairs, n[0] + n[1] - 1);
		ck_assert_double_eq_tol(x.at, 1, 1e-12);
		for (uint32_t k = 0; k < n[0]; k++)
			ck_assert_double_eq_tol(sum_a[k], a[k], 1e-8);
		for (uint32_t k = 0; k < n[1]; k++)
			ck_assert_double_eq_tol(sum_b[k], b[k], 1e-8);
	}
	gsl_rng_free(rng);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("topology");
	TCase *t = tcase_create("topology");

	tcase_add_test(t, topology_matrix);
	tcase_add_test(t, next_best);
	tcase_add_test(t, ways);
	tcase_add_test(t, shares_of_the_nics);
	tcase_add_test(t, lumps);
	tcase_add_test(t, crossing_shares);
	suite_add_tcase(s, t);
	return s;
}

UNIT_MAIN
