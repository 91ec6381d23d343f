/* The topology of machines that are folders with files and links. */
#define _XOPEN_SOURCE 700 /* nftw */
#include <check.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "transport/discover.h"
#include "unit.h"

static char root[64];

static int erase(const char *path, const struct stat *st, int kind, struct FTW *where)
{
	(void)st;
	(void)kind;
	(void)where;
	return remove(path);
}

static void setup(void)
{
	strcpy(root, "discover-XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(root));
}

static void teardown(void)
{
	nftw(root, erase, 16, FTW_DEPTH | FTW_PHYS);
}

/* The folders above a path of the tree. */
static void parents(char *path)
{
	for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		mkdir(path, 0755);
		*p = '/';
	}
}

static void put(const char *name, const char *text)
{
	char path[512];
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", root, name);
	parents(path);
	f = fopen(path, "w");
	ck_assert_ptr_nonnull(f);
	fputs(text, f);
	fclose(f);
}

/* A link to a path of the tree. */
static void tie(const char *name, const char *to)
{
	char path[512], up[1024] = "";

	snprintf(path, sizeof path, "%s/%s", root, name);
	parents(path);
	for (const char *p = name; (p = strchr(p, '/')); p++)
		strcat(up, "../");
	strcat(up, to);
	ck_assert_int_eq(symlink(up, path), 0);
}

/* A PCI device at "pci0000:17/0000:17:01.0/...". */
static void put_at(const char *at, const char *file, const char *text)
{
	struct mc_str name = {0};

	mc_str_printf(&name, "sys/devices/%s/%s", at, file);
	put(name.at, text);
	mc_str_fini(&name);
}

static void tie_device(const char *from, const char *name, const char *at)
{
	struct mc_str link = {0}, to = {0};

	mc_str_printf(&link, "%s/%s", from, name);
	mc_str_printf(&to, "sys/devices/%s", at);
	tie(link.at, to.at);
	mc_str_fini(&link);
	mc_str_fini(&to);
}

static void device(const char *at, const char *vendor, const char *class, const char *node)
{
	put_at(at, "vendor", vendor);
	put_at(at, "class", class);
	put_at(at, "numa_node", node);
	tie_device("sys/bus/pci/devices", strrchr(at, '/') + 1, at);
}

static void gpu(const char *at, const char *node)
{
	device(at, "0x10de\n", "0x030200\n", node);
}

static void nic(const char *name, const char *at, const char *node)
{
	struct mc_str folder = {0};

	device(at, "0x15b3\n", "0x020700\n", node);
	mc_str_printf(&folder, "sys/class/infiniband/%s", name);
	tie_device(folder.at, "device", at);
	mc_str_fini(&folder);
}

/* What is printed, and that it is read as what it says. */
static void expect(const char *const *also, const char *text)
{
	struct mc_discover_want want = {.root = root, .also = also};
	struct mc_str s = {0};
	struct mc_topology *t;
	struct mc_err err = {0};

	mc_discover_text(&want, &s);
	ck_assert_str_eq(mc_str_text(&s), text);
	ck_assert_msg(!mc_discover(&t, &want, &err), "%s", err.text);
	mc_topology_free(t);
	mc_str_fini(&s);
}

static enum mc_rank rank(const char *place, const char *port)
{
	struct mc_discover_want want = {.root = root};
	struct mc_topology *t;
	enum mc_rank r;

	ck_assert_int_eq(mc_discover(&t, &want, NULL), 0);
	r = mc_topology_rank(t, place, port);
	mc_topology_free(t);
	return r;
}

