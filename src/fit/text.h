/* Profiles as text: numbers as short as they can be, one line where it fits. */
#ifndef MC_FIT_TEXT_H
#define MC_FIT_TEXT_H

#include <jansson.h>

/* What every profile begins with: who it is, and the hardware and efficiencies of the profile object that it
 * was made with. */
json_t *mc_fit_profile_object(const json_t *hardware, const char *name, const char *date, const char *source);
/* To so many digits, at most 9. */
json_t *mc_fit_number(double v, int digits);
/* An object, with a line break at the end; the caller's to free. */
char *mc_fit_json_text(json_t *o);

#endif
