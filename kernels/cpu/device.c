/* Devices of the CPU backend: teams of threads over the process's memory. */
#include "config.h"

#include <cblas.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernels/cpu/cpu.h"

#ifdef HAVE_OPENBLAS_SET_NUM_THREADS
void openblas_set_num_threads(int threads);
#endif
#ifdef HAVE_OPENBLAS_GET_CONFIG
char *openblas_get_config(void);
#endif

enum { ALIGN = 256, LARGE = 2 << 20, PAGE = 4096 };

static size_t physical(void)
{
	return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

void mc_cpu_team_use(struct mc_cpu_team *t, const struct mc_cpu_vec *v)
{
	t->vec = v;
#ifdef HAVE_OPENBLAS_SET_NUM_THREADS
	if (v->own_rows < INT_MAX)
		openblas_set_num_threads(1); /* the team cuts the work */
#endif
}

int mc_cpu_team_init(struct mc_cpu_team *t, int threads, struct mc_err *err)
{
	void *p;

	*t = (struct mc_cpu_team){0};
	mc_cpu_team_use(t, mc_cpu_vec_best());
	if (posix_memalign(&p, ALIGN, (size_t)threads * MC_CPU_SCRATCH * sizeof *t->scratch))
		return mc_err_set(err, MC_FAIL, "no memory for the scratch of %d threads", threads);
	t->scratch = p;
	if (mc_cpu_pool_new(&t->pool, threads, err)) {
		free(t->scratch);
		return MC_FAIL;
	}
	return 0;
}

void mc_cpu_team_fini(struct mc_cpu_team *t)
{
	mc_cpu_pool_free(t->pool);
	free(t->scratch);
}

int mc_cpu_team_threads(const struct mc_cpu_team *t, size_t amount, size_t each)
{
	size_t n = amount / each, all = (size_t)mc_cpu_pool_threads(t->pool);

	return n < 1 ? 1 : n < all ? (int)n : (int)all;
}

int mc_cpu_count(int *n, struct mc_err *err)
{
	(void)err;
	*n = MC_CPU_DEVICES;
	return 0;
}

/* Processors that this process may run on. */
static int processors(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof set, &set) == 0 && CPU_COUNT(&set) > 0)
		return CPU_COUNT(&set);
	return (int)sysconf(_SC_NPROCESSORS_ONLN) > 0 ? (int)sysconf(_SC_NPROCESSORS_ONLN) : 1;
}

int mc_cpu_device_open(struct mc_device **out, const struct mc_device_want *want, struct mc_err *err)
{
	struct mc_device *d;

	*out = NULL;
	if (want->index < 0 || want->index >= MC_CPU_DEVICES)
		return mc_err_set(err, MC_USAGE, "no device %d; expected 0 to %d", want->index,
				  MC_CPU_DEVICES - 1);
	if (want->threads < 0 || want->threads > MC_CPU_THREADS)
		return mc_err_set(err, MC_USAGE, "%d threads; expected 1 to %d, or 0: one for each processor",
				  want->threads, MC_CPU_THREADS);
	d = calloc(1, sizeof *d);
	if (!d)
		return mc_err_set(err, MC_FAIL, "no memory for a device");
	d->index = want->index;
	if (mc_cpu_team_init(&d->team, want->threads ? want->threads : processors(), err)) {
		free(d);
		return MC_FAIL;
	}
	*out = d;
	return 0;
}

void mc_cpu_device_close(struct mc_device *d)
{
	if (!d)
		return;
	mc_cpu_team_fini(&d->team);
	free(d);
}

/* "model name : X" of /proc/cpuinfo, where there is one. */
static void processor_name(char *name, size_t n)
{
	char line[256];
	FILE *f = fopen("/proc/cpuinfo", "r");

	snprintf(name, n, "CPU");
	while (f && fgets(line, sizeof line, f))
		if (!strncmp(line, "model name", 10) && strchr(line, ':')) {
			char *p = strchr(line, ':') + 1;

			p += strspn(p, " ");
			p[strcspn(p, "\n")] = 0;
			snprintf(name, n, "%s", p);
			break;
		}
	if (f)
		fclose(f);
}

void mc_cpu_device_info(struct mc_device *d, struct mc_device_info *out)
{
	const char *blas = "CBLAS";

#ifdef HAVE_OPENBLAS_GET_CONFIG
	blas = openblas_get_config();
#endif
	*out =
	    (struct mc_device_info){.units = mc_cpu_pool_threads(d->team.pool), .memory_bytes = physical()};
	processor_name(out->name, sizeof out->name);
	snprintf(out->software, sizeof out->software, "vectors: %s; %s", d->team.vec->name, blas);
}

int mc_cpu_peer_enable(struct mc_device *d, struct mc_device *peer, struct mc_err *err)
{
	(void)d;
	(void)peer;
	(void)err;
	return 0;
}

struct touch {
	unsigned char *p;
	size_t bytes;
};

static void touch(void *arg, int thread, int threads)
{
	struct touch *t = arg;
	size_t part[2];

	mc_cpu_part(t->bytes, LARGE, thread, threads, part);
	for (size_t i = part[0]; i < part[1]; i += PAGE)
		t->p[i] = 0;
}

/*
 * Large pieces are touched by the team at once: the first touch of a page costs far more than computing with
 * it, and would be counted as the time of some operator.
 */
void *mc_cpu_alloc(struct mc_device *d, enum mc_place place, size_t bytes, struct mc_err *err)
{
	size_t align = bytes < LARGE ? ALIGN : LARGE, most = physical();
	void *p;

	(void)place;
	if (bytes > most || posix_memalign(&p, align, bytes ? bytes : 1)) {
		mc_err_set(err, MC_FAIL, "no memory for %zu bytes; this machine has %zu", bytes, most);
		return NULL;
	}
	if (bytes >= LARGE) {
		struct touch t = {p, bytes};

		madvise(p, bytes, MADV_HUGEPAGE);
		mc_cpu_pool_run(d->team.pool, mc_cpu_team_threads(&d->team, bytes, LARGE), touch, &t);
	}
	return p;
}

void mc_cpu_release(struct mc_device *d, enum mc_place place, void *p)
{
	(void)d;
	(void)place;
	free(p);
}
