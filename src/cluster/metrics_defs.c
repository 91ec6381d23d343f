/* What each metric means: `help metrics`, and the test that every key of a JSON result is defined. */
#include "cluster/metrics.h"

#include <string.h>

#define SUMMARY "each {mean,p50,p90,p95,p99,max,count}; percentiles are exact (nearest rank)"

const struct mc_metric_def mc_metric_defs[] = {
    {"requests.total", "requests",
     "requests that arrived after run.warmup; completed + rejected + failed + unfinished"},
    {"requests.completed", "requests", "requests whose last token exists"},
    {"requests.rejected", "requests",
     "requests that the Conductor refused, the last time that their client sent them: see rejected_by"},
    {"requests.failed", "requests",
     "requests that faults met once more after faults.retries retries: given up"},
    {"requests.unfinished", "requests",
     "requests still in the cluster when the run stopped (run.until, or interrupted; or nothing could go on, "
     "since all NICs of a node are down for good)"},
    {"requests.retried", "requests",
     "requests that a fault made start over, or that were handed over again to another decode node, whatever "
     "became of them: part of the outcomes above. Their arrival stays, all else is of the last time: TTFT is "
     "that of the answer that completes, tokens of an answer that was lost count in itl_s alone"},
    {"requests.no_objective", "requests",
     "requests without an objective of TTFT or of TBT (classes; slo.ttft or slo.tbt of 0): never effective"},
    {"requests.resent", "attempts",
     "how often clients sent refused requests again (clients.retries), whatever became of them. The arrival "
     "of "
     "a request is that of its first attempt: backoffs are part of its TTFT"},
    {"requests.refusals", "refusals", "refusals of all attempts, those that were sent again included"},
    {"requests.effective", "requests",
     "completed requests with TTFT <= slo.ttft and TBT <= slo.tbt, or the objectives of their class "
     "(classes)"},
    {"requests.warmup", "requests",
     "requests that arrived within run.warmup: simulated, counted nowhere else"},
    {"rejected_by", "requests",
     "refused requests by reason; decode_capacity: prompt and output exceed any decode node's KV memory; "
     "no_instance: all prefill or all decode instances were down (faults); prefill_load and decode_load: by "
     "conductor.admission, on arrival or (baseline, decode_load) after prefill; decode_check: by the decode "
     "node, with all KV there"},
    {"ttft_s", "s", "time to first token: arrival to the end of prefill, over completed prefills; " SUMMARY},
    {"handover_s", "s",
     "end of prefill to the last KV block received by the decode node, over requests that go to decode"},
    {"ttft_handover_s", "s",
     "ttft + handover (0 for a one-token output): what is compared with figures 13 and 15 of the FAST'25 "
     "paper"},
    {"tbt_s", "s",
     "time between tokens of a request: the mean of its longest ceil(10 %) token intervals (the paper's "
     "definition), over "
     "completed requests with two output tokens or more"},
    {"itl_s", "s",
     "inter-token latency: every single token interval at decode nodes of counted requests; the first one "
     "starts when the "
     "request has all its KV at the decode node, so waiting for a batch slot counts and the hand-over does "
     "not. At coupled nodes: from one token to the next, standing still for prompts included"},
    {"tpot_s", "s",
     "time per output token: (end - hand-over end) / (output tokens - 1), over completed requests with two "
     "output "
     "tokens or more"},
    {"e2e_s", "s", "arrival to the last token, over completed requests"},
    {"slo.ttft_s", "s", "the objective slo.ttft"},
    {"slo.tbt_s", "s", "the objective slo.tbt"},
    {"slo.ttft_met", "requests",
     "completed requests with TTFT <= slo.ttft or that of their class; without an objective none is met"},
    {"slo.tbt_met", "requests",
     "completed requests with TBT <= slo.tbt or that of their class; a one-token output has no interval and "
     "meets "
     "it; without an objective none is met"},
    {"slo.effective_ratio", "ratio",
     "requests.effective / requests.total: rejected and unfinished ones are not effective"},
    {"cache.input_tokens", "tokens", "prompt tokens of dispatched requests"},
    {"cache.hit_tokens", "tokens",
     "of those, tokens of leading blocks found in the KV pool when the request was placed (by coupled nodes: "
     "when its prefill started); at most all but the last token"},
    {"cache.hit_ratio", "ratio", "hit_tokens / input_tokens"},
    {"cache.local_hit_tokens", "tokens",
     "hit tokens found in DRAM of the chosen prefill node, or VRAM of a coupled one"},
    {"cache.remote_hit_tokens", "tokens", "hit tokens fetched from another node's DRAM"},
    {"cache.ssd_hit_tokens", "tokens", "hit tokens read from an SSD, that of the chosen node or another's"},
    {"cache.fetched_bytes", "bytes",
     "KV that prompts fetched from other nodes, from their DRAM or their SSDs, whole run"},
    {"cache.replica_copies", "copies",
     "copies that the replication policy began (conductor.replicas), whole run; what Algorithm 1 copies "
     "counts in "
     "fetched_bytes"},
    {"cache.replica_bytes", "bytes", "KV that it moved between nodes, whole blocks, whole run"},
    {"cache.replica_dropped_blocks", "blocks", "blocks of spare copies that it gave up, whole run"},
    {"cache.write_backs", "requests",
     "answers whose KV was kept for a later prompt that goes on from them (kv.write_back), whole run. Others "
     "are "
     "not written: the trace has no name for their blocks"},
    {"cache.write_back_bytes", "bytes",
     "KV of answers sent from decode nodes to prefill instances, whole blocks, whole run"},
    {"cache.write_back_homeless", "requests",
     "answers not sent since no prefill instance had the prompt any more, whole run"},
    {"cache.ssd_read_bytes", "bytes", "KV read from SSDs, whole run"},
    {"cache.ssd_written_bytes", "bytes", "KV written to SSDs, whole run"},
    {"cache.ssd_evicted_blocks", "blocks", "blocks evicted from SSDs, whole run"},
    {"cache.ssd_unstored_blocks", "blocks",
     "blocks not written to SSD since too much was waiting already (kv.ssd_staging_bytes) or all of it was "
     "in use, whole run"},
    {"cache.evicted_blocks", "blocks", "blocks evicted from DRAM pools, or VRAM of coupled nodes, whole run"},
    {"cache.unstored_blocks", "blocks", "blocks not kept since all of a pool was in use (pinned), whole run"},
    {"cache.stale_blocks", "blocks",
     "cached blocks that a placement counted on, to be there or to be fetched, and that were gone when it "
     "was "
     "carried out, whole run (conductor.staleness)"},
    {"prefill.compute_s_mean", "s",
     "engine time of the forward passes alone, mean of completed prefills (figure 8). Coupled nodes: of each "
     "pass up to the first token the time beyond that of its running requests alone, shared by prompts as "
     "their slices are"},
    {"prefill.gpu_time_s_mean", "s",
     "compute plus loading the cached prefix from the node's own DRAM; no queueing, no fetch"},
    {"prefill.queue_s_mean", "s",
     "decision to the start of prefill; of a coupled node: of the first pass that computes any of it"},
    {"prefill.fetch_wait_s_mean", "s", "time that prefill stood still for blocks of other nodes or of SSDs"},
    {"prefill.busy_ratio", "ratio",
     "engine time of all prefill nodes / (nodes x time to the last event), whole run; of coupled nodes the "
     "part that prompts have in it, and decode.busy_ratio is the rest"},
    {"prefill.wasted", "prefills",
     "prefills whose request was refused after them (decode_load with conductor.admission=baseline, "
     "decode_check; no_instance where its decode node was lost and no other was left), whole run. What they "
     "computed stays cached"},
    {"prefill.wasted_s", "s", "engine time of those, cache loads included"},
    {"load.prefill_mean", "ratio",
     "load of the prefill pool: T_queue over slo.ttft, mean of its living instances and of the samples up to "
     "the last arrival"},
    {"load.decode_mean", "ratio",
     "load of the decode pool, likewise: of an instance the largest of time of an iteration with all that "
     "have their KV there over slo.tbt, of KV that has room in VRAM or waits for it over VRAM, and of the "
     "batch over cluster.max_batch"},
    {"load.correlation", "ratio",
     "Pearson's correlation of both loads over those samples; below 0: they swing in anti-phase. 0 where one "
     "never changes"},
    {"prefill.prediction_error_s_mean", "s",
     "mean of |TTFT predicted at the decision - TTFT|, over completed prefills"},
    {"decode.busy_ratio", "ratio",
     "time in iterations of all decode nodes / (nodes x time to the last event), whole run"},
    {"decode.batch_mean", "requests", "requests of an iteration, mean over all iterations, whole run"},
    {"decode.iterations", "iterations",
     "decode iterations, whole run; of coupled nodes also those that have slices of prompts beside them"},
    {"decode.preemptions", "requests",
     "requests that coupled nodes threw out since VRAM had run out, each time, whole run"},
    {"decode.recomputed_tokens", "tokens", "tokens whose KV was computed again for that, whole run"},
    {"network.bytes", "bytes",
     "KV moved between nodes, whole run: fetched, copied by the replication policy, handed over to decode "
     "nodes, and written back from them"},
    {"network.busiest_link_ratio", "ratio",
     "bytes / (capacity x time to the last event) of the busiest link, whole run"},
    {"network.busiest_link", "name",
     "which link that is: a node and a direction (a NIC and a direction where they are not one link), or "
     "that of a rack; no SSD: those are in the time series (link_max) and the bottleneck"},
    {"network.busiest_rack_ratio", "ratio",
     "the same of the links between racks and spine alone; 0: no racks (net.rack_nodes)"},
    {"network.resent_bytes", "bytes",
     "sent, and sent again since their NIC failed; not part of network.bytes"},
    {"network.stage_bytes", "bytes",
     "activations that cross between the nodes of prefill groups (cluster.prefill_group), whole run: new "
     "tokens x hidden x 2 bytes x (group - 1) stage boundaries; not part of network.bytes. 0: single nodes"},
    {"network.stage_nic_ratio", "ratio",
     "share of the time to the last event that a node of the busiest group sends activations at its full "
     "bandwidth. Chunks pay that time at every boundary, but neither slow KV transfers nor are slowed by "
     "them: no matter while this is small, and it is bounded by what a group computes (8 nodes of a800-x8: "
     "at "
     "most 73,000 new tokens/s x 16,384 bytes over 87 GB/s, 1.4 %). Where this and "
     "network.busiest_link_ratio "
     "are large together, TTFT is too low"},
    {"faults.nodes", "failures", "losses of prefill or decode instances, whole run"},
    {"faults.node_down_s", "s", "time that they were gone, summed over instances"},
    {"faults.nics", "failures", "losses of single NICs, whole run"},
    {"faults.nic_down_s", "s", "time that they were gone, summed over NICs"},
    {"faults.lost_blocks", "blocks", "KV blocks lost with the DRAM of nodes"},
    {"faults.restarts", "requests",
     "requests that started over: before their hand-over was done their prefill instance was lost, or after "
     "it their decode node"},
    {"faults.moves", "requests",
     "requests whose decode node was lost during prefill or hand-over, and that got another"},
    {"faults.failed_fetches", "requests",
     "requests that computed cached blocks since the node that they came from was lost"},
    {"faults.lost_prefill_s", "s",
     "engine time of prefills whose KV was lost, finished or not, summed over nodes"},
    {"faults.lost_tokens", "tokens", "tokens of answers that were thrown away"},
    {"roles.switches", "switches", "nodes that began to change between prefill and decode, whole run"},
    {"roles.drain_s", "s",
     "time in which such nodes took nothing new and finished what they had, summed over nodes"},
    {"roles.away_s", "s", "time in which they did nothing (roles.cost each), summed over nodes"},
    {"roles.switchable", "", "the nodes that may change: the number of their instance of each kind"},
    {"roles.prefill_nodes_mean", "nodes", "prefill nodes, draining ones included: mean over the run"},
    {"roles.decode_nodes_mean", "nodes", "decode nodes, likewise"},
    {"throughput.requests_per_s", "1/s", "completed requests / duration"},
    {"throughput.input_tokens_per_s", "1/s", "prompt tokens of completed prefills / duration"},
    {"throughput.output_tokens_per_s", "1/s", "output tokens of completed requests / duration"},
    {"throughput.goodput_requests_per_s", "1/s", "effective requests / duration"},
    {"throughput.goodput_tokens_per_s", "1/s", "output tokens of effective requests / duration"},
    {"duration_s", "s", "simulated time from the end of run.warmup to the last event of a request"},
    {"events", "events", "events that the simulator handled; work done, no property of the cluster"},
    {"steady.is_steady", "true/false",
     "false when queues were still growing: in the last quarter of the arrival period the mean prefill wait "
     "(predicted "
     "T_queue, mean over nodes and samples) was over 1.2 times that of the quarter before and higher by over "
     "a tenth of "
     "slo.ttft, or the same held for requests waiting for a batch slot (and by over one a decode node). Runs "
     "of fewer "
     "than 8 samples are not judged. Means of an unsteady run depend on its length"},
    {"steady.queue_growth", "ratio",
     "mean prefill wait of the last quarter of the arrival period / that of the quarter before, each taken "
     "as at least "
     "1 ms; 0: not judged"},
    {"range.outside_fit_ratio", "ratio",
     "share of requests with a prompt or context beyond the range that the profile was fitted on: "
     "extrapolated"},
    {"range.outside_trust_ratio", "ratio",
     "share of requests beyond the wider range that the profile is trusted on"},
    {"range.batch_outside_fit_ratio", "ratio",
     "share of decode iterations with a batch beyond the fitted one"},
    {"range.batch_outside_trust_ratio", "ratio",
     "share of decode iterations with a batch beyond the trusted one"},
    {"range.operators", "",
     "times from operators (hardware_times): what was measured of each, and passes beyond it: {operator, "
     "dimension, low, high, passes (prefill chunks of counted requests and decode iterations that have the "
     "operator), below, above, most (largest there was)}; of coupled nodes as if each prompt had chunks of "
     "its own"},
    {"ignored", "", "settings that were given and had no effect on this run, with the reason: {key, reason}"},
    {"by_length", "",
     "the same by prompt length (k = 1,024 tokens): {over_tokens, max_tokens (null: no limit), requests, "
     "completed, "
     "effective, hit_ratio, ttft_s, tbt_s}"},
    {"by_class", "",
     "the same by priority class (classes), none without classes: {name, requests, completed, rejected, "
     "effective, effective_ratio, ttft_s, tbt_s}"},
    {"bottleneck", "text",
     "the most loaded part: prefill pool (share of instances with a prompt, of a group its engine time; or "
     "mean wait / slo.ttft), decode "
     "pool (iteration "
     "time of the largest batch / slo.tbt, or VRAM of the fullest node), or busiest link or SSD; by the "
     "highest "
     "mean over a window of "
     "a twentieth of the run, and named with the span around it in which such means stay above 90 % of that, "
     "or of full. Where none is full, coupled nodes that miss slo.tbt for over a tenth of the requests are "
     "told. "
     "\"none\" below 70 %"},
    {"incomplete", "true/false", "the run was interrupted: figures are of the requests up to then"},
    {NULL, NULL, NULL},
};

const struct mc_metric_def *mc_metric_find(const char *key)
{
	const struct mc_metric_def *best = NULL;
	size_t longest = 0;

	for (const struct mc_metric_def *d = mc_metric_defs; d->key; d++) {
		size_t n = strlen(d->key);

		if (n > longest && !strncmp(key, d->key, n) && (!key[n] || key[n] == '.')) {
			best = d;
			longest = n;
		}
	}
	return best;
}

const char *mc_metric_unit(const char *key)
{
	const struct mc_metric_def *def = mc_metric_find(key);
	const char *dot = strrchr(key, '.');

	if (dot && !strcmp(dot, ".count"))
		return "count";
	return def ? def->unit : "";
}
