/* mooncake-calib host: copies within host memory, and between it and devices. */
#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/str.h"
#include "base/units.h"
#include "calib/calib.h"
#include "calib/child.h"
#include "calib/copies.h"
#include "calib/session.h"

enum { SIZES = 7 };
/* The most informative first: memory's own speed, then the cost of a copy, then between. */
static const size_t sizes[SIZES] = {16u << 20, 64u << 10,  128u << 20, 1u << 20,
				    64u << 20, 256u << 10, 4u << 20};
static const double point_least_s = 0.02, point_most_s = 1;

struct host_options {
	struct mc_calib_common common;
	const char *backend;
	int64_t memory;
};

/* What is copied, how: in this order for each size. */
static const struct way {
	enum mc_op op;
	bool devices; /* else within host memory */
	int threads;  /* within host memory; 0: all */
	bool pageable;
} ways[] = {{MC_OP_COPY_HOST, false, 0, false},       {MC_OP_COPY_HOST, false, 1, false},
	    {MC_OP_COPY_H2D, true, 0, false},         {MC_OP_COPY_D2H, true, 0, false},
	    {MC_OP_COPY_H2D_PAGEABLE, true, 0, true}, {MC_OP_COPY_D2H_PAGEABLE, true, 0, true}};
enum { WAYS = sizeof ways / sizeof *ways };

struct host_run {
	const struct host_options *o;
	const struct mc_backend *backend; /* of the devices */
	int devices;
	struct mc_calib_session session;
};

/* Devices: of the backend that was named, else of CUDA where it has some, else the processor. */
static int find_devices(struct host_run *r, struct mc_err *err)
{
	const char *name = r->o->backend ? r->o->backend : "cuda";
	int rc;

	r->backend = mc_backend_find(name, err);
	if (!r->backend)
		return MC_USAGE;
	rc = r->backend->count(&r->devices, r->o->backend ? err : NULL);
	if (!rc && !r->devices)
		rc = r->o->backend ? mc_err_set(err, MC_NOHW, "no device of %s", name) : MC_NOHW;
	if (rc && r->o->backend)
		return rc;
	if (rc)
		r->backend = mc_backend_find("cpu", err);
	if (!strcmp(r->backend->name, "cpu"))
		r->devices = 1; /* it has as many as one likes */
	if (r->devices > MC_COPIES_DEVICES)
		r->devices = MC_COPIES_DEVICES;
	return 0;
}

static int numa_nodes(void)
{
	DIR *d = opendir("/sys/devices/system/node");
	struct dirent *e;
	int n = 0;

	while (d && (e = readdir(d)))
		n += !strncmp(e->d_name, "node", 4) &&
		     strspn(e->d_name + 4, "0123456789") == strlen(e->d_name + 4);
	if (d)
		closedir(d);
	return n ? n : 1;
}

static int open_session(struct host_run *r, struct mc_err *err)
{
	struct mc_str path = {0}, comments = {0};
	char date[16], name[192];
	struct mc_device *d = NULL;
	struct mc_device_info info = {0};
	const struct mc_device_want first = {0};
	int rc = r->backend->device_open(&d, &first, err);

	if (rc)
		return rc;
	r->backend->device_info(d, &info);
	r->backend->device_close(d);
	mc_calib_today(date);
	snprintf(name, sizeof name, "%d x %s", r->devices, info.name);
	mc_str_printf(&path, "%s/host.csv", r->o->common.samples);
	mc_str_printf(&comments,
		      "# all %d devices copy at once; %d NUMA nodes, threads and memory are where the system "
		      "puts them\n"
		      "# copies of one thread within host memory are flagged one-thread\n%s",
		      r->devices, numa_nodes(),
		      strcmp(r->backend->name, "cpu")
			  ? ""
			  : "# no GPU: pinned memory and a device's are plain memory\n");
	{
		const struct mc_opsamples head = {.device = name,
						  .software = info.software,
						  .dtype = (char *)(uintptr_t) "f32",
						  .date = date,
						  .source = (char *)(uintptr_t) "mooncake-calib host"};
		const struct mc_calib_session_want want = {
		    path.at, r->o->common.fresh, r->o->common.budget_s, r->o->common.quiet,
		    &head,   comments.at};

		rc = mc_calib_session_open(&r->session, &want, err);
	}
	mc_str_fini(&path);
	mc_str_fini(&comments);
	return rc;
}

/* Flagged samples, as those of one thread, don't count as measured: what is there is looked for by hand. */
static bool there(const struct host_run *r, const struct way *w, size_t bytes)
{
	for (size_t i = 0; i < r->session.all.n; i++) {
		const struct mc_opsample *s = &r->session.all.at[i];

		if (s->point.op == w->op && s->point.dim[MC_DIM_BYTES] == (int64_t)bytes &&
		    !strcmp(s->flag, w->threads == 1 ? "one-thread" : ""))
			return true;
	}
	return false;
}

/* One size in one way, to the samples. */
static int point(struct host_run *r, struct mc_copies *c, const struct way *w, size_t bytes,
		 struct mc_err *err)
{
	size_t left =
	    SIZES * WAYS - (r->session.all.n < SIZES * WAYS - 1 ? r->session.all.n : SIZES * WAYS - 1);
	double cap_s = fmin(fmax(0.8 * mc_calib_session_left_s(&r->session) / (double)left, point_least_s),
			    point_most_s);
	const struct mc_copies_task task = {.op = w->op,
					    .bytes = bytes,
					    .goal = {.precision = r->o->common.precision,
						     .warm_s = cap_s / 10,
						     .cap_s = cap_s,
						     .fewest = 5,
						     .most = 1000,
						     .stop = &mc_calib_stop,
						     .clock = {mc_calib_clock.wall, NULL, NULL}}};
	struct mc_opsample s = {.point = {.op = w->op}};
	struct mc_calib_result m;
	int rc = mc_copies_measure(c, &task, &m, err);

