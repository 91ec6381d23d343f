/* mooncake-calib net: what a network carries by each transport: a side that serves, a side that measures. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/str.h"
#include "base/units.h"
#include "calib/calib.h"
#include "calib/child.h"
#include "calib/gate.h"
#include "calib/netcheck.h"
#include "calib/netmeasure.h"
#include "calib/netserve.h"
#include "calib/nettable.h"
#include "config.h"
#include "hw/profile.h"

struct net_options {
	struct mc_calib_common common;
	const char *serve, *token_file, *kind, *check, *require;
	struct mc_calib_list peers, ports;
	int64_t memory, most, depth, points, seed;
	/* From check and require. */
	struct mc_nettime predicts;
	struct mc_calib_gate gate;
};

static const int64_t most_default = (int64_t)1 << 30;

static int read_token(const struct net_options *o, struct mc_token *t, struct mc_err *err)
{
	const char *path = o->token_file ? o->token_file : getenv("MOONCAKE_TOKEN_FILE");

	if (path && *path)
		return mc_token_read(t, path, err);
	return mc_err_set(
	    err, MC_USAGE,
	    "net: no token; expected --token-file FILE, or MOONCAKE_TOKEN_FILE. To make one, the same "
	    "for all hosts: (umask 077; head -c 32 /dev/urandom | base64 >FILE)");
}

static int serve(const struct net_options *o, struct mc_err *err)
{
	struct mc_netserve_want w = {.address = o->serve, .bytes = (size_t)o->memory, .kind = o->kind};
	char host[MC_PORT_NAME], text[1024], bytes[MC_UNITS_TEXT];
	const struct timespec look = {.tv_nsec = 50000000};
	struct mc_netports ports;
	struct mc_netserve *s;
	int rc = read_token(o, &w.token, err);

	if (!rc)
		rc = mc_netports_host(o->serve, host, err);
	if (!rc)
		rc = mc_netports_find(&ports, &o->ports, host, err);
	w.ports = &ports;
	if (!rc)
		rc = mc_netserve_open(&s, &w, err);
	if (rc)
		return rc;
	mc_netports_text(ports.at, ports.n, text, sizeof text);
	printf("serving %s: %s of %s memory, half of it to be read, half to be written; %s\n",
	       mc_netserve_address(s), mc_units_format_bytes((double)o->memory, bytes), o->kind, text);
	fflush(stdout);
	while (!mc_calib_stop)
		nanosleep(&look, NULL);
	mc_netserve_close(s);
	return 0;
}

/* " to HOST, HOST": those that peers are at, each once. */
static void add_hosts(const struct mc_net *n, struct mc_str *out)
{
	size_t from = out->n;

	for (size_t i = 0; i < n->peers; i++) {
		char host[MC_PORT_NAME];

		if (!mc_netports_host(n->peer[i].address, host, NULL) &&
		    !strstr(mc_str_text(out) + from, host))
			mc_str_printf(out, "%s%s", i ? ", " : " to ", host);
	}
}

/* DIR/net-TRANSPORT[-KIND].csv, or with "check-" before it; the caller's to free. */
static char *path_of(const struct mc_netmeasure *m, const struct net_options *o, bool check)
{
	struct mc_str path = {0};
	bool host = !strcmp(o->kind, "host");

	mc_str_printf(&path, "%s/%snet-%s%s%s.csv", o->common.samples, check ? "check-" : "",
		      m->transport->name, host ? "" : "-", host ? "" : o->kind);
	return path.at;
}

