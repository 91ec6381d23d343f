/* The faults of the matrix: each is a transfer that it meets, and what comes of it. */
#ifndef MC_TESTS_MATRIX_FAULTS_H
#define MC_TESTS_MATRIX_FAULTS_H

#include "matrix_world.h"

struct outcome {
	char what[512];
	int64_t recovery; /* -1: none */
};

/* Let the ports of w be found through the proxy; *via is its transport from then on. */
void matrix_via_proxy(struct matrix_world *w, struct mc_transport *via);

void matrix_wrong_status(struct matrix_world *w, struct outcome *o);
void matrix_retries_exceeded(struct matrix_world *w, struct outcome *o);
void matrix_completion_lost(struct matrix_world *w, struct outcome *o);
void matrix_overrun(struct matrix_world *w, struct outcome *o);
void matrix_device_gone(struct matrix_world *w, struct outcome *o);
void matrix_device_back(struct matrix_world *w, struct outcome *o);
void matrix_link_down(struct matrix_world *w, struct outcome *o);
void matrix_link_up(struct matrix_world *w, struct outcome *o);
void matrix_no_link(struct matrix_world *w, struct outcome *o);
void matrix_peer_killed(struct matrix_world *w, struct outcome *o);
void matrix_peer_restarted(struct matrix_world *w, struct outcome *o);
void matrix_peer_silent(struct matrix_world *w, struct outcome *o);
void matrix_memory_gone(struct matrix_world *w, struct outcome *o);
void matrix_connections_cut(struct matrix_world *w, struct outcome *o);
void matrix_no_descriptors(struct matrix_world *w, struct outcome *o);
void matrix_wrong_token(struct matrix_world *w, struct outcome *o);
void matrix_out_of_bounds(struct matrix_world *w, struct outcome *o);
void matrix_nonsense(struct matrix_world *w, struct outcome *o);
void matrix_path_cut(struct matrix_world *w, struct outcome *o);
void matrix_path_back(struct matrix_world *w, struct outcome *o);
void matrix_over_the_cap(struct matrix_world *w, struct outcome *o);

#endif
