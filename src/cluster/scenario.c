#include "cluster/scenario.h"

#include <math.h>
#include <string.h>

#include "cluster/classes.h"
#include "cluster/clients.h"
#include "cluster/faults.h"
#include "cluster/roles.h"
#include "engine/queue.h"
#include "kv/evict.h"
#include "model/cost.h"
#include "sched/conductor.h"
#include "trace/format.h"

static const char *const *policy_names(void)
{
	return mc_policies_names;
}

static const char *const *decode_policy_names(void)
{
	return mc_decode_policies_names;
}

static const char *const *admission_names(void)
{
	return mc_admissions_names;
}

static const char *const *check_names(void)
{
	static const char *const names[] = {"auto", "on", "off", NULL};

	return names;
}

static const char *const *length_predictor_names(void)
{
	return mc_length_predictors_names;
}

static const char *const *evictor_names(void)
{
	return mc_evictors_names;
}

static const char *const *pool_names(void)
{
	static const char *const names[] = {"global", "prefill", "local", "off", NULL};

	return names;
}

static const char *const *ssd_write_names(void)
{
	static const char *const names[] = {"never", "evict", "through", NULL};

	return names;
}

static const char *const *stream_names(void)
{
	static const char *const names[] = {"layerwise", "after", NULL};

	return names;
}

static const char *const *batching_names(void)
{
	static const char *const names[] = {"prefill-first", "chunked", NULL};

	return names;
}

static const char *const *prefill_order_names(void)
{
	return mc_prefill_orders;
}

static const char *const *times_names(void)
{
	return mc_times_names;
}

static const char *const *nic_names(void)
{
	static const char *const names[] = {"all", "preferred", NULL};

	return names;
}

static const char *const *memory_names(void)
{
	static const char *const names[] = {"striped", "one-socket", NULL};

	return names;
}

static const char *const *detail_names(void)
{
	static const char *const names[] = {"auto", "nic", NULL};

	return names;
}

static const char *const *rack_order_names(void)
{
	static const char *const names[] = {"filled", "dealt", NULL};

	return names;
}

static const char *const *mode_names(void)
{
	static const char *const names[] = {"open", "closed", NULL};

	return names;
}

static const char *const *think_names(void)
{
	static const char *const names[] = {"exponential", "constant", NULL};

	return names;
}

static const char *const *jitter_names(void)
{
	static const char *const names[] = {"half", "full", "off", NULL};

	return names;
}

static const char *const *role_names(void)
{
	static const char *const names[] = {"static", "load", NULL};

	return names;
}

#define AT(member) offsetof(struct mc_scenario, member)

