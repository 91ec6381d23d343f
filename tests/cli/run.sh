#!/bin/sh
# mooncake run: the same bytes, every form of a result, and mistakes with their place.
. "$(dirname "$0")/../scripts/tap.sh"
. "$(dirname "$0")/lib.sh"

run() { "$mooncake" run "$scenario" -q "$@"; }

passes "run with --check" run --check
for evictor in $("$mooncake" list evictors | awk '/^  / { print $1 }'); do
	run --check -f csv --set "kv.evict=$evictor" --set kv.dram_tokens=30K >"$tap_dir/evicted" 2>&1
	passes "$evictor evicts" grep '^cache.evicted_blocks,[1-9]' "$tap_dir/evicted"
done
speaks "text ends with the bottleneck" "bottleneck: " run
silent "quiet says nothing on stderr" sh -c '"$1" run "$2" -q >/dev/null' sh "$mooncake" "$scenario"
run -f json -o "$tap_dir/a.json"
(cd "$tap_dir" && "$mooncake" run "$scenario" -q -f json) >"$tap_dir/b.json"
silent "the same bytes from another folder, to a file and to stdout" cmp "$tap_dir/a.json" "$tap_dir/b.json"
run -f json --set run.fast_forward=false -o "$tap_dir/c.json"
grep -Ev '"(fast_forward|events)"' "$tap_dir/a.json" >"$tap_dir/a.cut"
grep -Ev '"(fast_forward|events)"' "$tap_dir/c.json" >"$tap_dir/c.cut"
silent "stepping one by one gives the same" cmp "$tap_dir/a.cut" "$tap_dir/c.cut"
zstd -q "$tap_dir/trace.jsonl" -o "$tap_dir/only.jsonl.zst" 2>/dev/null &&
	speaks "a missing .jsonl is looked for as .zst" "60 counted" run --set "trace.path=$tap_dir/only.jsonl"
speaks "a trace from stdin" "60 counted" sh -c '"$1" run "$2" -q --set trace.path=- <"$3"' sh "$mooncake" "$scenario" "$tap_dir/trace.jsonl"
speaks "a scenario from stdin" "60 counted" sh -c 'cd "$3" && "$1" run - -q <"$2"' sh "$mooncake" "$scenario" "$tap_dir"
(cd / && MOONCAKE_DATA=$tap_dir "$mooncake" run "$scenario" -q --set 'trace.path=${MOONCAKE_DATA}/trace.jsonl') >"$tap_dir/said" 2>&1
speaks "MOONCAKE_DATA is expanded" "60 counted" cat "$tap_dir/said"

passes "a folder of results" run --out-dir "$tap_dir/x/y"
silent "result.json is the JSON result" cmp "$tap_dir/a.json" "$tap_dir/x/y/result.json"
silent "a row a request" test "$(wc -l <"$tap_dir/x/y/requests.csv")" -eq 61
speaks "a time series" "at_s,prefill_queued" head -1 "$tap_dir/x/y/timeseries.csv"
speaks "replica counts" "at_s,rank,references,replicas" head -1 "$tap_dir/x/y/replicas.csv"
speaks "CSV" "ttft_s.count,60,count" run -f csv

speaks "an explanation names the branch" "branch: " run --explain 40
speaks "and the outcome" "what happened: completed" run --explain 40
speaks "an explanation in JSON" '"kind": "mooncake-explanation"' run --explain 0 -f json
run --explain 40 -f json -o "$tap_dir/d.json" >/dev/null
silent "explaining changes nothing" cmp "$tap_dir/a.json" "$tap_dir/d.json"
speaks "seeds: an interval" "ttft_s.mean" run --seeds 3 --set conductor.policy=random
speaks "seeds: nothing is random" "nothing is random" run --seeds 2
run --seeds 3 --set conductor.policy=random -f csv >"$tap_dir/seeds"
run --set conductor.policy=random --set seed=3 -f csv >"$tap_dir/seed3"
speaks "the third seed is seed 3" "$(sed -n 's/^ttft_s.mean,\([^,]*\),.*/\1/p' "$tap_dir/seed3")" \
	run --seeds 3 --set conductor.policy=random -f json
speaks "ignored settings are told" "ignored: conductor.balancing_threshold" \
	run --set conductor.policy=random --set conductor.balancing_threshold=2
speaks "ticks that are spread are told" '"ticks": "spread"' run --set trace.spread_ticks=true -f json
speaks "a warm-up is not counted" "30 counted" run --set run.warmup=30s
speaks "what no decode node can hold is refused" "49 refused (decode_capacity)" \
	run --set 'model={"layers": 80, "hidden": 64, "heads": 64, "kv_heads": 64, "head_dim": 8192, "ffn": 64, "vocab": 100}' \
	--set hardware=a800-x8-analytic
speaks "a cut-off run counts what is unfinished" "unfinished" run --set run.until=3500ms

lost='faults.events=[{"at": "9.1s", "what": "node_down", "node": "prefill0", "for": "30s"}]'
run --check --set "$lost" --set faults.detect=5s --out-dir "$tap_dir/lost" >"$tap_dir/lost.txt"
speaks "a lost node is told" "1 node lost (30.0 s)" cat "$tap_dir/lost.txt"
speaks "and when it was away" 3 awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
	NR > 1 && $at["prefill_down"] == 1 && $at["decode_down"] == 0 { n++ } END { print n }' "$tap_dir/lost/timeseries.csv"
speaks "and who started over" yes awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
	NR > 1 && $at["retries"] == 1 && $at["attempts"] == 1 { print "yes"; exit }' "$tap_dir/lost/requests.csv"
