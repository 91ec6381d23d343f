#include "out/report.h"

#include <string.h>

#include "cluster/clients.h"
#include "cluster/faults.h"
#include "sched/conductor.h"

const struct mc_sink *mc_sink_find(const char *name)
{
	for (const struct mc_sink *const *s = mc_sinks; *s; s++)
		if (!strcmp((*s)->name, name))
			return *s;
	return NULL;
}

void mc_report_dump(FILE *out, const json_t *doc)
{
	char *text = json_dumps(doc, JSON_INDENT(2) | JSON_REAL_PRECISION(12));

	fputs(text, out);
	fputc('\n', out);
	free(text);
}

static void ignore(const struct mc_conf *conf, const char *key, const char *reason,
		   struct mc_ignored_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		if (!strcmp(list->at[i].key, key)) /* the first reason will do */
			return;
	if (mc_conf_is_set(conf, key))
		mc_vec_push(list, ((struct mc_ignored){key, reason}));
}

void mc_report_ignored_by(const struct mc_report *report, struct mc_ignored_list *list)
{
	mc_report_ignored(report->conf, report->scenario, report->cost, list);
	if (!report->trace->parent && strcmp(report->scenario->kv.pool, "off"))
		ignore(report->conf, "kv.write_back",
		       "the trace does not say which prompt goes on from which answer (parent_chat_id)",
		       list);
	if (report->result->sample > report->scenario->run.sample)
		mc_vec_push(list,
			    ((struct mc_ignored){"run.sample", "the time series would be too long; see its "
							       "at_s for the interval that it has"}));
}

/* Racks, and what NICs do when one fails. */
static void ignored_net(const struct mc_conf *conf, const struct mc_scenario *s, const struct mc_cost *cost,
			struct mc_ignored_list *list)
{
	if (!s->net.rack_nodes || s->net.rack_nodes >= s->cluster.prefill + s->cluster.decode) {
		const char *reason = s->net.rack_nodes ? "all nodes are in one rack (net.rack_nodes)"
						       : "there are no racks (net.rack_nodes)";

		if (s->net.rack_nodes)
			ignore(conf, "net.rack_nodes", reason, list);
		ignore(conf, "net.rack_order", reason, list);
		ignore(conf, "net.oversubscription", reason, list);
	}
	if (mc_faults_of_nics(s))
		return;
	ignore(conf, "net.failover", "no NIC fails (faults.events, faults.nic_mtbf)", list);
	if (!s->net.slice_cost && !(cost && cost->net_slice_s > 0))
		ignore(conf, "net.slice",
		       "no NIC fails, and slices cost no time (faults.events, faults.nic_mtbf, "
		       "net.slice_cost)",
		       list);
}

static void ignored_roles(const struct mc_conf *conf, const struct mc_scenario *s,
			  struct mc_ignored_list *list)
{
	static const char *const keys[] = {"roles.switchable", "roles.cost", "roles.interval",
					   "roles.threshold", "roles.hysteresis"};

	for (size_t i = 0; i < sizeof keys / sizeof *keys && !strcmp(s->roles.policy, "static"); i++)
		ignore(conf, keys[i], "no node changes its role (roles.policy)", list);
}

static void ignored_faults(const struct mc_conf *conf, const struct mc_scenario *s,
			   struct mc_ignored_list *list)
{
	if (s->faults.node_mtbf == MC_TIME_MAX)
		ignore(conf, "faults.node_mttr", "no node fails by a rate (faults.node_mtbf)", list);
	if (s->faults.nic_mtbf == MC_TIME_MAX)
		ignore(conf, "faults.nic_mttr", "no NIC fails by a rate (faults.nic_mtbf)", list);
	if (mc_faults_of_nodes(s))
		return;
	ignore(conf, "faults.detect", "no node fails (faults.events, faults.node_mtbf)", list);
	ignore(conf, "faults.retries", "no node fails (faults.events, faults.node_mtbf)", list);
}

