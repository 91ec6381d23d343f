/* --across KEY[=A,B,C]: one scenario with each value of a setting. */
#ifndef MC_CLI_ACROSS_H
#define MC_CLI_ACROSS_H

#include <stddef.h>

#include "cli/simulate.h"

#define MC_ACROSS_MAX 64

struct mc_across {
	char *key;                  /* owned */
	char *value[MC_ACROSS_MAX]; /* owned */
	char setting[512];          /* of the value that is set now */
	size_t n;
};

/* "key=a,b", or "key" of a setting that has choices: all of them. A mistake is told; returns MC_USAGE. */
int mc_across_parse(struct mc_across *a, const char *command, const char *text);
void mc_across_fini(struct mc_across *a);

/* The setting with its i-th value goes to the end of setup->set; whoever pushed it takes it off. */
void mc_across_push(struct mc_across *a, size_t i, struct mc_setup *setup);

#endif
