/* The network part of a profile, from what was fitted. */
#include "fit/figures.h"
#include "fit/netfit.h"
#include "fit/text.h"

static const int digits = 4;

static void set(json_t *hardware, const char *key, double v)
{
	json_object_set_new(hardware, key, mc_fit_number(v, digits));
}

bool mc_netfit_apply(const struct mc_netfit *f, json_t *root, const struct mc_profile *p)
{
	json_t *hardware = json_object_get(root, "hardware");
	double line = mc_profile_line_bytes_per_s(p) / (double)p->nics;
	bool faster = f->t.nic_bytes_per_s > line;

	set(hardware, "net_startup_s", f->t.startup_s);
	set(hardware, "net_request_s", f->t.request_s);
	set(hardware, "net_slice_s", f->t.slice_s);
	if (f->sliced)
		json_object_set_new(hardware, "net_slice", json_integer((json_int_t)f->t.slice_bytes));
	set(hardware, "net_peer_loss", f->t.peer_loss);
	set(hardware, "net_duplex", f->t.duplex);
	if (faster) {
		set(hardware, "nic_bandwidth", f->t.nic_bytes_per_s);
		json_object_del(hardware, "nic_bandwidths");
	}
	set(hardware, "net_efficiency", faster ? 1 : f->t.nic_bytes_per_s / line);
	if (faster)
		mc_fit_source_note(hardware, "nic_bandwidth", f->device, f->date);
	mc_fit_source_note(hardware, "net_ keys", f->device, f->date);
	return faster;
}
