#include "cli/watch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define SHOW_EVERY_S 0.2

/* A signal handler has no other way to tell. */
static volatile sig_atomic_t interrupted;

static void on_signal(int sig)
{
	(void)sig;
	interrupted = 1;
}

double mc_watch_clock_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void show(void *arg, int64_t done, int64_t total, mc_time now)
{
	struct mc_watch *w = arg;
	double at = mc_watch_clock_s(), rate;

	/* Reading the trace took its time before. */
	if (!w->first || done < w->last_done) {
		w->first = at;
		w->first_done = done;
	}
	w->last_done = done;
	if (!w->terminal || at - w->shown < SHOW_EVERY_S || at <= w->first || done <= w->first_done)
		return;
	w->shown = at;
	rate = (double)(done - w->first_done) / (at - w->first);
	fprintf(stderr,
		"\r\033[K%s%s%" PRId64 " of %" PRId64 " requests, %.0f/s, %.0f s to go, simulated %.0f s",
		w->label, *w->label ? ": " : "", done, total, rate,
		(double)(total - done) / rate + w->ahead_s, mc_time_to_s(now));
}

void mc_watch_start(struct mc_watch *w, bool quiet)
{
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND | SA_RESTART};

	memset(w, 0, sizeof *w);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	w->quiet = quiet;
	w->terminal = !quiet && isatty(STDERR_FILENO);
	w->started = w->shown = mc_watch_clock_s();
	w->hooks = (struct mc_cluster_hooks){.progress = show, .arg = w, .interrupted = &interrupted};
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

void mc_watch_stop(struct mc_watch *w)
{
	double took = mc_watch_clock_s() - w->started;
	struct rusage use;

	if (w->terminal)
		fputs("\r\033[K", stderr);
	if (w->quiet || !w->requests)
		return;
	getrusage(RUSAGE_SELF, &use);
	fprintf(stderr,
		"%" PRId64 " requests in %.3f s of wall time, %.3f s of CPU, %.0f requests/s, %.1f MB\n",
		w->requests, took, seconds(use.ru_utime) + seconds(use.ru_stime),
		(double)w->requests / (took > 1e-9 ? took : 1e-9), (double)use.ru_maxrss / 1024);
}