static int open_session(struct mc_netmeasure *m, const struct net_options *o, struct mc_err *err)
{
	struct mc_str device = {0}, software = {0};
	char *path = path_of(m, o, o->check != NULL);
	char date[16], ports[1024];
	struct mc_engine_port all[MC_ENGINE_PORTS];
	size_t n = mc_netports_of(&m->net->ports, m->transport, MC_ENGINE_PORTS, all);
	struct utsname u;
	int rc;

	uname(&u);
	mc_calib_today(date);
	mc_netports_text(all, n, ports, sizeof ports);
	mc_str_printf(&device, "%s", ports);
	add_hosts(m->net, &device);
	mc_str_printf(&software, "%s %s, %s %s", PACKAGE_NAME, PACKAGE_VERSION, u.sysname, u.release);
	{
		const struct mc_opsamples head = {.device = device.at,
						  .software = software.at,
						  .dtype = (char *)(uintptr_t) "f32",
						  .date = date,
						  .source = (char *)(uintptr_t) "mooncake-calib net"};
		const struct mc_calib_session_want want = {
		    .path = path,
		    .fresh = o->common.fresh || o->check,
		    .budget_s = m->budget_s,
		    .quiet = o->common.quiet,
		    .head = &head,
		    .comments = "# bare: without the engine, for people; bare-4: over 4 streams\n"
				"# the type of the elements stands for nothing here\n"};

		rc = mc_calib_session_open(&m->session, &want, err);
	}
	free(path);
	mc_str_fini(&device);
	mc_str_fini(&software);
	return rc;
}

static int limits_of(const struct mc_netmeasure *m, const struct net_options *o, struct mc_netlimits *l,
		     struct mc_err *err)
{
	struct mc_engine_port all[MC_ENGINE_PORTS];
	int64_t half = mc_net_half(m->net), own = (int64_t)m->net->memory.half;

	*l = (struct mc_netlimits){
	    .most = o->most ? o->most : most_default,
	    .depth = o->depth,
	    .peers = (int64_t)m->net->peers,
	    .nics = (int64_t)mc_netports_of(&m->net->ports, m->transport, MC_ENGINE_PORTS, all),
	    .local = own,
	    .remote = half,
	    .bares = m->bares,
	    .one_way = !strcmp(m->transport->name, "shm")};
	if (o->most > own)
		return mc_err_set(err, MC_USAGE, "--most is more than half of this side's --memory");
	for (size_t i = 0; i < m->net->peers; i++)
		if (o->most > (int64_t)m->net->peer[i].info.half)
			return mc_err_key(
			    err, MC_USAGE, m->net->peer[i].address,
			    "--most is more than half of the memory that this peer serves; expected "
			    "at most %lld, or more --memory there",
			    (long long)m->net->peer[i].info.half);
	l->most = l->most < half ? l->most : half;
	l->most = l->most < own ? l->most : own;
	return 0;
}

/* How many samples are not fitted, and why. */
static void report_flagged(const struct mc_opsamples *all)
{
	static const char *const flags[] = {"busy", "noisy", "drift"};
	size_t n[3] = {0}, engine = 0;

	for (size_t i = 0; i < all->n; i++) {
		engine += !mc_opsample_bare(&all->at[i]);
		for (int k = 0; k < 3; k++)
			n[k] += !strcmp(all->at[i].flag, flags[k]);
	}
	if (n[0] + n[1] + n[2])
		printf("flagged: %zu of %zu samples (busy %zu, noisy %zu, drift %zu), which are not fitted; "
		       "a later run measures them again\n",
		       n[0] + n[1] + n[2], engine, n[0], n[1], n[2]);
}

static void report(const struct mc_netmeasure *m)
{
	mc_calib_session_clear(&m->session);
	printf("%s: %zu points measured, %zu were there\n", m->session.all.device,
	       m->session.all.n - m->session.before, m->session.before);
	mc_nettable_print(&m->session.all, stdout);
	if (m->skipped)
		printf("left out: %zu points that take longer than their share of --budget\n", m->skipped);
	if (m->drifted)
		printf("drift: the same read became faster or slower by a quarter; what was measured "
		       "meanwhile is flagged\n");
	report_flagged(&m->session.all);
	printf("samples: %s\n", m->session.path);
}

static int fit(const struct mc_netmeasure *m, const struct net_options *o, struct mc_err *err)
{
	const char *const argv[] = {"fit",      m->session.path,  "--hardware", o->common.hardware,
				    "--output", o->common.output, NULL};

	return mc_calib_child(argv, NULL, err);
}

