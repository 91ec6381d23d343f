/*
 * Samples of operators: measured times, as CSV, which mooncake-calib and the importers write and `mooncake
 * fit` reads. Comment lines at the top say what was measured:
 *
 *     # mooncake-samples: 1.1
 *     # device: NVIDIA A100-SXM4-80GB
 *     # software: vllm 0.14.0                  driver, runtime, libraries with their versions
 *     # dtype: bf16                            f32, bf16, f16
 *     # date: 2025-02-25
 *     # source: where the times come from
 *     # model: llama3-70b                      for layers and steps: a name, or a shape as a JSON object
 *     # tensor_parallel: 8                     likewise; without it 1
 *     # any other comment
 *     op,rows,context,seqs,n,k,heads,kv_heads,head_dim,ranks,bytes,depth,slice,peers,nics,seconds,...
 *     gemm,128,,,8192,1024,,,,,,,,,,4.21e-05,0.012,37,
 *
 * The last columns are spread_ratio, repeats and flag. A dimension that an operator doesn't have is empty.
 * slice, peers and nics are new in 1.1: files without these three columns are read, too. seconds: median of
 * the repeats; spread_ratio: half of the range that holds the middle 90 % of them, over the median (empty:
 * not known); repeats: how many (empty: 1). flag: what is wrong with the row, one word (outlier, drift,
 * unphysical, ...), or empty: flagged rows are kept for people and not fitted.
 */
#ifndef MC_HW_OPSAMPLES_H
#define MC_HW_OPSAMPLES_H

#include <jansson.h>
#include <stdio.h>

#include "base/err.h"
#include "base/vec.h"
#include "hw/operator.h"

struct mc_opsample {
	struct mc_op_point point;
	double seconds;
	double spread_ratio; /* -1: not known */
	int64_t repeats;
	char flag[16];
	long line; /* of the file it was read from */
};

struct mc_opsamples {
	MC_VEC(struct mc_opsample)
	char *device, *software, *dtype, *date, *source; /* "" where not given; dtype is required */
	json_t *model;                                   /* as given: a string or an object; NULL: none */
	int64_t tensor_parallel;                         /* 0: not given */
};

/* 4 for f32, 2 for bf16 and f16; 0: no known type. */
int64_t mc_opsamples_element_bytes(const char *dtype);

/* Errors (MC_USAGE) name file, line and column name. *s needs _fini only on success. */
int mc_opsamples_read(struct mc_opsamples *s, const char *path, struct mc_err *err);
/* The same from memory (changed on the way); path stands for the file in messages. */
int mc_opsamples_parse(struct mc_opsamples *s, char *text, const char *path, struct mc_err *err);
void mc_opsamples_fini(struct mc_opsamples *s);
/* Is it a file of this format (rather than one of fit/samples.h)? By its first line. */
bool mc_opsamples_is(const char *text);

/* The comment lines and the names of the columns; then a line for each sample, as short as it can be to read
 * back the same seconds to 6 digits. Errors of out show in ferror. */
void mc_opsamples_write_header(const struct mc_opsamples *s, FILE *out);
void mc_opsamples_write(const struct mc_opsample *p, FILE *out);
/* Of a transfer without the engine (flags bare, bare-4): to be seen beside those with it, not fitted. */
bool mc_opsample_bare(const struct mc_opsample *p);

#endif
