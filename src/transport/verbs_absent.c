/* In place of the verbs transport, where libibverbs was not found. */
#include "transport/transport.h"

static int port_open(struct mc_port **out, const struct mc_port_want *want, struct mc_err *err)
{
	*out = NULL;
	return mc_err_set(err, MC_NOHW, "cannot open RDMA device '%s': built without libibverbs", want->name);
}

/* No port was ever opened: of the rest nothing is called. */
static void port_close(struct mc_port *p)
{
	(void)p;
}

const struct mc_transport mc_transport_verbs = {
    .name = "verbs",
    .summary = "RDMA by libibverbs (not built in)",
    .cost = 1,
    .port_open = port_open,
    .port_close = port_close,
};