/* Eight GPUs and four NICs at four switches, of two sockets: as the nodes of the paper. */
START_TEST(eight_gpus)
{
	put("sys/devices/system/node/node0/cpulist", "0-31\n");
	put("sys/devices/system/node/node1/cpulist", "32-63\n");
	put("sys/devices/system/node/possible", "0-1\n");
	for (int s = 0; s < 4; s++) {
		const char *node = s < 2 ? "0\n" : "1\n";
		int root_bus = 0x10 + 0x20 * s;
		char at[256], name[32];

		for (int k = 0; k < 3; k++) { /* upstream port, three downstream ports, a device each */
			int n = snprintf(at, sizeof at,
					 "pci0000:%02x/0000:%02x:01.0/0000:%02x:00.0/0000:%02x:%02x.0/",
					 root_bus, root_bus, root_bus + 1, root_bus + 2, k);

			snprintf(at + n, sizeof at - (size_t)n, "0000:%02x:00.0", root_bus + 3 + k);
			snprintf(name, sizeof name, "mlx5_%d", s);
			if (k < 2)
				gpu(at, node);
			else
				nic(name, at, node);
		}
	}
	/* A GPU that the driver hasn't, and a card of another maker. */
	device("pci0000:f0/0000:f0:01.0/0000:f1:00.0", "0x1002\n", "0x030000\n", "1\n");
	expect(NULL, "{\n"
		     "  \"cpu:0\": [[\"mlx5_0\", \"mlx5_1\"], [\"mlx5_2\", \"mlx5_3\"]],\n"
		     "  \"cpu:1\": [[\"mlx5_2\", \"mlx5_3\"], [\"mlx5_0\", \"mlx5_1\"]],\n"
		     "  \"cuda:0\": [[\"mlx5_0\"], [\"mlx5_1\", \"mlx5_2\", \"mlx5_3\"]],\n"
		     "  \"cuda:1\": [[\"mlx5_0\"], [\"mlx5_1\", \"mlx5_2\", \"mlx5_3\"]],\n"
		     "  \"cuda:2\": [[\"mlx5_1\"], [\"mlx5_0\", \"mlx5_2\", \"mlx5_3\"]],\n"
		     "  \"cuda:3\": [[\"mlx5_1\"], [\"mlx5_0\", \"mlx5_2\", \"mlx5_3\"]],\n"
		     "  \"cuda:4\": [[\"mlx5_2\"], [\"mlx5_0\", \"mlx5_1\", \"mlx5_3\"]],\n"
		     "  \"cuda:5\": [[\"mlx5_2\"], [\"mlx5_0\", \"mlx5_1\", \"mlx5_3\"]],\n"
		     "  \"cuda:6\": [[\"mlx5_3\"], [\"mlx5_0\", \"mlx5_1\", \"mlx5_2\"]],\n"
		     "  \"cuda:7\": [[\"mlx5_3\"], [\"mlx5_0\", \"mlx5_1\", \"mlx5_2\"]]\n"
		     "}\n");
	ck_assert_int_eq(rank("cuda:5", "mlx5_2"), MC_RANK_PREFERRED);
	ck_assert_int_eq(rank("cuda:5", "mlx5_1"), MC_RANK_SECONDARY);
	ck_assert_int_eq(rank("cpu:1", "mlx5_0"), MC_RANK_SECONDARY);
	ck_assert_int_eq(rank("cpu:1", "shm"), MC_RANK_NONE);
	/* The driver has only two of them, written as it writes them. */
	put("proc/driver/nvidia/gpus/0000:33:00.0/information", "");
	put("proc/driver/nvidia/gpus/0000:74:00.0/information", "");
	ck_assert_int_eq(rank("cuda:0", "mlx5_1"), MC_RANK_PREFERRED);
	ck_assert_int_eq(rank("cuda:1", "mlx5_3"), MC_RANK_PREFERRED);
	ck_assert_int_eq(rank("cuda:2", "mlx5_3"), MC_RANK_PREFERRED); /* has no row */
	ck_assert_int_eq(rank("cuda:1", "mlx5_0"), MC_RANK_SECONDARY);
}
END_TEST

