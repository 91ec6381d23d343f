#!/bin/sh
# mooncake list, config and help.
. "$(dirname "$0")/../scripts/tap.sh"
. "$(dirname "$0")/lib.sh"

config() { "$mooncake" config "$@"; }

config show "$scenario" >"$tap_dir/shown.json"
speaks "show: a given value" '"decode": 2' cat "$tap_dir/shown.json"
speaks "show: a default" '"dram_tokens": 3000000' cat "$tap_dir/shown.json"
speaks "show: --set" '"ttft": 0.5' config show "$scenario" --set slo.ttft=500ms
config show "$tap_dir/shown.json" >"$tap_dir/again.json"
silent "what is shown is a scenario, and shows the same" cmp "$tap_dir/shown.json" "$tap_dir/again.json"
speaks "check: ok" "ok (llama3-70b on a800-x8" config check "$scenario"
speaks "check: ignored settings" "ignored: seed" config check "$scenario" --set seed=3
speaks "check: no racks" "ignored: net.oversubscription: there are no racks" \
	config check "$scenario" --set net.oversubscription=4
speaks "check: one rack" "ignored: net.rack_nodes: all nodes are in one rack" \
	config check "$scenario" --set net.rack_nodes=100000
speaks "check: slices without faults" "ignored: net.slice: no NIC fails" \
	config check "$scenario" --set net.slice=1MiB
config check "$scenario" --set net.rack_nodes=1 --set net.rack_order=dealt >"$tap_dir/racks" 2>&1
silent "check: racks of a node are racks" sed -n "/ignored/p" "$tap_dir/racks"
refused "check: no trace" "trace.path" 2 config check "$scenario" --set trace.path=none
refused "check: no profile" "hardware" 2 config check "$scenario" --set hardware=b900
refused "check: no model" "model" 2 config check "$scenario" --set model=gpt
refused "check: a cluster that cannot be" "cluster.prefill_group" 2 config check "$scenario" --set cluster.prefill_group=5
refused "neither show nor check" "expected show or check" 2 config print "$scenario"

for list in policies evictors formats profiles models sinks; do passes "list $list" "$mooncake" list $list; done
speaks "a policy and what it does" "Algorithm 1" "$mooncake" list policies
speaks "decode policies, too" "conductor.decode_policy" "$mooncake" list policies
speaks "a profile's errors" "largest error" "$mooncake" list profiles
refused "no such list" "did you mean policies" 2 "$mooncake" list polices

speaks "help lists topics" "metrics" "$mooncake" help
for topic in config metrics formats units run compare list kv net.slice cache network.bytes; do passes "help $topic" "$mooncake" help $topic; done
speaks "a metric is defined" "arrival to the end of prefill" "$mooncake" help metrics
speaks "a key is explained" "conductor.balancing_threshold" "$mooncake" help config
speaks "help on a group of keys" "kv.ssd_write" "$mooncake" help kv
"$mooncake" help kv >"$tap_dir/group"
silent "and on nothing else" sed -n "/^net/p" "$tap_dir/group"
speaks "help on the end of a key" "conductor.admission " "$mooncake" help admission
speaks "help on the end of a metric" "network.bytes (bytes)" "$mooncake" help bytes
speaks "help on a group of metrics" "cache.fetched_bytes" "$mooncake" help cache
refused "no such topic" "did you mean metrics" 2 "$mooncake" help metric
for f in "$MC_SRCDIR"/experiments/*/scenario.json; do
	passes "${f#"$MC_SRCDIR/"} is a scenario" config show "$f"
done
tap_done
