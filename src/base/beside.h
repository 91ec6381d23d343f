/* The project's other programs: beside the running one, as installed and as built, else in PATH. */
#ifndef MC_BASE_BESIDE_H
#define MC_BASE_BESIDE_H

/* The path of a program that can be run, the caller's to free; NULL: there is none. name has no '/'. */
char *mc_beside_find(const char *name);

#endif