const struct mc_field mc_scenario_fields[] = {
    {"seed", MC_F_INT, AT(seed), "1", 0, 9e18, "", "seed of all random streams", NULL},
    {"model", MC_F_JSON, AT(model), "llama3-70b", 0, 0, "",
     "model shape: a name (`list models`) or an object", NULL},
    {"hardware", MC_F_STRING, AT(hardware), "a800-x8", 0, 0, "",
     "hardware profile: a name (`list profiles`) or a path", NULL},
    {"hardware_times", MC_F_CHOICE, AT(hardware_times), "auto", 0, 0, "",
     "where the profile's prefill and decode times come from", times_names},
    {"trace.path", MC_F_STRING, AT(trace.path), NULL, 0, 0, "",
     "request trace, zstd or plain; - is standard input; relative to the scenario's folder", NULL},
    {"trace.format", MC_F_STRING, AT(trace.format), "auto", 0, 0, "", "format (`list formats`) or auto",
     NULL},
    {"trace.block_tokens", MC_F_COUNT, AT(trace.block_tokens), "512", 1, 1 << 20, "tokens",
     "tokens of a block of the trace's ids", NULL},
    {"trace.rate", MC_F_REAL, AT(trace.rate), "1", 1e-6, 1e6, "", "gaps between arrivals are divided by this",
     NULL},
    {"trace.limit", MC_F_COUNT, AT(trace.limit), "0", 0, 1e15, "requests", "requests replayed; 0: all", NULL},
    {"trace.max_output", MC_F_COUNT, AT(trace.max_output), "0", 0, 1e9, "tokens",
     "longer outputs are cut to this; 0: none", NULL},
    {"trace.start", MC_F_TIME, AT(trace.start), "0s", 0, 9e9, "s", "trace time skipped, before rate", NULL},
    {"trace.spread_ticks", MC_F_BOOL, AT(trace.spread_ticks), "false", 0, 0, "",
     "spread requests of one instant over the gap after it (seeded)", NULL},
    {"trace.max_bad", MC_F_COUNT, AT(trace.max_bad), "0", 0, 1e15, "records",
     "malformed records skipped and counted before the run is refused", NULL},
    {"cluster.prefill", MC_F_INT, AT(cluster.prefill), "8", 1, 100000, "nodes", "prefill nodes", NULL},
    {"cluster.decode", MC_F_INT, AT(cluster.decode), "8", 1, 100000, "nodes", "decode nodes", NULL},
    {"cluster.prefill_group", MC_F_INT, AT(cluster.prefill_group), "1", 1, 64, "nodes",
     "nodes that share a prompt by chunked pipeline parallelism; divides cluster.prefill", NULL},
    {"cluster.prefill_chunk", MC_F_COUNT, AT(cluster.prefill_chunk), "2048", 1, 1e9, "tokens",
     "largest chunk of a prompt", NULL},
    {"cluster.prefill_order", MC_F_CHOICE, AT(cluster.prefill_order), "fifo", 0, 0, "",
     "prompts that wait at a prefill instance are served in order of dispatch, or by deadline: those that "
     "can meet "
     "slo.ttft first, the fewest possible late",
     prefill_order_names},
    {"cluster.prefill_late_share", MC_F_REAL, AT(cluster.prefill_late_share), "0.05", 0, 1, "",
     "with prefill_order deadline: prefill time that late prompts get, at least, over that of those in time",
     NULL},
    {"cluster.max_batch", MC_F_COUNT, AT(cluster.max_batch), "0", 0, 1e6, "requests",
     "requests of a decode iteration; 0: limited by VRAM alone", NULL},
    {"cluster.coupled", MC_F_INT, AT(cluster.coupled), "0", 0, 100000, "nodes",
     "nodes that do both prefill and decode, in place of cluster.prefill and cluster.decode; 0: none", NULL},
    {"cluster.batching", MC_F_CHOICE, AT(cluster.batching), "prefill-first", 0, 0, "",
     "coupled nodes: prompts that wait are computed alone, before the next decode iteration; or in slices "
     "beside the tokens of all running requests",
     batching_names},
    {"cluster.max_batched_tokens", MC_F_COUNT, AT(cluster.max_batched_tokens), "2048", 1, 1e9, "tokens",
     "coupled nodes: new tokens of one iteration (prefill-first: or one longer prompt); no more requests "
     "run",
     NULL},
    {"cluster.stream", MC_F_CHOICE, AT(cluster.stream), "layerwise", 0, 0, "",
     "KV goes to decode layer by layer during prefill, or after it", stream_names},
    {"net.bandwidth", MC_F_RATE, AT(net.bandwidth), "0", 0, 1e15, "bytes/s",
     "usable bandwidth of a node, each direction, in place of all that the profile says; 0: the profile's",
     NULL},
    {"net.host_bandwidth", MC_F_RATE, AT(net.host_bandwidth), "0", 0, 1e15, "bytes/s",
     "what all NICs of a node reach to or from host memory, each direction; 0: the profile's", NULL},
    {"net.nics", MC_F_CHOICE, AT(net.nics), "all", 0, 0, "",
     "NICs that a transfer uses: all, or those that its memory prefers (of its socket) while one of them "
     "lives",
     nic_names},
    {"net.memory", MC_F_CHOICE, AT(net.memory), "striped", 0, 0, "",
     "where KV is in host memory: spread over the sockets, or on the first one", memory_names},
    {"net.slice", MC_F_BYTES, AT(net.slice), "0", 0, 1e12, "bytes",
     "slices of a transfer, of which those under way on a NIC that fails are sent again; 0: the profile's",
     NULL},
    {"net.slice_cost", MC_F_TIME, AT(net.slice_cost), "0s", 0, 1, "s",
     "time of a NIC for a slice beside that of its bytes; 0: the profile's", NULL},
    {"net.failover", MC_F_TIME, AT(net.failover), "-1s", -1, 1e6, "s",
     "from the failure of a NIC until its slices go over others; below 0: the profile's", NULL},
    {"net.detail", MC_F_CHOICE, AT(net.detail), "auto", 0, 0, "",
     "auto: NICs of a node are one link where that is exact; nic: each is its own", detail_names},
    {"net.rack_nodes", MC_F_INT, AT(net.rack_nodes), "0", 0, 1000000, "nodes",
     "nodes of a rack, prefill nodes first; 0: no racks, the network has no limit but the NICs", NULL},
    {"net.rack_order", MC_F_CHOICE, AT(net.rack_order), "filled", 0, 0, "",
     "racks are filled one after the other, or nodes are dealt to them in turn", rack_order_names},
    {"net.oversubscription", MC_F_REAL, AT(net.oversubscription), "1", 1, 1e6, "",
     "NICs of a rack over its bandwidth to and from the spine", NULL},
    {"kv.block_tokens", MC_F_COUNT, AT(kv.block_tokens), "0", 0, 1 << 20, "tokens",
     "tokens of a KV block, a divisor or multiple of the trace's; 0: the same", NULL},
    {"kv.pool", MC_F_CHOICE, AT(kv.pool), "prefill", 0, 0, "",
     "who may source KV from whom. global: any prefill node from any node; prefill: from other prefill "
     "nodes; local: each has its own cache alone (coupled nodes: in spare VRAM); off: nothing is cached",
     pool_names},
    {"kv.dram_tokens", MC_F_COUNT, AT(kv.dram_tokens), "3M", 1, 1e12, "tokens", "DRAM pool of a prefill node",
     NULL},
    {"kv.dram_bytes", MC_F_BYTES, AT(kv.dram_bytes), "0", 0, 1e18, "bytes",
     "the same in bytes; 0: kv.dram_tokens", NULL},
    {"kv.decode_share", MC_F_REAL, AT(kv.decode_share), "1", 0, 1e6, "",
     "DRAM pool of a decode node over that of a prefill node; 0: decode nodes keep nothing", NULL},
    {"kv.evict", MC_F_CHOICE, AT(kv.evict), "lru", 0, 0, "", "eviction policy (`list evictors`)",
     evictor_names},
    {"kv.vram_tokens", MC_F_COUNT, AT(kv.vram_tokens), "0", 0, 1e12, "tokens",
     "KV that VRAM of a decode or coupled node holds; 0: kv.vram_bytes", NULL},
    {"kv.vram_bytes", MC_F_BYTES, AT(kv.vram_bytes), "0", 0, 1e18, "bytes",
     "the same in bytes; 0: what weights and reserve leave of the profile's", NULL},
    {"kv.ssd_write", MC_F_CHOICE, AT(kv.ssd_write), "never", 0, 0, "",
     "what goes to the node's SSD. never: nothing, there is no SSD tier; evict: what DRAM evicts; through: "
     "all that comes to DRAM",
     ssd_write_names},
    {"kv.ssd_tokens", MC_F_COUNT, AT(kv.ssd_tokens), "0", 0, 1e15, "tokens",
     "SSD tier of a node; 0: kv.ssd_bytes", NULL},
    {"kv.ssd_bytes", MC_F_BYTES, AT(kv.ssd_bytes), "0", 0, 1e18, "bytes",
     "the same in bytes; 0: the profile's SSDs", NULL},
    {"kv.ssd_staging_bytes", MC_F_BYTES, AT(kv.ssd_staging_bytes), "64GB", 0, 1e18, "bytes",
     "KV of a node that waits to be written to SSD, at most; what comes on top is not kept", NULL},
    {"kv.ssd_read_bandwidth", MC_F_RATE, AT(kv.ssd_read_bandwidth), "0", 0, 1e15, "bytes/s",
     "SSDs of a node read; 0: the profile's", NULL},
    {"kv.ssd_write_bandwidth", MC_F_RATE, AT(kv.ssd_write_bandwidth), "0", 0, 1e15, "bytes/s",
     "SSDs of a node written; 0: the profile's", NULL},
    {"kv.ssd_evict", MC_F_CHOICE, AT(kv.ssd_evict), "lru", 0, 0, "", "eviction policy of the SSD tier",
     evictor_names},
    {"kv.write_back", MC_F_BOOL, AT(kv.write_back), "true", 0, 0, "",
     "keep the KV of answers that a later prompt goes on from, where the trace says so (parent_chat_id)",
     NULL},
    {"conductor.policy", MC_F_CHOICE, AT(conductor.policy), "kvcache-centric", 0, 0, "",
     "scheduling policy (`list policies`)", policy_names},
    {"conductor.balancing_threshold", MC_F_REAL, AT(conductor.balancing_threshold), "1.5", 1, 1e9, "",
     "fetch when the best match is longer than the local one by this factor", NULL},
    {"conductor.replicas", MC_F_COUNT, AT(conductor.replicas), "0", 0, 100000, "instances",
     "prefill instances that hot blocks are kept on by the replication policy; 0: off", NULL},
    {"conductor.replica_heat", MC_F_COUNT, AT(conductor.replica_heat), "1", 1, 1000000, "prompts",
     "prompts with a block, halved at every interval, from which on it is hot; below half of it spare copies "
     "go",
     NULL},
    {"conductor.replica_interval", MC_F_TIME, AT(conductor.replica_interval), "60s", 1e-3, 1e9, "s",
     "time between two looks of the replication policy", NULL},
    {"conductor.replica_transfers", MC_F_COUNT, AT(conductor.replica_transfers), "4", 1, 100000, "copies",
     "copies of the replication policy under way at most, and begun at one look", NULL},
    {"conductor.staleness", MC_F_TIME, AT(conductor.staleness), "0s", 0, 1e9, "s",
     "the Conductor learns this much later what nodes do and hold; its own placements it knows at once",
     NULL},
    {"conductor.decode_policy", MC_F_CHOICE, AT(conductor.decode_policy), "least-loaded", 0, 0, "",
     "choice of the decode node", decode_policy_names},
    {"conductor.admission", MC_F_CHOICE, AT(conductor.admission), "none", 0, 0, "",
     "which requests are refused under overload, and when (`list policies`)", admission_names},
    {"conductor.admit_load", MC_F_REAL, AT(conductor.admit_load), "1", 0, 1e6, "",
     "predicted TTFT or TBT over its objective, or KV over VRAM, above which a request is refused", NULL},
    {"conductor.decode_check", MC_F_CHOICE, AT(conductor.decode_check), "auto", 0, 0, "",
     "decode nodes refuse what would miss slo.tbt, or has no room, when its KV is there. auto: with any "
     "admission but none",
     check_names},
    {"conductor.length_predictor", MC_F_CHOICE, AT(conductor.length_predictor), "class-mean", 0, 0, "",
     "output lengths for conductor.admission=predict-length (`list policies`)", length_predictor_names},
    {"conductor.length_error", MC_F_REAL, AT(conductor.length_error), "0.5", 0, 10, "",
     "noisy-oracle: standard deviation of the logarithm of predicted over true length", NULL},
    {"conductor.length_quantile", MC_F_REAL, AT(conductor.length_quantile), "0.9", 0, 1, "",
     "quantile: which one", NULL},
    {"slo.ttft", MC_F_TIME, AT(slo.ttft), "30s", 0, 1e9, "s", "objective of TTFT; 0: none", NULL},
    {"slo.tbt", MC_F_TIME, AT(slo.tbt), "100ms", 0, 1e9, "s", "objective of TBT; 0: none", NULL},
    {"classes", MC_F_LIST, AT(classes), "", 0, 0, "",
     "priority classes that requests are drawn into (seeded): [{\"name\": \"batch\", \"share\": 0.3, "
     "\"ttft\": \"none\", \"tbt\": \"none\", \"admit_load\": 0.7}, ...]; see mooncake-scenario(5)",
     NULL},
    {"clients.mode", MC_F_CHOICE, AT(clients.mode), "open", 0, 0, "",
     "open: requests come when the trace says; closed: clients take the next one when they have the answer "
     "to "
     "their last and have thought",
     mode_names},
    {"clients.number", MC_F_COUNT, AT(clients.number), "100", 1, 1e6, "clients", "clients of a closed loop",
     NULL},
    {"clients.think", MC_F_TIME, AT(clients.think), "10s", 0, 1e6, "s",
     "think time of such a client, before its first request, too; mean", NULL},
    {"clients.think_shape", MC_F_CHOICE, AT(clients.think_shape), "exponential", 0, 0, "",
     "distribution of think times (seeded)", think_names},
    {"clients.concurrency", MC_F_COUNT, AT(clients.concurrency), "0", 0, 1e15, "requests",
     "open loop: requests outstanding at most; more wait in order before they are sent, and their TTFT "
     "counts "
     "from when they came; 0: no limit",
     NULL},
    {"clients.retries", MC_F_INT, AT(clients.retries), "0", 0, 1000, "",
     "how often a client sends a refused request again", NULL},
    {"clients.backoff", MC_F_TIME, AT(clients.backoff), "1s", 0, 1e6, "s",
     "from a refusal until the first retry; doubled for each further one", NULL},
    {"clients.backoff_max", MC_F_TIME, AT(clients.backoff_max), "60s", 0, 1e6, "s",
     "what doubling does not go beyond", NULL},
    {"clients.jitter", MC_F_CHOICE, AT(clients.jitter), "half", 0, 0, "",
     "a backoff is multiplied by a random number (seeded): half: 0.5 to 1.5; full: 0 to 1; off: none",
     jitter_names},
    {"faults.events", MC_F_LIST, AT(faults.events), "", 0, 0, "",
     "faults at given times: [{\"at\": \"100s\", \"what\": \"node_down\", \"node\": \"prefill3\", \"for\": "
     "\"60s\"}, ...]; see mooncake-scenario(5)",
     NULL},
    {"faults.node_mtbf", MC_F_TIME, AT(faults.node_mtbf), "inf", 1e-3, INFINITY, "s",
     "mean time between failures of a node (seeded, exponential)", NULL},
    {"faults.node_mttr", MC_F_TIME, AT(faults.node_mttr), "300s", 1e-6, 1e9, "s",
     "mean time until such a node is back", NULL},
    {"faults.nic_mtbf", MC_F_TIME, AT(faults.nic_mtbf), "inf", 1e-3, INFINITY, "s",
     "mean time between failures of a NIC (seeded, exponential)", NULL},
    {"faults.nic_mttr", MC_F_TIME, AT(faults.nic_mttr), "60s", 1e-6, 1e9, "s",
     "mean time until such a NIC is back", NULL},
    {"faults.detect", MC_F_TIME, AT(faults.detect), "10s", 0, 1e9, "s",
     "from the loss of a node until the Conductor knows of it", NULL},
    {"faults.retries", MC_F_INT, AT(faults.retries), "10", 0, 1e6, "",
     "how often a request is placed again after a fault before it counts as failed", NULL},
    {"roles.policy", MC_F_CHOICE, AT(roles.policy), "static", 0, 0, "",
     "static: nodes keep the role that they begin with; load: some change between prefill and decode, to the "
     "pool that has more to do",
     role_names},
    {"roles.switchable", MC_F_COUNT, AT(roles.switchable), "2", 1, 100000, "nodes",
     "nodes that may change, half of them of each kind at first (of an odd number, a decode node more)",
     NULL},
    {"roles.cost", MC_F_TIME, AT(roles.cost), "30s", 0, 1e6, "s",
     "from the end of what a node had of its role until it works in the other one, with nothing cached",
     NULL},
    {"roles.interval", MC_F_TIME, AT(roles.interval), "30s", 1e-3, 1e6, "s",
     "time between two decisions, each on the mean of 16 looks at the loads; one node changes at most", NULL},
    {"roles.threshold", MC_F_REAL, AT(roles.threshold), "0.8", 0, 1e6, "",
     "load of a pool (1: full) above which it gets a node", NULL},
    {"roles.hysteresis", MC_F_REAL, AT(roles.hysteresis), "0.1", 0, 1e6, "",
     "by how much the load of the pool that gives a node stays below that of the one that gets it, after it",
     NULL},
    {"run.until", MC_F_TIME, AT(run.until), "inf", 0, 0, "s", "simulated time at which the run stops", NULL},
    {"run.warmup", MC_F_TIME, AT(run.warmup), "0s", 0, 1e9, "s",
     "leading time that is simulated and not counted", NULL},
    {"run.sample", MC_F_TIME, AT(run.sample), "10s", 1e-3, 1e9, "s", "interval of the time series", NULL},
    {"run.check", MC_F_BOOL, AT(run.check), "false", 0, 0, "", "check invariants while running", NULL},
    {"run.fast_forward", MC_F_BOOL, AT(run.fast_forward), "true", 0, 0, "",
     "skip events of decode iterations that change no batch; the results are the same", NULL},
    {NULL, MC_F_BOOL, 0, NULL, 0, 0, NULL, NULL, NULL},
};

