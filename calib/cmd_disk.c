/* mooncake-calib disk: reads and writes of a disk by size and depth, past the page cache. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/str.h"
#include "base/units.h"
#include "calib/calib.h"
#include "calib/child.h"
#include "calib/disktable.h"
#include "calib/diskgrid.h"
#include "calib/diskload.h"
#include "calib/ring.h"
#include "calib/session.h"

/* Share of the budget that the file may take to be written; size and depth of the requests that do it. */
static const double write_share = 0.3;
enum { UNIT = 1 << 20, UNITS = 8, LEAST = 4 << 20, REFERENCE_EVERY = 16 };
/* Of a point: seconds at least and at most; windows in that. */
static const double point_least_s = 0.02, point_most_s = 2;
enum { WINDOWS = 20 };
/* The reference moved by more: everything since is doubtful. A program that waits for less of the time is
 * what was measured, not the disk. */
static const double drift_limit = 0.25, least_waiting = 0.1;

struct disk_options {
	struct mc_calib_common common;
	int64_t size;
	bool no_write;
};

struct disk_run {
	const struct disk_options *o;
	struct mc_diskfile file;
	struct mc_calib_session session;
	struct mc_calib_drift drift;
	size_t trusted; /* samples before this one have a good reference on both sides */
	double rate;    /* bytes/s, the best so far */
	size_t skipped; /* points for which the disk is too slow */
	struct mc_disk_table table;
};

/* All of the file once, as far as the time goes. */
static int fill(struct disk_run *r, struct mc_err *err)
{
	struct mc_diskload_want w = {.write = true, .in_order = true, .bytes = UNIT, .stop = &mc_calib_stop};
	double deadline = write_share * r->o->common.budget_s, seconds;
	int64_t units = r->file.bytes / UNIT, done;
	struct mc_diskload *l;
	int rc;

	w.depth = (unsigned)(units < UNITS ? units : UNITS);
	rc = mc_diskload_new(&l, &r->file, &w, err);
	while (
	    !rc && !mc_calib_stop && mc_diskload_requests(l) < units &&
	    (mc_calib_session_elapsed_s(&r->session) < deadline || mc_diskload_requests(l) < LEAST / UNIT)) {
		rc = mc_diskload_go(l, 0.05, &seconds, err);
		r->rate = fmax(r->rate, UNIT / seconds);
		mc_calib_session_progress(&r->session, 0, MC_DISK_POINTS, "writing the file");
	}
	if (!rc && !mc_calib_stop)
		rc = mc_diskload_verify(l, err);
	done = rc ? 0 : mc_diskload_requests(l);
	mc_diskload_free(l);
	return rc || mc_calib_stop ? rc
				   : mc_diskfile_cut(&r->file, (done < units ? done : units) * UNIT, err);
}

struct window {
	struct mc_diskload *load;
	double window_s;
	size_t counted; /* latencies of repeats that count */
};

static int once(void *arg, double *seconds, struct mc_err *err)
{
	struct window *w = arg;

	mc_diskload_latencies(w->load)->n = w->counted;
	return mc_diskload_go(w->load, w->window_s, seconds, err);
}

static void counts(void *arg)
{
	struct window *w = arg;

	w->counted = mc_diskload_latencies(w->load)->n;
}

/* One point within cap_s or so; into the table and, unless it is a reference, to the samples. */
static int measure(struct disk_run *r, const struct mc_disk_point *p, double cap_s,
		   struct mc_calib_result *out, struct mc_err *err)
{
	const struct mc_diskload_want want = {.write = p->write,
					      .bytes = (size_t)p->bytes,
					      .depth = (unsigned)p->depth,
					      .seed = (uint64_t)r->session.all.n,
					      .stop = &mc_calib_stop};
	const struct mc_calib_goal goal = {.precision = r->o->common.precision,
					   .warm_s = cap_s / 10,
					   .cap_s = cap_s,
					   .fewest = 5,
					   .most = 1000,
					   .stop = &mc_calib_stop,
					   .clock = {mc_calib_clock.wall, NULL, NULL}};
	struct window w = {.window_s = cap_s / WINDOWS};
	const struct mc_calib_task task = {once, counts, &w};
	int rc = mc_diskload_new(&w.load, &r->file, &want, err);

	if (rc)
		return rc;
	rc = mc_calib_measure(&goal, &task, out, err);
	mc_diskload_latencies(w.load)->n = w.counted;
	if (!rc && !out->stopped)
		rc = mc_diskload_verify(w.load, err);
	if (!rc && !*out->flag && p->depth > 1 && mc_diskload_waiting(w.load) < least_waiting)
		snprintf(out->flag, sizeof out->flag, "cpu-bound");
	if (!rc && !out->stopped) {
		r->rate = fmax(r->rate, (double)p->bytes / out->time.median);
		mc_disk_table_add(&r->table, p, mc_diskload_latencies(w.load));
	}
	mc_diskload_free(w.load);
	return rc;
}

