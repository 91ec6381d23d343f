#!/bin/sh
# Admission under overload: whom each rule refuses, what it wastes, and how the two pools' loads go together. README says
# what came out and why.
#
# Pools fill at first; what comes in that time is not counted (run.warmup).
#
#     experiments/overload/run.sh [--small] [--mooncake PATH] [--trace FILE] [rules|tbt|lengths|mix|equal ...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
tables=${tables:-"rules tbt lengths mix equal"}
seeds=$(either 5 2)
columns='refused|requests.rejected|1|0
prefill load|rejected_by.prefill_load|1|0
decode load|rejected_by.decode_load|1|0
check|rejected_by.decode_check|1|0
wasted s|prefill.wasted_s|1|0
effective|requests.effective|1|0
TTFT s|ttft_s.mean|1|1
correlation|load.correlation|1|2'

# rule NAME[:PREDICTOR[:VALUE]]: its options.
rule()
{
	echo "$1" | awk -F: '{
		printf "--set conductor.admission=%s", $1
		if ($2 != "")
			printf " --set conductor.length_predictor=%s", $2
		if ($3 != "")
			printf " --set conductor.length_%s=%s", $2 == "quantile" ? "quantile" : "error", $3
	}'
}

# judged FILE: the cells of $columns, each a mean and half its 95 % confidence interval.
judged()
{
	awk -F, -v columns="$columns" '{ mean[$1] = $2; half[$1] = $3 }
		END {
			n = split(columns, column, "\n")
			for (i = 1; i <= n; i++) {
				split(column[i], c, "|")
				if (!(c[2] in mean))
					exit 1
				printf "\t%.*f", c[4], c[3] * mean[c[2]]
				if (half[c[2]] > 0)
					printf "+-%.*f", c[4], c[3] * half[c[2]]
			}
			print ""
		}' "$1" || fail "a column without a metric: $1"
}

# admit RULE PREFILL DECODE RATE [ARGUMENTS...]: a line of a table, over all seeds.
admit()
{
	of=$1 prefill=$2 decode=$3 at=$4
	shift 4
	# shellcheck disable=SC2046 # options
	measure admit "$here/scenario.json" --set trace.path="$file" --set cluster.prefill="$prefill" --set cluster.decode="$decode" \
		--set trace.rate="$at" $(rule "$of") --seeds "$seeds" "$@"
	printf '%sP+%sD\t%s\t%s' "$prefill" "$decode" "$at" "$of"
	judged "$work/admit.csv"
}

headings() { printf 'split\trate\trule' && printf '%s\n' "$columns" | awk -F'|' '{ printf "\t%s", $1 } END { print "" }'; }

# As recorded and faster; where prefill is the limit, and where decode is.
table_rules()
{
	for split in "8 8" "10 2"; do
		for rate in $(either "1 1.5 2 3" "3"); do
			for r in none baseline early predict; do
				# shellcheck disable=SC2086 # two words
				admit $r $split "$rate"
			done
		done
	done | { headings && cat; } | table "Rules by rate, $(basename "$file"), $seeds seeds"
}

# With so much memory that TBT alone limits decode, as in the report.
table_tbt()
{
	for tbt in $(either "100ms 70ms" "70ms"); do
		for r in none baseline early predict predict-length:oracle; do
			admit $r 10 2 3 --set kv.vram_tokens=20M --set slo.tbt="$tbt" | awk -F'\t' -v OFS='\t' -v tbt="$tbt" '{ $2 = tbt; print }'
		done
	done | { headings && cat; } | sed '1s/rate/TBT/' |
		table "Decode limited by TBT alone, 10P+2D, rate x 3, $(basename "$file"), $seeds seeds"
}

# What knowing output lengths is worth.
table_lengths()
{
	for rate in $(either "2.5 3" "3"); do
		for r in early predict predict-length:oracle predict-length:noisy-oracle:0.25 predict-length:noisy-oracle:0.5 \
			predict-length:noisy-oracle:1 predict-length:class-mean predict-length:quantile:0.5 predict-length:quantile:0.9; do
			admit $r 10 2 "$rate"
		done
	done | { headings && cat; } | table "Predictors of output lengths, $(basename "$file"), $seeds seeds"
}

# Who is served, and how much of the memory of decode: KV of a completed request times its time in it.
table_mix()
{
	for r in baseline early predict predict-length:oracle; do
		# shellcheck disable=SC2046 # options
		run mix "$here/scenario.json" --set trace.path="$file" --set cluster.prefill=10 --set cluster.decode=2 --set trace.rate=3 $(rule $r)
		column "$work/mix/requests.csv" outcome refusal input_tokens output_tokens prefill_start_s end_s |
			awk -F'\t' -v of=$r '
				$1 == "completed" { n++; t += $3; k += ($3 + $4) * ($6 - $5) }
				$2 ~ /^decode/ { d++; u += $3 }
				END { printf "%s\t%d\t%.0f\t%d\t%.0f\t%.2f\n", of, n, t / n, d, d ? u / d : 0, k / 1e9 }'
	done | { printf 'rule\tserved\ttheir prompt\trefused by decode\ttheir prompt\tKV held, 1e9 token s\n' && cat; } |
		table "Whom the rules serve and refuse, 10P+2D, rate x 3, $(basename "$file")"
}

# Prompts of one length, so that no rule can choose by it.
table_equal()
{
	for p in $(either "9 10 16" "9"); do
		for r in baseline early predict predict-length:oracle; do
			for seed in $(seq "$seeds"); do
				[ -e "$work/equal-$seed.jsonl" ] ||
					"$mooncake" trace gen "$here/equal.json" --seed "$seed" $(either "" "--set duration=5min") -o "$work/equal-$seed.jsonl"
				# shellcheck disable=SC2046 # options
				measure equal "$here/../base.json" --set trace.path="$work/equal-$seed.jsonl" --set trace.rate=2 \
					--set run.warmup=$(either 300s 30s) --set cluster.prefill="$p" --set cluster.decode=2 $(rule $r)
				cat "$work/equal.csv"
			done >"$work/equals"
			# Means with their intervals (Student, 95 %), in the form of a run of several seeds.
			awk -F, -v n="$seeds" '{ s[$1] += $2; q[$1] += $2 * $2 }
				END {
					split("12.706 4.303 3.182 2.776", t, " ")
					for (k in s) {
						v = (q[k] - s[k] * s[k] / n) / (n - 1)
						printf "%s,%.9g,%.9g\n", k, s[k] / n, t[n - 1] * sqrt(v > 0 ? v / n : 0)
					}
				}' "$work/equals" >"$work/equal-mean.csv"
			printf '%sP+2D\t2\t%s' "$p" "$r"
			judged "$work/equal-mean.csv"
		done
	done | { headings && cat; } | table "Prompts of 12,000 tokens, $seeds seeds"
}

for t in $tables; do
	case $t in
	rules | tbt | lengths | mix) file=${trace:-$(published conversation)} && "table_$t" ;;
	equal) table_equal ;;
	*) echo "$0: $t: expected rules, tbt, lengths, mix or equal" >&2 && exit 2 ;;
	esac
done
finish