struct mc_trace_params mc_scenario_trace(const struct mc_scenario *s)
{
	return (struct mc_trace_params){
	    .path = s->trace.path,
	    .format = s->trace.format,
	    .block_tokens = s->trace.block_tokens,
	    .kv_block_tokens = s->kv.block_tokens,
	    .rate = s->trace.rate,
	    .limit = s->trace.limit,
	    .max_output = s->trace.max_output,
	    .start = s->trace.start,
	    .spread_ticks = s->trace.spread_ticks,
	    .chain = true,
	    .seed = (uint64_t)s->seed,
	    .max_bad = s->trace.max_bad,
	};
}

int mc_scenario_bad(struct mc_err *err, const char *key, const char *text)
{
	return mc_err_key(err, MC_USAGE, key, "%s", text);
}

int mc_scenario_check(const struct mc_scenario *s, struct mc_err *err)
{
	struct mc_classes classes;
	int64_t block = s->kv.block_tokens ? s->kv.block_tokens : s->trace.block_tokens;
	int rc;

	if (s->cluster.prefill % s->cluster.prefill_group && !s->cluster.coupled)
		return mc_scenario_bad(err, "cluster.prefill_group",
				       "does not divide cluster.prefill; expected a divisor");
	if (block % s->trace.block_tokens && s->trace.block_tokens % block)
		return mc_scenario_bad(err, "kv.block_tokens",
				       "neither divides nor is a multiple of trace.block_tokens");
	if (s->kv.dram_tokens * s->cluster.prefill_group < block)
		return mc_scenario_bad(err, "kv.dram_tokens",
				       "holds not even one block; expected kv.block_tokens or more");
	if (s->kv.dram_tokens * s->cluster.prefill_group / block >= INT32_MAX)
		return mc_scenario_bad(err, "kv.dram_tokens",
				       "is over 2^31 blocks for one pool; use larger blocks");
	if (s->run.until <= 0)
		return mc_scenario_bad(err, "run.until",
				       "is not above 0; expected a time at which there is something to see");
	if (s->run.warmup >= s->run.until)
		return mc_scenario_bad(err, "run.warmup",
				       "leaves nothing to count; expected less than run.until");
	if (!s->trace.path[0])
		return mc_scenario_bad(err, "trace.path",
				       "is empty; expected a file, or - for standard input");
	if (mc_classes_read(s, &classes, err))
		return MC_USAGE;
	mc_vec_fini(&classes);
	if (mc_clients_check(s, err) || mc_roles_check(s, err))
		return MC_USAGE;
	rc = mc_cluster_coupled_scenario(s, err);
	return rc ? rc : mc_faults_check(s, err);
}

bool mc_scenario_is_random(const struct mc_scenario *s)
{
	return mc_policy_find(s->conductor.policy)->uses_seed ||
	       mc_decode_policy_find(s->conductor.decode_policy)->uses_seed || s->trace.spread_ticks ||
	       (mc_admission_find(s->conductor.admission)->uses_length &&
		mc_length_predictor_find(s->conductor.length_predictor)->uses_error) ||
	       mc_faults_by_rates(s) || mc_clients_random(s) || mc_classes_random(s);
}