static struct mc_opsample sample_of(const struct mc_disk_point *p, const struct mc_calib_result *m)
{
	struct mc_opsample s = {.point = {.op = p->write ? MC_OP_DISK_WRITE : MC_OP_DISK_READ}};

	s.point.dim[MC_DIM_BYTES] = p->bytes;
	s.point.dim[MC_DIM_DEPTH] = p->depth;
	if (m) {
		s.seconds = m->time.median;
		s.spread_ratio = m->time.spread;
		s.repeats = m->time.n;
		snprintf(s.flag, sizeof s.flag, "%s", m->flag);
	}
	return s;
}

/* Has the disk become another one? What was measured since it was last looked at is flagged then. */
static int look_again(struct disk_run *r, double cap_s, struct mc_err *err)
{
	const struct mc_disk_point p = {false, 64 << 10, 4};
	struct mc_calib_result m;
	int rc = measure(r, &p, cap_s, &m, err);

	if (rc || m.stopped)
		return rc;
	if (mc_calib_drift_moved(&r->drift, m.time.median)) {
		mc_calib_session_clear(&r->session);
		mc_calib_warn(
		    "disk: reads of 64 KiB became faster or slower by more than %.0f %%; what was measured "
		    "since the last look is flagged 'drift'",
		    100 * drift_limit);
		rc = mc_calib_session_flag(&r->session, r->trusted, "drift", err);
	}
	r->trusted = r->session.all.n;
	return rc;
}

static void say_now(struct disk_run *r, const struct mc_disk_point *p, size_t done, size_t n)
{
	char what[96], bytes[MC_UNITS_TEXT];

	snprintf(what, sizeof what, "%s of %s, %lld under way", p->write ? "writes" : "reads",
		 mc_units_format_bytes((double)p->bytes, bytes), (long long)p->depth);
	mc_calib_session_progress(&r->session, done, n, what);
}

static int measure_all(struct disk_run *r, const struct mc_disk_point *p, size_t n, struct mc_err *err)
{
	int rc = 0, since = 0;

	for (size_t i = 0; i < n && !rc && !mc_calib_stop; i++) {
		struct mc_opsample s = sample_of(&p[i], NULL);
		double left = mc_calib_session_left_s(&r->session),
		       cap = fmin(fmax(0.85 * left / (double)(n - i), point_least_s), point_most_s);
		struct mc_calib_result m;

		if (mc_calib_session_find(&r->session, &s.point))
			continue;
		if (left <= 0)
			break;
		/* What is under way takes longer than the point has, to be repeated at least. */
		if ((double)(p[i].bytes * p[i].depth) / r->rate > cap) {
			r->skipped++;
			continue;
		}
		say_now(r, &p[i], i, n);
		if (since++ % REFERENCE_EVERY == 0)
			rc = look_again(r, cap, err);
		if (!rc)
			rc = measure(r, &p[i], cap, &m, err);
		if (rc || m.stopped || mc_calib_stop)
			break;
		s = sample_of(&p[i], &m);
		rc = mc_calib_session_add(&r->session, &s, 1, err);
	}
	if (!rc && since && !mc_calib_stop)
		rc = look_again(r, point_least_s, err);
	return rc;
}

/* Points that were measured are in the file. */
static int run_points(struct disk_run *r, struct mc_err *err)
{
	int64_t memory = (int64_t)sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE);
	struct mc_disk_point p[MC_DISK_POINTS];
	int rc = fill(r, err);
	size_t n;

	if (rc || mc_calib_stop)
		return rc;
	n = mc_disk_grid(p, r->file.bytes, memory, !r->o->no_write);
	return measure_all(r, p, n, err);
}

static void head_of(const struct disk_run *r, struct mc_opsamples *head, char date[16], char software[160])
{
	struct utsname u;

	uname(&u);
	snprintf(software, 160, "%s %s, io_uring, O_DIRECT", u.sysname, u.release);
	mc_calib_today(date);
	*head = (struct mc_opsamples){.device = (char *)(uintptr_t)r->file.where,
				      .software = software,
				      .dtype = (char *)(uintptr_t) "f32",
				      .date = date,
				      .source = (char *)(uintptr_t) "mooncake-calib disk"};
}

