/*
 * The topology matrix: for each place of memory the ports that are near to it (preferred) and those that also
 * reach it (secondary). Read from JSON in the form that Mooncake's transfer engine uses:
 *
 *     {"cpu:0": [["mlx5_0", "mlx5_1"], ["mlx5_2"]], "cuda:0": [["mlx5_0"], []]}
 *
 * with "*" as a place for all that are not named. A port that a row doesn't name is not used for that place;
 * a place without a row uses all ports alike.
 */
#ifndef MC_TRANSPORT_TOPOLOGY_H
#define MC_TRANSPORT_TOPOLOGY_H

#include <stddef.h>

#include "base/err.h"

struct mc_topology;

enum mc_rank { MC_RANK_PREFERRED, MC_RANK_SECONDARY, MC_RANK_NONE };

/* From n bytes of text; file names it in errors. */
int mc_topology_parse(struct mc_topology **out, const char *text, size_t n, const char *file,
		      struct mc_err *err);
int mc_topology_read(struct mc_topology **out, const char *path, struct mc_err *err);
void mc_topology_free(struct mc_topology *t);

/* How near that port is to that place. t NULL: all are preferred. */
enum mc_rank mc_topology_rank(const struct mc_topology *t, const char *place, const char *port);

#endif