/* Ten NICs, in the order of their numbers; GPUs straight at root ports: by NUMA node. */
START_TEST(no_switches)
{
	char at[128], name[16];

	put("sys/devices/system/node/node0/cpulist", "0\n");
	put("sys/devices/system/node/node2/cpulist", "1\n");
	for (int i = 9; i < 11; i++) {
		snprintf(at, sizeof at, "pci0000:%02x/0000:%02x:01.0/0000:%02x:00.0", 16 * i, 16 * i,
			 16 * i + 1);
		snprintf(name, sizeof name, "mlx5_%d", i);
		nic(name, at, i == 9 ? "2\n" : "0\n");
	}
	gpu("pci0000:c0/0000:c0:01.0/0000:c1:00.0", "2\n");
	gpu("pci0000:d0/0000:d0:01.0/0000:d1:00.0", "-1\n");
	expect(NULL, "{\n"
		     "  \"cpu:0\": [[\"mlx5_10\"], [\"mlx5_9\"]],\n"
		     "  \"cpu:2\": [[\"mlx5_9\"], [\"mlx5_10\"]],\n"
		     "  \"cuda:0\": [[\"mlx5_9\"], [\"mlx5_10\"]],\n"
		     "  \"cuda:1\": [[], [\"mlx5_9\", \"mlx5_10\"]]\n"
		     "}\n");
}
END_TEST

/* A guest: a virtual network card below a PCI device, no NUMA, and what is no card at all. */
START_TEST(guest)
{
	static const char *const also[] = {"shm", NULL};

	put("sys/devices/pci0000:00/0000:00:03.0/numa_node", "-1\n");
	put("sys/devices/pci0000:00/0000:00:03.0/virtio0/net/eth0/mtu", "1500\n");
	tie("sys/devices/pci0000:00/0000:00:03.0/virtio0/net/eth0/device",
	    "sys/devices/pci0000:00/0000:00:03.0/virtio0");
	tie("sys/class/net/eth0", "sys/devices/pci0000:00/0000:00:03.0/virtio0/net/eth0");
	put("sys/devices/virtual/net/lo/mtu", "65536\n");
	tie("sys/class/net/lo", "sys/devices/virtual/net/lo");
	put("sys/class/net/bonding_masters", "\n");
	expect(NULL, "{\n  \"cpu:0\": [[\"eth0\"], []]\n}\n");
	expect(also, "{\n  \"cpu:0\": [[\"eth0\", \"shm\"], []]\n}\n");
	/* With an RDMA device, interfaces are none; a soft one has no place. */
	put("sys/devices/system/node/node0/cpulist", "0\n");
	put("sys/devices/system/node/node1/cpulist", "1\n");
	put("sys/class/infiniband/rxe0/node_guid", "0\n");
	expect(NULL, "{\n  \"cpu:0\": [[], [\"rxe0\"]],\n  \"cpu:1\": [[], [\"rxe0\"]]\n}\n");
}
END_TEST

START_TEST(nothing)
{
	expect(NULL, "{}\n");
	ck_assert_int_eq(rank("cpu:0", "mlx5_0"), MC_RANK_PREFERRED);
	gpu("pci0000:c0/0000:c0:01.0/0000:c1:00.0", "0\n");
	expect(NULL, "{}\n");
}
END_TEST