static int open_session(struct disk_run *r, struct mc_err *err)
{
	struct mc_str path = {0}, comments = {0};
	char date[16], software[160], text[MC_UNITS_TEXT];
	struct mc_opsamples head;
	struct mc_calib_session_want want = {.fresh = r->o->common.fresh,
					     .budget_s = r->o->common.budget_s,
					     .quiet = r->o->common.quiet,
					     .head = &head};
	int rc;

	head_of(r, &head, date, software);
	mc_str_printf(&path, "%s/disk.csv", r->o->common.samples);
	mc_str_printf(&comments,
		      "# a file of %s, random offsets, data that no drive can compress; nothing is flushed\n"
		      "# the type of the elements stands for nothing here\n",
		      mc_units_format_bytes((double)r->file.bytes, text));
	want.path = mc_str_text(&path);
	want.comments = mc_str_text(&comments);
	rc = mc_calib_session_open(&r->session, &want, err);
	mc_str_fini(&path);
	mc_str_fini(&comments);
	return rc;
}

static void warn_of(const struct disk_run *r)
{
	char is[MC_UNITS_TEXT], asked[MC_UNITS_TEXT];

	if (r->file.memory)
		mc_calib_warn("%s is memory, no disk", r->file.where);
	if (r->file.bytes < r->o->size)
		mc_calib_warn("a file of %s instead of %s: half of what is free",
			      mc_units_format_bytes((double)r->file.bytes, is),
			      mc_units_format_bytes((double)r->o->size, asked));
}

static void report(const struct disk_run *r)
{
	char text[MC_UNITS_TEXT];
	size_t n = r->session.all.n - r->session.before;

	mc_calib_session_clear(&r->session);
	printf("%s, a file of %s: %zu points measured, %zu were there\n", r->file.where,
	       mc_units_format_bytes((double)r->file.bytes, text), n, r->session.before);
	mc_disk_table_print(&r->table, &r->session.all, stdout);
	if (r->skipped)
		printf("left out: %zu points whose requests under way take longer than their share of "
		       "--budget\n",
		       r->skipped);
	printf("samples: %s\n", r->session.path);
}

/* The profile named by --hardware, with what this disk does. */
static int fit(const struct disk_run *r, struct mc_err *err)
{
	const struct mc_calib_common *o = &r->o->common;
	const char *const argv[] = {"fit",      r->session.path, "--hardware", o->hardware,
				    "--output", o->output,       NULL};

	return mc_calib_child(argv, NULL, err);
}

static int measured(struct disk_run *r, struct mc_err *err)
{
	int rc = open_session(r, err);

	if (rc)
		return rc;
	warn_of(r);
	rc = run_points(r, err);
	report(r);
	if (!rc && !mc_calib_stop && r->o->common.output)
		rc = fit(r, err);
	mc_calib_session_close(&r->session);
	mc_disk_table_fini(&r->table);
	return rc;
}

static int disk_run(void *options, char **operands, struct mc_err *err)
{
	struct disk_run r = {.o = options, .drift = {.limit = drift_limit}};
	struct mc_ring *ring;
	int rc;

	if (r.o->common.output && !r.o->common.hardware)
		return mc_err_set(
		    err, MC_USAGE,
		    "disk: --output needs --hardware, the profile that gets the disk's figures");
	rc = mc_ring_new(&ring, 1, err); /* before anything is written */

	if (rc)
		return rc;
	mc_ring_free(ring);
	rc = mc_diskfile_open(&r.file, operands[0], r.o->size, LEAST, err);
	if (rc)
		return rc;
	rc = measured(&r, err);
	mc_diskfile_close(&r.file);
	if (rc || !mc_calib_stop)
		return rc;
	mc_calib_warn("disk: interrupted; what was measured is kept");
	return MC_CALIB_INTERRUPTED;
}

static void disk_defaults(void *options)
{
	struct disk_options *o = options;

	o->common.budget_s = 60;
	o->common.precision = 0.05;
	o->common.samples = "samples";
	o->size = (int64_t)4 << 30;
}

#define AT(member) offsetof(struct disk_options, member)
static const struct mc_calib_option options[] = {
    {"size", 'z', "BYTES", MC_CALIB_BYTES, AT(size), LEAST, 256e9,
     "of the file, at most half of what is free; default: 4GiB"},
    {"no-write", 'n', NULL, MC_CALIB_FLAG, AT(no_write), 0, 0,
     "measure reads only; the file is still written once"},
    MC_CALIB_COMMON(struct disk_options),
    {0},
};

const struct mc_calib_command mc_calib_command_disk = {
    .name = "disk",
    .summary = "reads and writes of a disk, by size and depth",
    .operands = "FOLDER",
    .text = "Measures the disk that FOLDER is on: random reads and writes of 4 KiB to 16 MiB, 1 to 64 of "
	    "them under\n"
	    "way, through io_uring and past the page cache, each verified. The file for that has no name: it "
	    "is gone\n"
	    "when this program ends, however it does. A drive wears by what is written: at most --budget "
	    "times its\n"
	    "speed.\n",
    .options = options,
    .options_size = sizeof(struct disk_options),
    .min_operands = 1,
    .max_operands = 1,
    .defaults = disk_defaults,
    .run = disk_run,
};
