#!/bin/sh
# Scheduling policies of our own against KVCache-centric Algorithm 1, in effective requests: chosen on the first half of
# a trace, judged on the second. README has the protocol and the answers.
#
#     experiments/policies/run.sh [--small] [--mooncake PATH] [--trace FILE] [TABLE...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
known="chosen judged cost network dram admission threshold"
tables=${tables:-$known}
for t in $tables; do
	case " $known " in
	*" $t "*) ;;
	*) echo "$0: $t: expected one of $known" >&2 && exit 2 ;;
	esac
done
base=kvcache-centric
# NAME+deadline: that policy, and instances that serve by deadline.
own=$(either "adaptive frugal triage affinity $base+deadline triage+deadline" "adaptive frugal triage affinity $base+deadline")
seeds=$(either "1 2 3 4" "1 2")
objectives=$(either "10s 30s" 10s)
rates=$(either "1 1.5 1.75 2 2.25 3" 3)
pressed=$(either "1.5 1.75" "3")

# halves NAME FILE: the settings of its two halves, in $work/NAME.1 and $work/NAME.2: by requests, at an instant at which one
# arrives.
halves()
{
	run whole "$here/../base.json" --set trace.path="$2"
	awk -F, -v one="$work/$1.1" -v two="$work/$1.2" '
		NR == 1 { for (i = 1; i <= NF; i++) if ($i == "arrival_s") at = i; next }
		{ arrival[++n] = $at }
		END {
			middle = arrival[int(n / 2) + 1]
			for (k = 1; arrival[k] < middle; k++)
				;
			print "--set trace.limit=" k - 1 >one
			print "--set trace.start=" middle "s" >two
		}' "$work/whole/requests.csv"
}

if [ -n "$trace" ]; then
	traces=$(basename "$trace" | sed 's/\..*//')
	halves "$traces" "$trace"
	echo "$trace" >"$work/$traces.file"
else
	traces="conversation synthetic"
	for t in $traces; do
		published $t >"$work/$t.file"
		halves $t "$(cat "$work/$t.file")"
	done
fi

# simulate POLICY HALF TRACE RATE TTFT [ARGUMENTS...]: all seeds; a line each of effective % (of all), TTFT mean, p99, max,
# GPU s, hits %, refused %, in $work/runs/NAME, whose name is $kept. What was run before is not run again.
simulate()
{
	kept=$work/runs/$(echo "$*" | tr ' /' '__')
	[ ! -e "$kept" ] || return 0
	mkdir -p "$work/runs"
	policy=${1%+deadline} half=$2 whose=$3 rate=$4 ttft=$5
	order=fifo
	[ "$1" = "$policy" ] || order=deadline
	shift 5
	for seed in $seeds; do
		# shellcheck disable=SC2046 # settings
		measure one "$here/../base.json" --set trace.path="$(cat "$work/$whose.file")" $(cat "$work/$whose.$half") \
			--set trace.spread_ticks=true --set seed="$seed" --set trace.rate="$rate" --set slo.ttft="$ttft" \
			--set conductor.policy="$policy" --set cluster.prefill_order=$order "$@"
		metrics one slo.effective_ratio ttft_s.mean ttft_s.p99 ttft_s.max prefill.gpu_time_s_mean cache.hit_ratio \
			requests.rejected requests.total
	done | awk -F'\t' '{ print 100 * $1, $2, $3, $4, $5, 100 * $6, 100 * $7 / $8 }' >"$kept.new"
	mv "$kept.new" "$kept"
}

# paired FILE OTHER: mean difference of the first column, with its 95 % interval (t) over the seeds.
paired()
{
	paste -d ' ' "$1" "$2" | awk '
		{ d[NR] = $(NF / 2 + 1) - $1; sum += d[NR] }
		END {
			split("12.706 4.303 3.182 2.776 2.571 2.447 2.365", t, " ")
			for (i = 1; i <= NR; i++)
				sq += (d[i] - sum / NR) ^ 2
			printf("\t%+.2f +-%.2f", sum / NR, NR > 1 ? t[NR - 1] * sqrt(sq / (NR - 1) / NR) : 0)
		}'
}