/* Links into nothing, to themselves, files for folders and other nonsense. */
START_TEST(broken)
{
	put("sys/devices/system/node/node0/cpulist", "0\n");
	put("sys/devices/system/node/node1/cpulist", "0\n");
	put("sys/devices/system/node/nodes", "0\n");
	put("sys/devices/system/node/node1x", "0\n");
	tie("sys/class/infiniband/a", "sys/nowhere");
	tie("sys/class/infiniband/b/device", "sys/nowhere");
	tie("sys/class/infiniband/c/device", "sys/class/infiniband/c/device");
	put("sys/class/infiniband/d", "a file\n");
	put("sys/class/infiniband/e\"\\/x", "a name to be quoted\n");
	put("sys/class/infiniband/\xff\xfe/x", "no UTF-8\n");
	nic("f", "pci0000:17/0000:17:01.0/0000:18:00.0", "1 or 2\n");
	nic("g", "pci0000:27/0000:27:01.0/0000:28:00.0", "");
	nic("h", "pci0000:37/0000:37:01.0/0000:38:00.0", "99999999999999999999\n");
	tie("sys/bus/pci/devices/0000:99:00.0", "sys/nowhere");
	put("sys/bus/pci/devices/0000:9a:00.0/class", "0x030200\n");
	put("sys/bus/pci/devices/0000:9a:00.0/vendor", "0x10de\n");
	expect(NULL, "{\n"
		     "  \"cpu:0\": [[], [\"a\", \"b\", \"c\", \"d\", \"e\\\"\\\\\", \"f\", \"g\", \"h\"]],\n"
		     "  \"cpu:1\": [[], [\"a\", \"b\", \"c\", \"d\", \"e\\\"\\\\\", \"f\", \"g\", \"h\"]],\n"
		     "  \"cuda:0\": [[], [\"a\", \"b\", \"c\", \"d\", \"e\\\"\\\\\", \"f\", \"g\", \"h\"]]\n"
		     "}\n");
}
END_TEST

/* Random trees: each place names each port once, and the nearest by the definition, counted here by texts. */
START_TEST(random_trees)
{
	enum { NICS = 5, GPUS = 4 };
	uint64_t rng = (uint64_t)_i + 1;
	char path[NICS + GPUS][200];

	put("sys/devices/system/node/node0/cpulist", "0\n");
	for (int i = 0; i < NICS + GPUS; i++) {
		size_t n = (size_t)snprintf(path[i], sizeof path[i], "pci0000:10");
		char name[32];
		int depth;

		rng = mc_hash_u64(rng);
		depth = 1 + (int)(rng % 4);
		for (int d = 0; d < depth; d++)
			n += (size_t)snprintf(path[i] + n, sizeof path[i] - n, "/0000:%02x:%02x.0", d,
					      (unsigned)(rng >> (8 + 4 * d)) & 1);
		snprintf(path[i] + n, sizeof path[i] - n, "/0000:%02x:1f.0", 0x20 + i);
		snprintf(name, sizeof name, "n%d", i);
		if (i < NICS)
			nic(name, path[i], "-1\n");
		else
			gpu(path[i], "-1\n");
	}
	for (int g = NICS; g < NICS + GPUS; g++) {
		size_t common[NICS], most = 0;
		char place[16], name[16];

		for (int i = 0; i < NICS; i++) {
			const char *a = path[g], *b = path[i];

			common[i] = 0;
			for (size_t k = 0; a[k] == b[k] && a[k]; k++)
				if (a[k + 1] == '/' && b[k + 1] == '/')
					common[i] = k;
			if (common[i] <= strlen("pci0000:10"))
				common[i] = 0;
			most = common[i] > most ? common[i] : most;
		}
		snprintf(place, sizeof place, "cuda:%d", g - NICS);
		for (int i = 0; i < NICS; i++) {
			snprintf(name, sizeof name, "n%d", i);
			ck_assert_int_eq(rank(place, name),
					 most && common[i] == most ? MC_RANK_PREFERRED : MC_RANK_SECONDARY);
		}
	}
}
END_TEST

/* This machine, whatever it is. */
START_TEST(this_machine)
{
	struct mc_discover_want want = {.root = ""};
	struct mc_topology *t;
	struct mc_err err = {0};

	ck_assert_msg(!mc_discover(&t, &want, &err), "%s", err.text);
	mc_topology_free(t);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("discover");
	TCase *c = tcase_create("discover");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, eight_gpus);
	tcase_add_test(c, no_switches);
	tcase_add_test(c, guest);
	tcase_add_test(c, nothing);
	tcase_add_test(c, broken);
	tcase_add_loop_test(c, random_trees, 0, 8);
	tcase_add_test(c, this_machine);
	suite_add_tcase(s, c);
	return s;
}

UNIT_MAIN