/* Is anything refused that a client would send again? */
static bool refuses(const struct mc_scenario *s)
{
	const struct mc_admission *a = mc_admission_find(s->conductor.admission);

	return !a || a->judges || !strcmp(s->conductor.decode_check, "on") || mc_faults_of_nodes(s);
}

/* Does a class say at which load it is refused? */
static bool has_admit_load(const struct mc_scenario *s)
{
	const json_t *object;
	size_t i;

	json_array_foreach(s->classes, i, object)
	{
		if (json_object_get(object, "admit_load"))
			return true;
	}
	return false;
}

static void ignored_clients(const struct mc_conf *conf, const struct mc_scenario *s,
			    struct mc_ignored_list *list)
{
	static const char open[] = "clients do not wait for their answers (clients.mode)",
			  closed[] = "a closed loop has no times of the trace (clients.mode)",
			  once[] = "nothing is sent again (clients.retries)";

	if (mc_clients_closed(s)) {
		ignore(conf, "trace.rate", closed, list);
		ignore(conf, "trace.spread_ticks", closed, list);
		ignore(conf, "clients.concurrency", "each client has one request under way (clients.mode)",
		       list);
		if (!s->clients.think)
			ignore(conf, "clients.think_shape", "there is no think time (clients.think)", list);
	} else {
		ignore(conf, "clients.number", open, list);
		ignore(conf, "clients.think", open, list);
		ignore(conf, "clients.think_shape", open, list);
	}
	if (!refuses(s))
		ignore(conf, "clients.retries",
		       "nothing is refused for load, and no node fails (conductor.admission)", list);
	if (!s->clients.retries) {
		ignore(conf, "clients.backoff", once, list);
		ignore(conf, "clients.backoff_max", once, list);
		ignore(conf, "clients.jitter", once, list);
	} else if (!s->clients.backoff) {
		ignore(conf, "clients.backoff_max", "there is no backoff (clients.backoff)", list);
		ignore(conf, "clients.jitter", "there is no backoff (clients.backoff)", list);
	}
}

static void ignored_admission(const struct mc_conf *conf, const struct mc_scenario *s,
			      struct mc_ignored_list *list)
{
	const struct mc_admission *a = mc_admission_find(s->conductor.admission);
	const struct mc_length_predictor *l = mc_length_predictor_find(s->conductor.length_predictor);
	bool length = a && a->uses_length;

	if (a && !a->judges)
		ignore(conf, "conductor.admit_load", "nothing is refused for load (conductor.admission)",
		       list);
	if (a && !a->judges && has_admit_load(s))
		ignore(conf, "classes", "only admit_load: nothing is refused for load (conductor.admission)",
		       list);
	if (!length)
		ignore(conf, "conductor.length_predictor",
		       "this conductor.admission does not ask for output lengths", list);
	if (!length || (l && !l->uses_error))
		ignore(conf, "conductor.length_error", "only the predictor noisy-oracle reads it", list);
	if (!length || (l && !l->uses_quantile))
		ignore(conf, "conductor.length_quantile", "only the predictor quantile reads it", list);
}

/* Of coupled nodes; the opposite where there are none. */
static void ignored_coupled(const struct mc_conf *conf, const struct mc_scenario *s,
			    struct mc_ignored_list *list)
{
	static const char *const theirs[] = {"cluster.batching", "cluster.max_batched_tokens"};
	static const char *const others[] = {
	    "cluster.prefill",
	    "cluster.decode",
	    "cluster.prefill_group",
	    "cluster.prefill_chunk",
	    "cluster.prefill_order",
	    "cluster.stream",
	    "kv.decode_share",
	    "kv.dram_tokens",
	    "kv.dram_bytes",
	    "conductor.decode_policy",
	    "net.bandwidth",
	    "net.host_bandwidth",
	    "net.nics",
	    "net.memory",
	    "net.detail",
	    "net.slice_cost",
	    "net.rack_nodes",
	};

