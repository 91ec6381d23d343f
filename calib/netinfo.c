#include "calib/netinfo.h"

#include <string.h>

#include "transport/wire.h"

static const char magic[8] = "mcmeas\0\1";

void mc_netinfo_encode(const struct mc_netinfo *info, uint8_t out[MC_NETINFO_BYTES])
{
	size_t n = strlen(info->bare);

	memset(out, 0, MC_NETINFO_BYTES);
	memcpy(out, magic, 8);
	mc_wire_set(out + 8, info->seed, 8);
	mc_wire_set(out + 16, info->source, 8);
	mc_wire_set(out + 24, info->target, 8);
	mc_wire_set(out + 32, info->half, 8);
	mc_wire_set(out + 40, n, 1);
	memcpy(out + 41, info->bare, n);
}

int mc_netinfo_decode(struct mc_netinfo *info, const uint8_t at[MC_NETINFO_BYTES], struct mc_err *err)
{
	struct mc_wire_reader w = {.at = at + 8, .left = MC_NETINFO_BYTES - 8};

	info->seed = mc_wire_int(&w, 8);
	info->source = mc_wire_int(&w, 8);
	info->target = mc_wire_int(&w, 8);
	info->half = mc_wire_int(&w, 8);
	mc_wire_text(&w, info->bare, sizeof info->bare);
	if (memcmp(at, magic, 8) != 0 || w.bad || info->half < 64 || info->half % 64)
		return mc_err_set(err, MC_FAIL, "it serves no measurements of this version");
	return 0;
}
