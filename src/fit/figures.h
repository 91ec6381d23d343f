/*
 * What samples of disks and of copies (mooncake-calib disk, host) say of the hardware itself: the figures of
 * a profile's "hardware" that runs use for the SSD tier and for loads from host memory. Flagged samples say
 * nothing. The highest rate of any size and depth is the bandwidth; a disk's latency is that of a read of
 * hardware.ssd_io bytes alone, between the measured sizes around it (linear in the bytes, as a latency and a
 * rate give it).
 */
#ifndef MC_FIT_FIGURES_H
#define MC_FIT_FIGURES_H

#include <jansson.h>

#include "base/err.h"
#include "hw/opsamples.h"
#include "hw/profile.h"

enum mc_figure {
	MC_FIGURE_SSD_READ,    /* bytes/s of the disk */
	MC_FIGURE_SSD_WRITE,   /* the same */
	MC_FIGURE_SSD_LATENCY, /* s */
	MC_FIGURE_H2D,         /* bytes/s of the node: all its GPUs at what one had while all copied */
	MC_FIGURE_DRAM,        /* bytes/s read and written together */
	MC_FIGURES,
};

struct mc_fit_figures {
	double value[MC_FIGURES]; /* 0: not measured */
	struct mc_op_point
	    at[MC_FIGURES]; /* where it was found; of the latency: the last read alone below ssd_io */
	const char *device[MC_FIGURES], *date; /* of the samples, borrowed; date: the latest */
};

extern const char *const mc_figure_keys[MC_FIGURES]; /* in "hardware" */

/* Is the operator one that tells of hardware alone, rather than of a model's times? */
bool mc_fit_figures_op(enum mc_op op);
/* Of n files; hw: the profile that gets them. */
void mc_fit_figures_find(struct mc_fit_figures *g, const struct mc_opsamples *s, size_t n,
			 const struct mc_profile *hw);
/* Add " [measured: KEY of DEVICE, DATE]" to the source of a profile's hardware; what an earlier fit said of
 * the same key goes. */
void mc_fit_source_note(json_t *hardware, const char *key, const char *device, const char *date);
/* A profile's object (borrowed) with the figures in its hardware, whose source names them as measured; what
 * an earlier fit said of the same ones goes. The caller's. */
json_t *mc_fit_figures_apply(const struct mc_fit_figures *g, const json_t *root);
/* That as a profile, all else kept; the caller's to free. date NULL: the samples'. */
char *mc_fit_figures_profile_text(const struct mc_fit_figures *g, const json_t *root, const char *name,
				  const char *date);

#endif
