/*
 * What measuring compute has in common for all backends: the model that is meant, the points of its grid one
 * after the other into a session, and the fit.
 */
#ifndef MC_CALIB_COMPUTE_H
#define MC_CALIB_COMPUTE_H

#include "calib/calib.h"
#include "calib/model.h"
#include "calib/session.h"

/* Visits of a point, spread over the budget (rounds.c); repeats of a visit, at least. */
enum { MC_CALIB_ROUNDS = 3, MC_CALIB_FEWEST = 2 };

/* Options of cpu, gpu and check. */
struct mc_calib_compute_options {
	struct mc_calib_common common;
	const char *model, *dtype;
	int64_t max_tokens, max_batch, max_context, block_tokens, threads, device, tensor_parallel, layers;
	int64_t levels;      /* of the grid, after the corners */
	int64_t points;      /* check */
	int64_t seed;        /* check */
	const char *require; /* check */
};

#define MC_CALIB_AT(field) offsetof(struct mc_calib_compute_options, field)
/* Rows for a table of options. */
#define MC_CALIB_MODEL_OPTIONS                                                                               \
	{"model",                                                                                            \
	 'm',                                                                                                \
	 "MODEL",                                                                                            \
	 MC_CALIB_TEXT,                                                                                      \
	 MC_CALIB_AT(model),                                                                                 \
	 0,                                                                                                  \
	 0,                                                                                                  \
	 "small-3.5m, llama3-8b, ..., or the path of a config.json"},                                        \
	    {"max-tokens",                                                                                   \
	     'n',                                                                                            \
	     "N",                                                                                            \
	     MC_CALIB_COUNT,                                                                                 \
	     MC_CALIB_AT(max_tokens),                                                                        \
	     2,                                                                                              \
	     1 << 20,                                                                                        \
	     "new tokens of a prefill at most"},                                                             \
	    {"max-batch",                                                                                    \
	     'B',                                                                                            \
	     "N",                                                                                            \
	     MC_CALIB_COUNT,                                                                                 \
	     MC_CALIB_AT(max_batch),                                                                         \
	     1,                                                                                              \
	     65535,                                                                                          \
	     "sequences of a decode at most"},                                                               \
	    {"max-context",                                                                                  \
	     'c',                                                                                            \
	     "N",                                                                                            \
	     MC_CALIB_COUNT,                                                                                 \
	     MC_CALIB_AT(max_context),                                                                       \
	     2,                                                                                              \
	     1 << 20,                                                                                        \
	     "tokens of a sequence at most, more than --max-tokens"},                                        \
	    {"block-tokens",                                                                                 \
	     257,                                                                                            \
	     "N",                                                                                            \
	     MC_CALIB_COUNT,                                                                                 \
	     MC_CALIB_AT(block_tokens),                                                                      \
	     16,                                                                                             \
	     512,                                                                                            \
	     "tokens of a KV block, a multiple of 16"},                                                      \
	{                                                                                                    \
		"threads", 't', "N", MC_CALIB_COUNT, MC_CALIB_AT(threads), 1, 1024,                          \
		    "threads that compute; default: all processors"                                          \
	}

struct mc_calib_compute {
	const struct mc_calib_compute_options *o;
	const struct mc_backend *backend;
	const char *prefix; /* of the files: "cpu" */
	struct mc_llama_shape shape;
	char name[64]; /* of the model, for files and people */
	struct mc_calib_model_want want;
	struct mc_calib_model model;
	struct mc_calib_session session;
	/* inplace.c's, or replay.c's */
	int (*measure)(struct mc_calib_model *m, const struct mc_calib_point *p,
		       const struct mc_calib_goal *goal, struct mc_calib_outcome *out, struct mc_err *err);
	const char *way; /* how, for the head of the file */
	struct mc_calib_goal goal;
	size_t measured, flagged; /* points of this run */
	bool drifted;
};

/* Backend by its name, shape and limits from the options; the caller may change c->want then, before it is
 * opened. */
int mc_calib_compute_init(struct mc_calib_compute *c, const char *backend, struct mc_err *err);
/* The model, and the session over DIR/PREFIX-NAME.csv. */
int mc_calib_compute_open(struct mc_calib_compute *c, struct mc_err *err);
void mc_calib_compute_close(struct mc_calib_compute *c);
/* Measure until every point of the grid was visited MC_CALIB_ROUNDS times, the budget is spent or the user
 * stops it. */
int mc_calib_compute_run(struct mc_calib_compute *c, struct mc_err *err);

/* "DIR/PREFIX-NAME.csv"; the caller's to free. */
char *mc_calib_compute_path(const struct mc_calib_compute *c, const char *end);
/* The shape as a config.json in DIR/NAME/, for mooncake; its path, the caller's to free. NULL: *err. */
char *mc_calib_compute_config(const struct mc_calib_compute *c, struct mc_err *err);
/* The shape as samples have it. */
json_t *mc_calib_compute_json(const struct mc_calib_compute *c);
/* mooncake fit on all files of samples of the prefix, with the hardware of a profile. Returns its exit code.
 */
int mc_calib_compute_fit(const struct mc_calib_compute *c, const char *hardware, struct mc_err *err);

/* MC_CALIB_INTERRUPTED; what is kept is said. */
int mc_calib_compute_stopped(const struct mc_calib_compute *c);
/* What was measured, on stdout; the table. Returns 0, or MC_CALIB_INTERRUPTED and only says what is kept. */
int mc_calib_compute_report(const struct mc_calib_compute *c);
/* Of all points in the session: the sum of the operators beside layer and step, on stdout. */
void mc_calib_compute_table(const struct mc_calib_compute *c);

#endif