static int fill(struct mc_netmeasure *m, const struct net_options *o, const struct mc_netlimits *l,
		struct mc_err *err)
{
	struct mc_netgrid g;
	int rc;

	mc_netgrid(&g, l);
	rc = mc_netmeasure_run(m, &g, err);
	report(m);
	mc_vec_fini(&g);
	return rc || mc_calib_stop || !o->common.output ? rc : fit(m, o, err);
}

/* What was predicted beside what was measured, on stdout. */
static int judge(const struct mc_netmeasure *m, const struct net_options *o, struct mc_netpairs *p,
		 double pace, struct mc_err *err)
{
	double median, p95;

	mc_calib_session_clear(&m->session);
	if (!p->n)
		return mc_err_set(err, MC_FAIL,
				  "no point was measured that is not disturbed; a longer --budget?");
	printf("%s: %zu points in %.0f s, visited up to 3 times\n", m->session.all.device, p->n,
	       mc_calib_session_elapsed_s(&m->session));
	mc_netcheck_print(p, stdout);
	median = mc_netcheck_share(p, 0.5);
	p95 = mc_netcheck_share(p, 0.95);
	if (pace > 0) {
		mc_netcheck_at_pace(p, pace);
		printf("points of the calibration take %.3g times as long now; errors but for that: %.1f %% "
		       "(median), "
		       "%.1f %% (p95)\n",
		       pace, 100 * mc_netcheck_share(p, 0.5), 100 * mc_netcheck_share(p, 0.95));
	}
	printf("samples: %s\n", m->session.path);
	return mc_calib_gate_judge(&o->gate, median, p95, err);
}

static int check(struct mc_netmeasure *m, const struct net_options *o, const struct mc_netlimits *l,
		 struct mc_err *err)
{
	char *path = path_of(m, o, false);
	struct mc_opsamples then = {0};
	struct mc_netgrid g = {0}, random;
	struct mc_netlimits of_profile = *l;
	struct mc_netpairs p;
	size_t anchors;
	int rc;

	if (!access(path, R_OK) && !mc_opsamples_read(&then, path, NULL) &&
	    !strcmp(then.device, m->session.all.device))
		mc_netcheck_anchors(&g, &then, l);
	anchors = g.n;
	of_profile.slice = (int64_t)o->predicts.slice_bytes;
	mc_netgrid_random(&random, &of_profile, (uint64_t)o->seed, (size_t)o->points);
	for (size_t i = 0; i < random.n; i++)
		mc_vec_push(&g, random.at[i]);
	mc_vec_fini(&random);
	rc = mc_netmeasure_run(m, &g, err);
	if (!rc && !mc_calib_stop) {
		mc_netcheck_pairs(&p, &g, anchors, &m->session.all, &o->predicts);
		rc = judge(m, o, &p, mc_netcheck_pace(&g, anchors, &m->session.all, &then), err);
		mc_vec_fini(&p);
	}
	if (then.device)
		mc_opsamples_fini(&then);
	mc_vec_fini(&g);
	free(path);
	return rc;
}

/* Over one transport, whose engine is open. */
static int measure_by(struct mc_netmeasure *m, const struct net_options *o, struct mc_err *err)
{
	struct mc_err why = {0};
	struct mc_netlimits l;
	int rc;

	if (!o->check && mc_bare_open(m->bare, &m->bares, m->net, &why))
		mc_calib_warn("net: nothing to compare %s with: %s", m->transport->name, why.text);
	rc = limits_of(m, o, &l, err);
	if (!rc)
		rc = open_session(m, o, err);
	if (!rc) {
		rc = o->check ? check(m, o, &l, err) : fill(m, o, &l, err);
		mc_calib_session_close(&m->session);
	}
	mc_bare_close(m->bare, m->bares);
	return rc;
}