speaks "a lost node in an explanation" "0       down" run --set "$lost" --set faults.detect=0s --explain 40
speaks "a node that is not there" "--set: faults.events[0].node: 'prefill2' is no instance" \
	run --set 'faults.events=[{"at": 1, "what": "node_down", "node": "prefill2"}]'
echo '{"base": "scenario.json", "faults": {"events": [{"at": 1, "what": "node_donw", "node": "decode0"}]}}' \
	>"$tap_dir/faulty.json"
refused "an event in a file" "faulty.json: faults.events[0].what: 'node_donw' is unknown" 2 \
	"$mooncake" run "$tap_dir/faulty.json" -o "$out"
refused "what only the run knows" "faults.events[0].nic: is no NIC of decode1, which has 4" 2 \
	run --set 'faults.events=[{"at": 1, "what": "nic_down", "node": "decode1", "nic": 4}]' -o "$out"
speaks "repairs without failures do nothing" "ignored: faults.nic_mttr" run --set faults.nic_mttr=1h
speaks "rates are random" "failures" run --seeds 2 --set faults.node_mtbf=30s --set faults.node_mttr=2s

# The signal comes while the trace is still being read: longer than a pipe holds, so that the program is listening.
awk 'BEGIN {
	for (i = 0; i < 2000; i++)
		printf "{\"timestamp\": %d, \"input_length\": 500, \"output_length\": 5, \"hash_ids\": [%d]}\n", i * 100, i
}' >"$tap_dir/long.jsonl"
mkfifo "$tap_dir/pipe"
"$mooncake" run "$scenario" -q --set trace.path=- -f json -o "$tap_dir/cut.json" <"$tap_dir/pipe" 2>"$tap_dir/stderr" &
pid=$!
{
	cat "$tap_dir/long.jsonl"
	kill -TERM $pid
} >"$tap_dir/pipe"
wait $pid
silent "interrupted: exit 1" test $? -eq 1
speaks "interrupted: results so far are marked" '"incomplete": true' cat "$tap_dir/cut.json"
speaks "interrupted: it is told" "interrupted" cat "$tap_dir/stderr"

refused "no scenario" "none.json" 2 "$mooncake" run "$tap_dir/none.json" -o "$out"
refused "no operand" "one scenario" 2 "$mooncake" run
refused "a mistyped option" "--out-dir" 2 run --outdir x -o "$out"
refused "a mistyped key" "did you mean 'conductor.policy'" 2 run --set conductor.polcy=random -o "$out"
refused "no such policy" "conductor.policy" 2 run --set conductor.policy=best -o "$out"
refused "no decode node" "cluster.decode" 2 run --set cluster.decode=0 -o "$out"
refused "a group that does not divide" "cluster.prefill_group" 2 run --set cluster.prefill_group=3 --set cluster.prefill=4 -o "$out"
refused "no room for the model" "vram" 2 run -o "$out" --set hardware=a800-x8-analytic \
	--set 'model={"layers": 800, "hidden": 8192, "heads": 64, "kv_heads": 8, "head_dim": 128, "ffn": 28672, "vocab": 128256}'
refused "a bad key of the model" "model.head_dim" 2 run --set 'model={"layers": 1, "head_dim": 0}' -o "$out"
refused "no trace" "trace.path" 2 run --set trace.path=none.jsonl -o "$out"
refused "MOONCAKE_DATA is not set" "traces/fetch" 2 env -u MOONCAKE_DATA "$mooncake" run "$scenario" -q -o "$out" \
	--set 'trace.path=${MOONCAKE_DATA}/x.jsonl'
refused "both from stdin" "standard input" 2 sh -c '"$1" run - -q --set trace.path=- -o "$2" <"$3"' \
	sh "$mooncake" "$out" "$scenario"
refused "a request that the run has not" "requests 0 to 59" 2 run --explain 60 -o "$out"
refused "seeds of one explanation" "--seeds" 2 run --seeds 2 --explain 1 -o "$out"
printf '{"trace": {"path": "trace.jsonl"},\n "cluster": {"prefil": 2}}' >"$tap_dir/bad.json"
refused "a key with its place" "bad.json:2:" 2 "$mooncake" run "$tap_dir/bad.json" -o "$out"
printf '{"timestamp": 1, "input_length": "600", "output_length": 1, "hash_ids": [1, 2]}\n' >"$tap_dir/bad.jsonl"
refused "a bad record with its place" "bad.jsonl:1:" 2 run --set "trace.path=$tap_dir/bad.jsonl" -o "$out"
if [ -w /dev/full ]; then
	refused "a full disk" "/dev/full" 1 run -o /dev/full
	refused "a full stdout" "" 1 sh -c '"$1" run "$2" -q >/dev/full' sh "$mooncake" "$scenario"
else
	skip "a full disk" "there is no /dev/full"
fi
refused "nowhere to write" "none/x.json" 1 run -o "$tap_dir/none/x.json"
refused "a file where the folder should be" "trace.jsonl" 2 run --out-dir "$tap_dir/trace.jsonl"
speaks "nodes that change" "1 switches, " run --check --set roles.policy=load --set trace.rate=20 --set roles.interval=1s --set roles.cost=1s
speaks "both instances of such a node" '"prefill_instance": 2' run -f json --set roles.policy=load
speaks "settings of roles that do nothing" "roles.cost: no node changes its role" run --set roles.cost=1s
refused "nodes that change, and faults" "roles.policy: knows no faults" 2 "$mooncake" run "$scenario" -q -o "$out" \
	--set roles.policy=load --set "$lost"
tap_done
