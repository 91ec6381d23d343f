/* mooncake-calib topology: which ports are near to which memory of this machine, to be kept and edited. */
#include "base/str.h"
#include "calib/calib.h"
#include "transport/discover.h"

struct topology_options {
	struct mc_calib_common common; /* not used: nothing is measured */
	const char *root;
};

static const char text[] = "Prints the topology matrix of this machine as sysfs tells it, in JSON: for each "
			   "NUMA node (cpu:N) and GPU\n"
			   "(cuda:N) the ports that are near to it, and those that reach it, too. Ports are "
			   "RDMA devices; where there\n"
			   "are none, network interfaces.\n";

static const struct mc_calib_option options[] = {
    {"root", 258, "FOLDER", MC_CALIB_TEXT, offsetof(struct topology_options, root), 0, 0,
     "what sys/ and proc/ are in; default: /"},
    {0},
};

static int run(void *options_, char **operands, struct mc_err *err)
{
	static const char *const also[] = {"shm", NULL};
	const struct topology_options *o = options_;
	struct mc_discover_want want = {.root = o->root ? o->root : "", .also = also};
	struct mc_topology *t;
	struct mc_str out = {0};
	int rc = mc_discover(&t, &want, err);

	(void)operands;
	if (rc)
		return rc;
	mc_topology_free(t);
	mc_discover_text(&want, &out);
	fputs(mc_str_text(&out), stdout);
	mc_str_fini(&out);
	return 0;
}

const struct mc_calib_command mc_calib_command_topology = {
    .name = "topology",
    .summary = "which ports are near to which memory, as sysfs tells it",
    .operands = "",
    .text = text,
    .options = options,
    .options_size = sizeof(struct topology_options),
    .run = run,
};