	if (rc || m.stopped)
		return rc;
	s.point.dim[MC_DIM_BYTES] = (int64_t)bytes;
	s.seconds = m.time.median;
	s.spread_ratio = m.time.spread;
	s.repeats = m.time.n;
	snprintf(s.flag, sizeof s.flag, "%s", w->threads == 1 ? "one-thread" : m.flag);
	return mc_calib_session_add(&r->session, &s, 1, err);
}

/* Does the way get its i-th point? Each has its share of the budget, and one point whatever it is. */
static bool goes_on(const struct host_run *r, const struct way *w, int i)
{
	double until = r->o->common.budget_s * (double)(w - ways + 1) / WAYS;

	return !mc_calib_stop && (i == 0 || mc_calib_session_elapsed_s(&r->session) < until);
}

/* All sizes of one way, as far as pools and budget go. */
static int measure(struct host_run *r, const struct way *w, struct mc_err *err)
{
	bool cpu = !strcmp(r->backend->name, "cpu");
	const struct mc_backend *b = w->devices ? r->backend : mc_backend_find("cpu", err);
	int n = w->devices ? r->devices : 1;
	const struct mc_copies_want want = {b, n, w->threads, (size_t)(r->o->memory / 3 / n)};
	struct mc_copies c;
	int rc;

	if (cpu && w->pageable)
		return 0; /* it would be the same again */
	rc = mc_copies_init(&c, &want, err);
	for (int i = 0; i < SIZES && !rc && goes_on(r, w, i); i++) {
		if (sizes[i] * 2 > c.pool || there(r, w, sizes[i]))
			continue;
		mc_calib_session_progress(&r->session, r->session.all.n, SIZES * WAYS, mc_op_names[w->op]);
		rc = point(r, &c, w, sizes[i], err);
	}
	mc_copies_fini(&c);
	return rc;
}

static void report(const struct host_run *r)
{
	char bytes[MC_UNITS_TEXT], rate[MC_UNITS_TEXT];

	mc_calib_session_clear(&r->session);
	printf("%s%s; %d NUMA nodes\n", r->session.all.device,
	       strcmp(r->backend->name, "cpu") ? ""
					       : ": no GPU, pinned memory and a device's are plain memory",
	       numa_nodes());
	for (size_t i = 0; i < r->session.all.n; i++) {
		const struct mc_opsample *s = &r->session.all.at[i];
		double n = (double)s->point.dim[MC_DIM_BYTES];

		printf("%-18s %9s %12s %6.1f %%  %s\n", mc_op_names[s->point.op],
		       mc_units_format_bytes(n, bytes), mc_units_format_rate(n / s->seconds, rate),
		       100 * fmax(0, s->spread_ratio), s->flag);
	}
	printf("samples: %s\n", r->session.path);
}

static int finish(const struct host_run *r, struct mc_err *err)
{
	const struct mc_calib_common *o = &r->o->common;
	const char *const argv[] = {"fit",      r->session.path, "--hardware", o->hardware,
				    "--output", o->output,       NULL};

	report(r);
	if (!mc_calib_stop)
		return o->output ? mc_calib_child(argv, NULL, err) : 0;
	mc_calib_warn("host: interrupted; what was measured is kept");
	return MC_CALIB_INTERRUPTED;
}

static int host_run(void *options, char **operands, struct mc_err *err)
{
	struct host_run r = {.o = options};
	int rc;

	(void)operands;
	if (r.o->common.output && !r.o->common.hardware)
		return mc_err_set(err, MC_USAGE,
				  "host: --output needs --hardware, the profile that gets the figures");
	rc = find_devices(&r, err);
	if (!rc)
		rc = open_session(&r, err);
	if (rc)
		return rc;
	for (int i = 0; i < WAYS && !rc && !mc_calib_stop; i++)
		rc = measure(&r, &ways[i], err);
	if (!rc)
		rc = finish(&r, err);
	mc_calib_session_close(&r.session);
	return rc;
}

static void host_defaults(void *options)
{
	struct host_options *o = options;
	int64_t all = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), most = (int64_t)3 << 30;

	o->common.budget_s = 30;
	o->common.precision = 0.05;
	o->common.samples = "samples";
	o->memory = all / 4 < most ? all / 4 : most;
}

#define AT(member) offsetof(struct host_options, member)
static const struct mc_calib_option options[] = {
    {"backend", 'B', "NAME", MC_CALIB_TEXT, AT(backend), 0, 0,
     "of the devices; default: cuda where it has some, else cpu"},
    {"memory", 'm', "BYTES", MC_CALIB_BYTES, AT(memory), 1 << 20, 1e12,
     "copied from and to, in thirds; far above the caches; default: a quarter, at most 3GiB"},
    MC_CALIB_COMMON(struct host_options),
    {0},
};

const struct mc_calib_command mc_calib_command_host = {
    .name = "host",
    .summary = "copies within host memory, and between it and GPUs",
    .operands = "",
    .text = "Measures copies of 64 KiB to 128 MiB: within host memory, by one thread and by all, and between "
	    "pinned\n"
	    "and pageable host memory and the GPUs, all of which copy at once. Without a GPU the processor "
	    "stands for\n"
	    "one: pinned memory is plain memory then.\n",
    .options = options,
    .options_size = sizeof(struct host_options),
    .defaults = host_defaults,
    .run = host_run,
};
