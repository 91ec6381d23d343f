#!/bin/sh
# mooncake compare: results, folders, scenarios and one scenario across a setting.
. "$(dirname "$0")/../scripts/tap.sh"
. "$(dirname "$0")/lib.sh"

run() { "$mooncake" run "$scenario" -q "$@"; }
compare() { "$mooncake" compare -q "$@"; }

run --out-dir "$tap_dir/a" >/dev/null
run --out-dir "$tap_dir/b" --set conductor.policy=random >/dev/null
run -f json -o "$tap_dir/c.json"
compare "$tap_dir/a" "$tap_dir/b" >"$tap_dir/folders"
speaks "the setting that differs" '"kvcache-centric"  "random"' cat "$tap_dir/folders"
speaks "paired by request" "paired by request" cat "$tap_dir/folders"
# The mean of paired differences is the difference of means.
speaks "the two ways of a difference agree" "same" awk '
	$1 == "ttft_s.mean" { d = $4 } $1 == "ttft_s" { p = $2 }
	END { if (d - p < 1e-3 && p - d < 1e-3 && d != 0) print "same"; else print d, p }' "$tap_dir/folders"
speaks "a result alone is not paired" "not paired by request: no requests.csv" compare "$tap_dir/c.json" "$tap_dir/b"
sed 's/"prefill": 2/"prefill": 3/' "$scenario" >"$tap_dir/other.json"
speaks "two scenarios are run and paired" "paired by request" compare "$scenario" "$tap_dir/other.json"
compare "$tap_dir/a" "$scenario" -f json >"$tap_dir/same"
speaks "a folder and its scenario are equal" '"equal": 60' cat "$tap_dir/same"
sed 's/"sample"/"until": "20s", "sample"/' "$scenario" >"$tap_dir/short.json"
sed 's/"path"/"limit": 50, "path"/' "$scenario" >"$tap_dir/fewer.json"
speaks "other requests are not paired" "different traces" compare "$scenario" "$tap_dir/fewer.json"
speaks "three results in columns" "best of its line" compare "$tap_dir/a" "$tap_dir/b" "$tap_dir/c.json"

compare "$scenario" --across conductor.policy >"$tap_dir/across"
for policy in random round-robin least-loaded cache-aware kvcache-centric; do
	speaks "a column for $policy" "$policy" head -3 "$tap_dir/across"
done
speaks "the closing sentence" "Lowest mean TTFT: " tail -1 "$tap_dir/across"
compare "$scenario" --across cluster.decode=1,2,3 -f csv >"$tap_dir/csv"
speaks "named values" "key,1,2,3,unit" head -1 "$tap_dir/csv"
for n in 1 2 3; do
	run --set cluster.decode=$n -f csv | sed -n 's/^tbt_s.mean,\([^,]*\),.*/\1/p'
done | paste -sd , >"$tap_dir/runs"
speaks "each column is that run" "tbt_s.mean,$(cat "$tap_dir/runs")" cat "$tap_dir/csv"
speaks "across, as JSON" '"across": "trace.spread_ticks"' compare "$scenario" --across trace.spread_ticks -f json
speaks "a trace from stdin is read once" "Lowest" sh -c '"$1" compare "$2" -q --set trace.path=- --across conductor.policy <"$3"' \
	sh "$mooncake" "$scenario" "$tap_dir/trace.jsonl"

refused "one result" "two results" 2 compare "$tap_dir/a" -o "$out"
refused "a mistyped setting" "did you mean conductor.policy" 2 compare "$scenario" --across conductor.polcy -o "$out"
refused "a setting without choices" "cluster.decode=VALUE" 2 compare "$scenario" --across cluster.decode -o "$out"
refused "a bad value" "cluster.decode" 2 compare "$scenario" --across cluster.decode=0 -o "$out"
refused "no such file" "none.json" 2 compare "$tap_dir/none.json" "$tap_dir/a" -o "$out"
refused "a folder without a result" "result.json" 2 compare "$tap_dir" "$tap_dir/a" -o "$out"
sed 's/"schema": "1.0"/"schema": "2.0"/' "$tap_dir/c.json" >"$tap_dir/new.json"
refused "a newer major schema" "schema 2.0" 2 compare "$tap_dir/new.json" "$tap_dir/a" -o "$out"
sed 's/"schema": "1.0"/"schema": "1.7"/' "$tap_dir/c.json" >"$tap_dir/minor.json"
passes "a newer minor schema" compare "$tap_dir/minor.json" "$tap_dir/a"
mkdir "$tap_dir/cut" && cp "$tap_dir/a/result.json" "$tap_dir/cut" && sed '5s/,.*//' "$tap_dir/a/requests.csv" >"$tap_dir/cut/requests.csv"
refused "a damaged requests.csv" "requests.csv:5" 2 compare "$tap_dir/cut" "$tap_dir/a" -o "$out"
refused "stdin twice" "only once" 2 sh -c '"$1" compare "$2" -q --set trace.path=- --across trace.limit=1,2 -o "$4" <"$3"' \
	sh "$mooncake" "$scenario" "$tap_dir/trace.jsonl" "$out"
tap_done
