#!/bin/sh
# Published figures are met on the real traces, within the tolerances of experiments/published/run.sh.
. "$(dirname "$0")/../scripts/tap.sh"
mooncake=$MC_BUILDDIR/mooncake
data=${MOONCAKE_DATA-}

if [ ! -e "$data/mooncake/conversation_trace.jsonl.zst" ] && [ ! -e "$data/mooncake/conversation_trace.jsonl" ]; then
	skip "published figures" "MOONCAKE_DATA has no traces"
	tap_done
	exit
fi
sh "$MC_SRCDIR/experiments/published/run.sh" "$mooncake" >"$tap_dir/table" 2>"$tap_dir/stderr"
rc=$?
if [ $rc -eq 0 ]; then
	ok "every figure with a tolerance is met"
else
	not_ok "every figure with a tolerance is met" "$(grep MISSED "$tap_dir/table"; cat "$tap_dir/stderr")"
fi
# All of them were judged: 20 of figure 14, 2 of figure 8, 8 in order of figure 5, 10 of figure 9, 4 of figure 10, 5 ranks of figure 11, 11 of figure 12, 8 with the shape of figure 13, 6 TTFT and 5 shares of figure 15.
n=79
judged=$(awk -F'\t' '$7 ~ /^(ok|MISSED|missed)/ { n++ } END { print n + 0 }' "$tap_dir/table")
if [ "$judged" -eq $n ]; then ok "$n figures were judged"; else not_ok "$n figures were judged" "$judged"; fi
tap_done