static int measure_transport(struct mc_net *n, const struct mc_transport *t, const struct net_options *o,
			     double budget_s, struct mc_err *err)
{
	struct mc_netmeasure m = {.net = n,
				  .transport = t,
				  .precision = o->common.precision,
				  .budget_s = budget_s,
				  .busy_ok = o->common.busy_ok,
				  .stop = &mc_calib_stop};
	const struct mc_net_setting all = {t, MC_NET_SLICE, MC_ENGINE_PORTS};
	int rc = mc_net_use(n, &all, err);

	return rc ? rc : measure_by(&m, o, err);
}

/* Transports of the ports, each once; returns how many. */
static size_t transports_of(const struct mc_netports *p, const struct mc_transport *out[MC_ENGINE_PORTS])
{
	size_t n = 0;

	for (size_t i = 0; i < p->n; i++) {
		size_t k = 0;

		while (k < n && out[k] != p->at[i].transport)
			k++;
		if (k == n)
			out[n++] = p->at[i].transport;
	}
	return n;
}

static int measure_all(struct mc_net *n, const struct net_options *o, struct mc_err *err)
{
	const struct mc_transport *t[MC_ENGINE_PORTS];
	size_t count = transports_of(&n->ports, t);
	int rc = 0;

	if (o->common.output && count > 1)
		return mc_err_set(err, MC_USAGE,
				  "net: --output needs --port, of one transport (as in --port %s): a profile "
				  "has the figures of one network",
				  t[0]->name);
	for (size_t i = 0; i < count && !rc && !mc_calib_stop; i++) {
		struct mc_err why = {0};

		rc = measure_transport(n, t[i], o, o->common.budget_s / (double)count, &why);
		/* What was found, not asked for: the next one may do. */
		if (rc && n->met && !n->ports.given && !n->engine && i + 1 < count) {
			mc_calib_warn("net: %s: %s", t[i]->name, why.text);
			rc = 0;
		}
		if (rc && err)
			*err = why;
	}
	return rc;
}

static int measure(const struct net_options *o, struct mc_err *err)
{
	struct mc_net_want w = {
	    .peers = &o->peers, .ports = &o->ports, .bytes = (size_t)o->memory, .kind = o->kind};
	struct mc_net n;
	int rc = read_token(o, &w.token, err);

	if (rc)
		return rc;
	rc = mc_net_init(&n, &w, err);
	if (!rc)
		rc = measure_all(&n, o, err);
	mc_net_fini(&n);
	if (rc || !mc_calib_stop)
		return rc;
	mc_calib_warn("net: interrupted; what was measured is kept");
	return MC_CALIB_INTERRUPTED;
}

/* What --check needs, before the time is spent. */
static int prepare_check(struct net_options *o, struct mc_err *err)
{
	struct mc_profile p;
	int rc = mc_calib_gate_parse(&o->gate, o->require, err);

	if (!rc && o->require && !o->check)
		return mc_err_set(err, MC_USAGE, "net: --require is for --check, whose errors it judges");
	if (rc || !o->check)
		return rc;
	if (!o->peers.n || o->common.output)
		return mc_err_set(err, MC_USAGE, "net: --check is for --peer, and makes no profile");
	rc = mc_profile_load(&p, o->check, err);
	if (rc)
		return rc;
	mc_nettime_init(&o->predicts, &p);
	mc_profile_fini(&p);
	return 0;
}

static int run(void *options, char **operands, struct mc_err *err)
{
	struct net_options *o = options;
	int rc;

	(void)operands;
	if (!o->serve == !o->peers.n)
		return mc_err_set(
		    err, MC_USAGE,
		    "net: expected --serve ADDRESS on one side, and --peer HOST:PORT on the other");
	if (o->common.output && !o->common.hardware)
		return mc_err_set(
		    err, MC_USAGE,
		    "net: --output needs --hardware, the profile that gets the network's figures");
	rc = prepare_check(o, err);
	if (rc)
		return rc;
	return o->serve ? serve(o, err) : measure(o, err);
}

