/* What `mooncake-calib net --serve` tells who measures: a page of memory that its engine lets peers read. */
#ifndef MC_CALIB_NETINFO_H
#define MC_CALIB_NETINFO_H

#include <stdint.h>

#include "base/err.h"
#include "transport/sock.h"

enum { MC_NETINFO_BYTES = 4096 };

struct mc_netinfo {
	uint64_t seed;              /* of the source's pattern (calib/netmemory.h) */
	uint64_t source, target;    /* addresses, for engines */
	uint64_t half;              /* bytes of each */
	char bare[MC_SOCK_ADDRESS]; /* where plain sockets are served; "": nowhere */
};

void mc_netinfo_encode(const struct mc_netinfo *info, uint8_t out[MC_NETINFO_BYTES]);
/* MC_FAIL: it is none, or of another version. */
int mc_netinfo_decode(struct mc_netinfo *info, const uint8_t at[MC_NETINFO_BYTES], struct mc_err *err);

#endif