# effects HALF RATES OBJECTIVES [ARGUMENTS...]: lines of effective % with Algorithm 1, and what others add.
effects()
{
	half=$1 at=$2 under=$3
	shift 3
	for whose in $traces; do
		for ttft in $under; do
			for rate in $at; do
				simulate $base "$half" "$whose" "$rate" "$ttft" "$@"
				first=$kept
				awk -v whose="$whose" -v ttft="$ttft" -v rate="$rate" '{ sum += $1 }
					END { printf "%s\t%s\t%s\t%.2f", whose, ttft, rate, sum / NR }' "$first"
				for arm in $own; do
					simulate "$arm" "$half" "$whose" "$rate" "$ttft" "$@"
					paired "$first" "$kept"
				done
				echo
			done
		done
	done
}

# headed TITLE HEADING...: a table of the lines on standard input.
headed()
{
	title=$1
	shift
	{
		echo "$*" | tr ' ' '\t'
		cat
	} >"$work/table"
	table "$title" <"$work/table"
}

# details HALF RATES OBJECTIVE [ARGUMENTS...]: a line a policy.
details()
{
	half=$1 at=$2 ttft=$3
	shift 3
	for whose in $traces; do
		for rate in $at; do
			for arm in $base $own; do
				simulate "$arm" "$half" "$whose" "$rate" "$ttft" "$@"
				awk -v whose="$whose" -v rate="$rate" -v policy="$arm" '
					{ for (i = 1; i <= NF; i++) sum[i] += $i; max = $4 > max ? $4 : max }
					END {
						printf "%s\t%s\t%s\t%.2f\t%.2f\t%.1f\t%.1f\t%.3f\t%.1f\t%.2f\n", whose, rate, policy, sum[1] / NR,
							sum[2] / NR, sum[3] / NR, max, sum[5] / NR, sum[6] / NR, sum[7] / NR
					}' "$kept"
			done
		done
	done
}

columns="trace TTFT rate $base $own"
for t in $tables; do
	case $t in
	chosen) effects 1 "$rates" "$objectives" |
		headed "Effective requests, first half: % with Algorithm 1, and points that others add" $columns ;;
	judged) effects 2 "$rates" "$objectives" | headed "Effective requests, second half" $columns ;;
	cost) details 2 "$(either "1 2 2.25" 3)" "$(either 30s 10s)" | headed "What users and nodes see, second half, objective $(either 30s 10s)" \
		trace rate policy effective% TTFT p99 max GPU-s hits% refused% ;;
	network)
		for speed in $(either "40Gbps 24Gbps" 24Gbps); do
			effects 2 "$pressed" 10s --set net.bandwidth=$speed | headed "Effective requests, second half, $speed a node" $columns
		done ;;
	dram) effects 2 "$(either "1 1.25" 3)" 10s --set kv.dram_tokens=300K | headed "Effective requests, second half, 300K tokens of DRAM a node" $columns ;;
	admission) effects 2 "$(either "2 3" 3)" "$objectives" --set conductor.admission=early |
		headed "Effective requests, second half, early rejection" $columns ;;
	threshold)
		for whose in $traces; do
			for speed in $(either "800Gbps 40Gbps 24Gbps" 24Gbps); do
				for rate in $(either 1.75 3); do
					printf '%s\t%s\t%s' "$whose" "$speed" "$rate"
					for threshold in 1 1.5 2 4 1e9; do
						simulate $base 1 "$whose" "$rate" 10s --set net.bandwidth=$speed --set conductor.balancing_threshold=$threshold
						awk '{ sum += $1 } END { printf "\t%.2f", sum / NR }' "$kept"
					done
					for policy in adaptive frugal; do
						simulate $policy 1 "$whose" "$rate" 10s --set net.bandwidth=$speed
						awk '{ sum += $1 } END { printf "\t%.2f", sum / NR }' "$kept"
					done
					echo
				done
			done
		done | headed "Effective requests, first half, by Algorithm 1's threshold, objective 10s" trace network rate 1 1.5 2 4 1e9 adaptive frugal ;;
	esac
done
finish
