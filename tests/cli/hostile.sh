#!/bin/sh
# Settings at their limits and hostile ones: refused with their place, or run; never a hang or an overflow.
. "$(dirname "$0")/../scripts/tap.sh"
. "$(dirname "$0")/lib.sh"

run() { "$mooncake" run "$scenario" -q "$@"; }

refused "a network too slow for the clock" "142" 2 run --set net.bandwidth=1 -o "$out"
sed 's/"timestamp": 57000/"timestamp": 5000000000000/' "$tap_dir/trace.jsonl" | sort -t: -k2n >"$tap_dir/late.jsonl"
refused "arrivals too late for the clock" "142" 2 run --set "trace.path=$tap_dir/late.jsonl" -o "$out"
awk 'BEGIN {
	for (i = 0; i < 20; i++) {
		printf "{\"timestamp\": %d, \"input_length\": 4294967295, \"output_length\": 1, \"hash_ids\": [0", i
		for (b = 1; b < 4096; b++)
			printf ",%d", b
		print "]}"
	}
}' >"$tap_dir/huge.jsonl"
refused "prompts too long for the clock" "142" 2 run --set "trace.path=$tap_dir/huge.jsonl" \
	--set trace.block_tokens=1Mi -o "$out"
refused "nothing to see" "--set: run.until" 2 run --set run.until=0 -o "$out"

# The queue at the end takes longer than its time series may: the rows get farther apart.
run --set run.sample=1ms --set net.bandwidth=10MB/s --out-dir "$tap_dir/slow" >"$tap_dir/said"
speaks "too long a time series is told" "ignored: run.sample" cat "$tap_dir/said"
speaks "and in JSON" '"key": "run.sample"' cat "$tap_dir/slow/result.json"
silent "and has fewer rows" test "$(wc -l <"$tap_dir/slow/timeseries.csv")" -le 1000000
silent "of one interval" awk -F, 'NR == 3 { d = $1 } NR > 3 && $1 - last != d && ($1 - last - d) ^ 2 > 1e-12 { print; exit } { last = $1 }' \
	"$tap_dir/slow/timeseries.csv"
refused "samples of a trace of years" "run.sample" 2 run --set trace.rate=1e-6 -o "$out"

refused "a profile from --set" "--set: hardware" 2 run --set hardware=none -o "$out"
refused "a model from --set" "--set: model" 2 run --set model=none -o "$out"
refused "a model's key from --set" "--set: model.layers" 2 run --set 'model={"layers": 0}' -o "$out"
refused "a start past the end" "--set: trace.start: skips all" 2 run --set trace.start=1h -o "$out"
refused "a format from --set" "--set: trace.format" 2 run --set trace.format=csv -o "$out"
refused "options of trace by their names" "trace.jsonl: --start: skips all" 2 "$mooncake" trace stat "$tap_dir/trace.jsonl" --start 1h
refused "a number as it was written" "run.sample: 1e-09 s is" 2 run --set run.sample=1ns -o "$out"
refused "no output name" "empty" 2 run -o ''
refused "no folder's name" "empty" 2 run --out-dir ''
refused "a bad setting" "unknown key" 2 run --out-dir "$tap_dir/new" --set a=1
silent "makes no folder" test ! -e "$tap_dir/new"

# Ended while it writes.
"$mooncake" trace gen "$MC_SRCDIR/traces/conversation-like.json" --set scale=20 -o "$tap_dir/cut.jsonl.zst" 2>"$tap_dir/stderr" &
pid=$!
tries=0
while [ $tries -lt 200 ] && ! ls "$tap_dir"/cut.jsonl.zst*.tmp >/dev/null 2>&1; do
	tries=$((tries + 1))
	sleep 0.05
done
kill -TERM $pid
wait $pid
silent "gen, interrupted: exit 1" test $? -eq 1
silent "nothing half-written is left" sh -c 'ls "$1" | grep "^cut.jsonl"; true' sh "$tap_dir"
tap_done
