#!/bin/sh
# experiments/calibration in its small form, on the published tables: rows stand beside what was published, and errors are
# where its README says. Without the tables, only mistakes are tried.
. "$(dirname "$0")/../scripts/tap.sh"
. "$(dirname "$0")/lib.sh"
calibration() { sh "$MC_SRCDIR/experiments/calibration/run.sh" --small --mooncake "$mooncake" "$@"; }

refused "no tables" "MOONCAKE_DATA" 2 env -u MOONCAKE_DATA sh "$MC_SRCDIR/experiments/calibration/run.sh"
if [ ! -e "${MOONCAKE_DATA-}/kernels/splitwise_perf_model.csv.zst" ]; then
	skip "predictions beside measurements" "MOONCAKE_DATA has no kernels/"
	tap_done
	exit
fi
refused "a table that there is none of" "expected some of distserve figure14" 2 calibration nothing
if sanitized; then
	skip "predictions beside measurements" "built with sanitizers, which every command has run under elsewhere"
	tap_done
	exit
fi
calibration >"$tap_dir/tables" 2>"$tap_dir/stderr"
rc=$?
n=$(grep -c '^[^ ]' "$tap_dir/tables")
if [ $rc -eq 0 ] && [ "$n" -eq 13 ] && [ ! -s "$tap_dir/stderr" ]; then
	ok "13 tables"
else
	not_ok "13 tables" "exit $rc, $n tables: $(cat "$tap_dir/stderr")"
fi

# holds NAME TITLE LINES PROGRAM: an awk program says nothing over the lines of a table, that many.
holds()
{
	silent "$1" awk -v title="$2" -v expected="$3" "
		/^[^ ]/ { inside = index(\$0, title) == 1; heading = 1; next }
		!inside || NF == 0 { next }
		heading { heading = 0; next }
		{ lines++ }
		$4
		END { if (lines != expected) print lines + 0, \"lines\" }" "$tap_dir/tables"
}

# near ERRORS: what column 5 has, within 2 points.
near() { echo 'BEGIN { split("'"$1"'", e, " ") } $5 - e[lines] > 2 || e[lines] - $5 > 2 { print $1, $2, $5 }'; }

holds "figure 14: published prefills" "Figure 14, prefill as" 10 \
	'BEGIN { split("1.002 2.055 4.478 10.587 27.514 0.135 0.226 0.407 0.881 2.329", p, " ") } $3 != p[lines] { print }'
holds "figure 14: errors of prefill" "Figure 14, prefill as" 10 \
	"$(near "22.8 30.2 41.8 58.8 82.5 -21.9 -11.6 14.7 51.3 89.3")"
holds "figure 14: errors of decode" "Figure 14, 128" 10 "$(near "-27.2 -25.3 -21.9 -14.6 -1.7 -27.3 -25.5 -21.9 -14.6 -1.9")"
holds "figure 14: parts add up" "Figure 14, prefill as" 10 \
	'{ d = $4 - $6 - $7 - $8 - $9 - $10 } d > 0.004 || d < -0.004 { print }'
holds "figure 14: load is of the cached prefix at 128 GB/s" "Figure 14, prefill as" 10 \
	'{ s = $2 == "95%" ? $1 * 1024 * 0.95 * 327680 / 128e9 : 0 } $10 - s > 0.001 || s - $10 > 0.001 { print }'
holds "figure 14: an A100's links are faster, and only prefill sees it" "Figure 14, prefill, A100" 1 \
	'{ for (i = 3; i <= 7; i++) if ($i >= 80 || $i < 10) print }'
holds "Splitwise: errors over 2, 4 and 8 GPUs" "Splitwise, LLaMA2-70B on A100: size" 6 \
	'BEGIN { split("8.5 35.8 58.1 10.5 16.8 27.0", e, " ") } $5 - e[lines] > 2 || e[lines] - $5 > 2 { print }'
holds "Splitwise: every point, and none that did not fit" "Splitwise, LLaMA2-70B on A100, every" 94 \
	'$1 == 2 && $3 == 64 || $6 <= 0 { print }'
holds "DistServe: errors of both models" "DistServe, OPT on A100, engine vllm: size" 12 \
	'$5 > 75 || ($2 == 1 && $3 == "decode" && $5 > 15) { print }'
holds "DistServe: the coefficients are read as they are meant" "DistServe, OPT on A100, engine vllm, every" 102 \
	'$1 == "opt-13b" && $2 == 1 && $3 == "prompt" && $5 == 1024 && $6 != "174.4" { print }
	$1 == "opt-13b" && $2 == 4 && $4 == 128 && $5 == 512 && $6 != "50.5" { print }'
holds "held out: dense layers of the committed profiles" "Operators on points" \
	"$(awk '/^Operators/ { inside = 1; n = -1; next } inside && NF { n++ } inside && !NF { inside = 0 } END { print n }' "$tap_dir/tables")" \
	'$1 == "a100-x8-vidur" && $3 == "point" && $2 ~ /^(gemm|norm|rope|swiglu|embed)$/ { seen++; if ($5 > 5 || $6 > 10) print }
	END { if (seen != 5) print seen + 0, "dense operators" }'
tap_done
