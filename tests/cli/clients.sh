#!/bin/sh
# Clients and classes as a user gives and sees them.
. "$(dirname "$0")/../scripts/tap.sh"
. "$(dirname "$0")/lib.sh"

run() { "$mooncake" run "$scenario" -q --check "$@"; }

# column NAME FILE: of a CSV file, without its name.
column()
{
	awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) k = i; next } { print $k }' "$2"
}

run --set clients.mode=closed --set clients.number=3 --set clients.think=2s >"$tap_dir/closed"
speaks "a closed loop is said" "3 in a closed loop, think time 2.00 s (exponential)" cat "$tap_dir/closed"
speaks "and runs all of the trace" "60 counted: 60 completed" cat "$tap_dir/closed"
speaks "times of the trace do not matter to it" "ignored: trace.rate: a closed loop has no times" \
	run --set clients.mode=closed --set trace.rate=2
run --set clients.mode=closed --set clients.number=3 --set seed=2 >"$tap_dir/other"
speaks "think times depend on the seed" "differ" cmp "$tap_dir/closed" "$tap_dir/other"
speaks "a limit is said" "5 requests under way at most" run --set clients.concurrency=5
run --set clients.concurrency=1 --out-dir "$tap_dir/one" >"$tap_dir/said"
column clients_held "$tap_dir/one/timeseries.csv" >"$tap_dir/held"
passes "requests wait at their clients" grep -q '[1-9]' "$tap_dir/held"
speaks "clients are ignored in an open loop" "ignored: clients.number" run --set clients.number=5
speaks "retries need refusals" "ignored: clients.retries: nothing is refused" run --set clients.retries=5

# All prefill nodes are down for 20 s.
down='faults.events=[{"at": 0, "what": "node_down", "node": "prefill0", "for": 20},
	{"at": 0, "what": "node_down", "node": "prefill1", "for": 20}]'
run --set "$down" --set faults.detect=0s >"$tap_dir/once"
run --set "$down" --set faults.detect=0s --set clients.retries=9 --out-dir "$tap_dir/again" >"$tap_dir/text"
speaks "without retries they are refused" "refused (no_instance)" cat "$tap_dir/once"
speaks "with retries they are served" "60 counted: 60 completed; " cat "$tap_dir/text"
speaks "retries are counted" "refusals, sent again" cat "$tap_dir/text"
column clients_backing_off "$tap_dir/again/timeseries.csv" >"$tap_dir/backing"
passes "those that back off are in the time series" grep -q '[1-9]' "$tap_dir/backing"
sum=$(column attempts "$tap_dir/again/requests.csv" | awk '{ s += $1 - 1 } END { print s }')
speaks "attempts are in requests.csv" "\"resent\": $sum," cat "$tap_dir/again/result.json"

two='classes=[{"name": "chat", "share": 3}, {"name": "batch", "ttft": "none"}]'
run --set "$two" --out-dir "$tap_dir/classes" >"$tap_dir/text"
passes "a table by class" grep "^class  *requests" "$tap_dir/text"
batch=$(column class "$tap_dir/classes/requests.csv" | grep -c batch)
passes "classes are in requests.csv" grep "^batch  *$batch  *0  *-" "$tap_dir/text"
speaks "who has no objective is counted" "\"no_objective\": $batch," cat "$tap_dir/classes/result.json"
run --set "$two" --set clients.mode=closed --out-dir "$tap_dir/loop" >"$tap_dir/said"
column class "$tap_dir/classes/requests.csv" >"$tap_dir/a"
column class "$tap_dir/loop/requests.csv" >"$tap_dir/b"
silent "other clients are of the same classes" cmp "$tap_dir/a" "$tap_dir/b"
speaks "a load without admission is ignored" "ignored: classes: only admit_load" \
	run --set 'classes=[{"name": "a", "admit_load": 0.5}]'

refused "the highest rate of a closed loop" "clients.mode: is closed" 2 \
	"$mooncake" capacity "$scenario" --set clients.mode=closed -o "$out"
refused "a class without a name" "classes[1].name: is required" 2 run --set 'classes=[{"name": "a"}, {}]' -o "$out"
refused "a class twice" "classes[1].name: is that of another class" 2 \
	run --set 'classes=[{"name": "a"}, {"name": "a"}]' -o "$out"
refused "classes that are no list" "classes: is not a list" 2 run --set 'classes={"name": "a"}' -o "$out"
refused "a mode that there is not" "clients.mode: 'shut' is unknown" 2 run --set clients.mode=shut -o "$out"
refused "a backoff over its limit" "clients.backoff_max: is less than clients.backoff" 2 \
	run --set clients.backoff=2min -o "$out"
for i in 1 2 3; do cat "$tap_dir/trace.jsonl"; done | awk '{ sub(/"timestamp": [0-9]*/, "\"timestamp\": " NR); print }' \
	>"$tap_dir/long.jsonl"
refused "think times without end" "clients.think: may add up to" 2 \
	run --set clients.mode=closed --set clients.think=1000000s --set run.until=inf -o "$out" \
	--set 'trace.path='"$tap_dir"'/long.jsonl'
tap_done
