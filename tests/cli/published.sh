#!/bin/sh
# Published figures are met on the real traces, within the tolerances of experiments/*/rows.sh; without the traces, every
# figure still runs on the sample. MC_LIGHT=1 leaves it at that.
. "$(dirname "$0")/../scripts/tap.sh"
. "$(dirname "$0")/lib.sh"
data=${MOONCAKE_DATA-}

# figures ARGUMENT...
figures() { sh "$MC_SRCDIR/experiments/run.sh" --mooncake "$mooncake" "$@"; }

# judged FILE: how many rows were.
judged() { awk -F'\t' '$8 ~ /^(ok|MISSED|missed)/ { n++ } END { print n + 0 }' "$1"; }

refused "a figure that there is none of" "expected some of figure01" 2 figures figure99
refused "a trace is none of its options" "expected --small" 2 figures --trace x
(unset MOONCAKE_DATA && figures --small --out "$tap_dir/small") >"$tap_dir/table" 2>"$tap_dir/stderr"
rc=$?
if [ $rc -eq 0 ] && [ "$(judged "$tap_dir/small/rows.tsv")" -eq 0 ] && [ ! -s "$tap_dir/stderr" ]; then
	ok "all figures run on the sample, and none is judged"
else
	not_ok "all figures run on the sample, and none is judged" "exit $rc; $(tail -n 1 "$tap_dir/table"; cat "$tap_dir/stderr")"
fi
# drawn DIR: plots/run.sh says nothing, and leaves a picture of every .gp there is.
drawn()
{
	sh "$MC_SRCDIR/plots/run.sh" "$1" "$tap_dir/pictures" 2>&1
	for f in "$MC_SRCDIR"/plots/*.gp; do
		picture=$tap_dir/pictures/$(basename "$f" .gp).svg
		[ "$f" = "$MC_SRCDIR/plots/style.gp" ] || grep -q '</svg>' "$picture" || echo "no $picture"
	done
}
refused "pictures of nothing" "expected" 2 sh "$MC_SRCDIR/plots/run.sh" "$tap_dir/nothing"
if command -v gnuplot >/dev/null; then
	silent "every figure is drawn without a warning" drawn "$tap_dir/small"
else
	skip "every figure is drawn without a warning" "gnuplot is not installed"
fi
if [ ! -e "$data/mooncake/conversation_trace.jsonl.zst" ] && [ ! -e "$data/mooncake/conversation_trace.jsonl" ]; then
	refused "figures without traces" "MOONCAKE_DATA" 2 env -u MOONCAKE_DATA sh "$MC_SRCDIR/experiments/run.sh" figure09
	skip "published figures" "MOONCAKE_DATA has no traces"
	tap_done
	exit
fi
if sanitized; then
	skip "published figures" "built with sanitizers, which the sample above has run under"
	tap_done
	exit
fi
if [ "${MC_LIGHT-0}" = 1 ]; then
	skip "published figures" "MC_LIGHT is set"
	tap_done
	exit
fi
figures --out "$tap_dir/out" >"$tap_dir/table" 2>"$tap_dir/stderr"
rc=$?
if [ $rc -eq 0 ]; then
	ok "every figure with a tolerance is met"
else
	not_ok "every figure with a tolerance is met" "$(grep MISSED "$tap_dir/table"; cat "$tap_dir/stderr")"
fi
# All of them were judged: 9 rates of figures 1, 6 and 7 and prefix caching on 2 traces, 8 in order of figure 5, 8 of figure
# 8, 10 of figure 9, 4 of figure 10, 5 ranks of figure 11, 11 of figure 12, 8 with the shape of figure 13, 20 of figure 14, 6
# TTFT and 5 shares of figure 15; 8 rates of report-scheduling, order and swing in 2 cases of report-overload, 6
# made workloads of report-endtoend.
n=114
got=$(judged "$tap_dir/out/rows.tsv")
if [ "$got" -eq $n ]; then ok "$n rows were judged"; else not_ok "$n rows were judged" "$got"; fi
tap_done