static void defaults(void *options)
{
	struct net_options *o = options;
	int64_t all = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE), most = (int64_t)2 << 30;

	o->common.budget_s = 120;
	o->common.precision = 0.05;
	o->common.samples = "samples";
	o->kind = "host";
	o->memory = all / 4 < most ? all / 4 : most;
	o->depth = 32;
	o->points = 300;
	o->seed = 1;
}

#define AT(member) offsetof(struct net_options, member)
static const struct mc_calib_option options[] = {
    {"serve", 'S', "ADDRESS", MC_CALIB_TEXT, AT(serve), 0, 0,
     "serve peers at HOST:PORT (port 0: any) until Ctrl-C; its line tells the address"},
    {"peer", 'P', "ADDRESS", MC_CALIB_LIST, AT(peers), 0, 0,
     "measure to who serves there; several times: to several at once, too"},
    {"port", 257, "TRANSPORT", MC_CALIB_LIST, AT(ports), 0, 0,
     "TRANSPORT[:NAME] to use, several times; default: RDMA devices that are up, else tcp, and shm"},
    {"token-file", 'T', "FILE", MC_CALIB_TEXT, AT(token_file), 0, 0,
     "the cluster's token is its first line; default: $MOONCAKE_TOKEN_FILE"},
    {"memory", 'm', "BYTES", MC_CALIB_BYTES, AT(memory), 1 << 16, 1e13,
     "to move from and to; default: a quarter of it all, at most 2GiB"},
    {"memory-kind", 258, "KIND", MC_CALIB_TEXT, AT(kind), 0, 0, "host, or cuda: a GPU's"},
    {"most", 'M', "BYTES", MC_CALIB_BYTES, AT(most), 64, 1e12,
     "of a request; default: 1GiB, but no more than half of the memories"},
    {"depth", 'd', "N", MC_CALIB_COUNT, AT(depth), 1, 1024, "requests under way to a peer, at most"},
    {"check", 'C', "PROFILE", MC_CALIB_TEXT, AT(check), 0, 0,
     "measure points at random, and hold the profile's prediction against them"},
    {"points", 259, "N", MC_CALIB_COUNT, AT(points), 1, 10000, "of --check, at most; default: 300"},
    {"seed", 260, "N", MC_CALIB_COUNT, AT(seed), 0, 1e15, "of these points; default: 1"},
    {"require", 'r', "MEDIAN,P95", MC_CALIB_TEXT, AT(require), 0, 0,
     "exit with 1 if the errors of --check are above: \"10%,30%\""},
    MC_CALIB_COMMON(struct net_options),
    {0},
};

const struct mc_calib_command mc_calib_command_net = {
    .name = "net",
    .summary = "reads and writes between hosts, by transport, size, depth, slices, ports, peers",
    .operands = "",
    .text =
	"Measures reads, writes and both at once between this host and others, on which this command runs "
	"with\n"
	"--serve: latency and bandwidth of 64 B to --most, by requests under way, bytes of a slice, ports, "
	"and "
	"peers\n"
	"that are asked at once. Every point's bytes are verified. Beside it what the same network does "
	"without the\n"
	"engine (\"bare\"): plain sockets, one stream or several; a plain copy for shared memory; a queue "
	"pair "
	"that is\n"
	"polled. The table's ratio is the engine's figure over that: above 1 for times, below 1 for rates it "
	"is what\n"
	"the engine costs.\n"
	"\n"
	"With --check points at random are measured that no fit saw, and a profile's prediction is held "
	"against\n"
	"them; some of the calibration in DIR once more, too: how fast the network is now, against then.\n"
	"\n"
	"Samples: DIR/net-TRANSPORT.csv, of a GPU's memory DIR/net-TRANSPORT-cuda.csv; of --check "
	"DIR/check-net-....\n",
    .options = options,
    .options_size = sizeof(struct net_options),
    .defaults = defaults,
    .run = run,
};