	for (size_t i = 0; i < sizeof theirs / sizeof *theirs && !s->cluster.coupled; i++)
		ignore(conf, theirs[i], "there are no coupled nodes (cluster.coupled)", list);
	for (size_t i = 0; i < sizeof others / sizeof *others && s->cluster.coupled; i++)
		ignore(conf, others[i],
		       "coupled nodes do both, move no KV and keep it in VRAM (cluster.coupled)", list);
}

/* Tiers of the KV pool that are not there. */
static void ignored_pool(const struct mc_conf *conf, const struct mc_scenario *s,
			 struct mc_ignored_list *list)
{
	if (s->kv.dram_bytes)
		ignore(conf, "kv.dram_tokens", "kv.dram_bytes says how large a pool is", list);
	if (!strcmp(s->kv.ssd_write, "never")) {
		static const char reason[] = "there is no SSD tier (kv.ssd_write)";

		ignore(conf, "kv.ssd_tokens", reason, list);
		ignore(conf, "kv.ssd_bytes", reason, list);
		ignore(conf, "kv.ssd_staging_bytes", reason, list);
		ignore(conf, "kv.ssd_read_bandwidth", reason, list);
		ignore(conf, "kv.ssd_write_bandwidth", reason, list);
		ignore(conf, "kv.ssd_evict", reason, list);
	}
	if (!strcmp(s->kv.pool, "off")) {
		ignore(conf, "kv.ssd_write", "nothing is cached (kv.pool)", list);
		ignore(conf, "kv.evict", "nothing is cached (kv.pool)", list);
		ignore(conf, "kv.decode_share", "nothing is cached (kv.pool)", list);
		ignore(conf, "kv.write_back", "nothing is cached (kv.pool)", list);
	}
}

void mc_report_ignored(const struct mc_conf *conf, const struct mc_scenario *s, const struct mc_cost *cost,
		       struct mc_ignored_list *list)
{
	const struct mc_policy *policy = mc_policy_find(s->conductor.policy);

	ignored_coupled(conf, s, list);
	if (!mc_scenario_is_random(s))
		ignore(conf, "seed", "nothing is random in this run", list);
	if (!strcmp(s->cluster.prefill_order, "fifo"))
		ignore(conf, "cluster.prefill_late_share",
		       "prompts are served in order of dispatch (cluster.prefill_order)", list);
	if (s->cluster.prefill_group == 1 && !(cost && cost->table))
		ignore(conf, "cluster.prefill_chunk",
		       "chunks only matter in a prefill group of several nodes (cluster.prefill_group)",
		       list);
	if (s->kv.vram_tokens)
		ignore(conf, "kv.vram_bytes", "kv.vram_tokens says how much VRAM holds", list);
	if (s->kv.ssd_tokens)
		ignore(conf, "kv.ssd_bytes", "kv.ssd_tokens says how large the SSD tier is", list);
	ignored_admission(conf, s, list);
	ignored_net(conf, s, cost, list);
	ignored_faults(conf, s, list);
	ignored_roles(conf, s, list);
	ignored_clients(conf, s, list);
	ignored_pool(conf, s, list);
	if (!s->conductor.replicas || !strcmp(s->kv.pool, "off") || !strcmp(s->kv.pool, "local")) {
		const char *reason = s->conductor.replicas
					 ? "no node may have what another sent (kv.pool)"
					 : "there is no replication policy (conductor.replicas)";

		if (s->conductor.replicas)
			ignore(conf, "conductor.replicas", reason, list);
		ignore(conf, "conductor.replica_heat", reason, list);
		ignore(conf, "conductor.replica_interval", reason, list);
		ignore(conf, "conductor.replica_transfers", reason, list);
	}
	if (policy && policy->uses_threshold && (!strcmp(s->kv.pool, "off") || !strcmp(s->kv.pool, "local")))
		ignore(conf, "conductor.balancing_threshold", "nothing is fetched (kv.pool)", list);
	if (policy && !policy->uses_threshold)
		ignore(conf, "conductor.balancing_threshold",
		       policy->fetches ? "this conductor.policy prices both branches"
				       : "this conductor.policy does not weigh fetching",
		       list);
}
