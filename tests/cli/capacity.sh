#!/bin/sh
# mooncake capacity: what it says is what runs say.
. "$(dirname "$0")/../scripts/tap.sh"
. "$(dirname "$0")/lib.sh"

capacity() { "$mooncake" capacity -q "$@"; }

# effective RATE ARGUMENT...: the share of a run at that rate.
effective()
{
	rate=$1
	shift
	"$mooncake" run "$scenario" -q -f csv --set trace.rate="$rate" "$@" | sed -n 's/^slo.effective_ratio,\([^,]*\),.*/\1/p'
}

# csv COLUMN FILE: that column of the first side.
csv()
{
	awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) k = i } NR == 2 { print $k }' "$2"
}

slo="--set slo.ttft=2s"
# shellcheck disable=SC2086 # several words
capacity "$scenario" $slo -f csv >"$tap_dir/csv"
holds=$(csv rate "$tap_dir/csv") fails=$(csv fails_at "$tap_dir/csv")
# shellcheck disable=SC2086
speaks "a run at the answer holds, one above does not" "yes" awk -v a="$(effective "$holds" $slo)" \
	-v b="$(effective "$fails" $slo)" 'BEGIN { if (a >= 0.9 && b < 0.9) print "yes"; else print a, b }'
speaks "the bracket is as narrow as asked" "yes" awk -v a="$holds" -v b="$fails" 'BEGIN { if (b <= a * 1.01001) print "yes" }'
# shellcheck disable=SC2086
capacity "$scenario" $slo -f csv --set trace.rate=0.3 >"$tap_dir/other"
speaks "another start ends nearby" "yes" awk -v a="$holds" -v b="$(csv rate "$tap_dir/other")" \
	'BEGIN { if (a < 1.02 * b && b < 1.02 * a) print "yes"; else print a, b }'
# shellcheck disable=SC2086
capacity "$scenario" $slo --across cluster.prefill=2,4 -f csv >"$tap_dir/across"
speaks "a line a side" "2" sh -c 'grep -c "^[24],1," "$1"' sh "$tap_dir/across"
speaks "the first side is the scenario's" "$holds" sed -n 2p "$tap_dir/across"
speaks "twice the nodes carry more" "yes" awk -F, 'NR == 2 { a = $3 } NR == 3 && $3 > 1.5 * a && $9 > 1.5 { print "yes" }' "$tap_dir/across"
capacity "$scenario" --metric ttft_s.p99 --keep 2 -f csv >"$tap_dir/p99"
speaks "a metric of which less is better" "yes" awk -v v="$("$mooncake" run "$scenario" -q -f csv \
	--set trace.rate="$(csv rate "$tap_dir/p99")" | sed -n 's/^ttft_s.p99,\([^,]*\),.*/\1/p')" 'BEGIN { if (v <= 2) print "yes"; else print v }'
# shellcheck disable=SC2086
capacity "$scenario" $slo --set trace.spread_ticks=true --seeds 3 -f json >"$tap_dir/seeds"
speaks "a search for each seed" "3" grep -c '"state": "found"' "$tap_dir/seeds"
speaks "with an interval" '"ci95_half": 0.' cat "$tap_dir/seeds"
# shellcheck disable=SC2086
speaks "nothing random: one search" "nothing is random" capacity "$scenario" $slo --seeds 3
speaks "always" "held at all rates" capacity "$scenario" --keep 0 --rate 0.5,1
speaks "never" "never held" capacity "$scenario" --metric ttft_s.p50 --keep 0 --rate 0.5,1
speaks "what limits it" "where it fails: " capacity "$scenario" --set slo.ttft=2s
# shellcheck disable=SC2086
passes "a trace from stdin is read once" sh -c '"$1" capacity "$2" -q --set trace.path=- --across conductor.policy <"$3"' \
	sh "$mooncake" "$scenario" "$tap_dir/trace.jsonl"
"$mooncake" capacity "$scenario" --rate 0.5,4 2>"$tap_dir/err" >/dev/null
speaks "requests are counted over all runs" "requests in" cat "$tap_dir/err"

refused "a share of what" "needs --keep" 2 capacity "$scenario" --metric ttft_s.p99 -o "$out"
refused "a metric nobody feels" "neither high nor low" 2 capacity "$scenario" --metric events --keep 1 -o "$out"
refused "a metric that is none" "no such metric" 2 capacity "$scenario" --metric tfft --keep 1 -o "$out"
refused "a metric of several figures" "no single figure" 2 capacity "$scenario" --metric ttft_s --keep 1 -o "$out"
for range in 1 2,1 1,x 0,1 ,; do
	refused "--rate $range" "expected LOW,HIGH" 2 capacity "$scenario" --rate "$range" -o "$out"
done
refused "the rate across" "see --rate" 2 capacity "$scenario" --across trace.rate=1,2 -o "$out"
refused "a mistyped setting" "did you mean conductor.policy" 2 capacity "$scenario" --across conductor.polcy -o "$out"
refused "a bad value of a later side, before any run" "cluster.prefill" 2 capacity "$scenario" --across cluster.prefill=2,0 -o "$out"
refused "nothing to be effective by" "slo.tbt: is 0" 2 capacity "$scenario" --set slo.tbt=0 -o "$out"
refused "a share above all" "expected 0 to 1" 2 capacity "$scenario" --keep 99 -o "$out"
refused "no scenario" "one scenario" 2 capacity -o "$out"
refused "no such file" "none.json" 2 capacity "$tap_dir/none.json" -o "$out"
refused "too fine" "out of range" 2 capacity "$scenario" --precision 1e-9 -o "$out"
tap_done
