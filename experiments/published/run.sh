#!/bin/sh
# Published figures of the FAST'25 paper beside the simulator's. Prints a table (published, ours, deviation, tolerance,
# verdict) and exits 1 when a figure with a tolerance misses it. Figures without one are shown as they come out, with
# the reason in README.
#
#     MOONCAKE_DATA=... experiments/published/run.sh [PATH/TO/mooncake]
#
# The published values were read off the figures of "Mooncake: Trading More Storage for Less Computation", FAST'25.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mooncake=${1:-mooncake}
data=${MOONCAKE_DATA:?"set MOONCAKE_DATA to a folder with mooncake/conversation_trace.jsonl (see traces/fetch)"}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM
missed=0

# run NAME ARGUMENTS...: simulate, keep the metrics in $work/NAME.csv and the requests in $work/NAME/requests.csv
run()
{
	name=$1
	shift
	"$mooncake" run "$@" --format csv -q -o "$work/$name.csv" --out-dir "$work/$name" >"$work/$name.log" 2>&1 || {
		cat "$work/$name.log" >&2
		exit 1
	}
}

# metric NAME KEY
metric()
{
	awk -F, -v k="$2" '$1 == k { print $2; found = 1 } END { exit !found }' "$work/$1.csv"
}

# row FIGURE SETTING PUBLISHED OURS [TOLERANCE [points|percent [known]]]: tolerance in percent of the published value, or
# in points; a miss that README explains is told, and is no failure
row()
{
	verdict=$(awk -v p="$3" -v o="$4" -v t="${5:-}" -v unit="${6:-}" -v known="${7:-}" 'BEGIN {
		d = unit == "points" ? o - p : 100 * (o / p - 1)
		within = d < 0 ? -d <= t + 0 : d <= t + 0
		printf "%+.1f%s\t%s\t%s", d, unit == "points" ? "" : " %", t == "" ? "-" : "within " t (unit == "points" ? "" : " %"),
			t == "" ? "as it comes out" : within ? "ok" : known != "" ? "missed, see README" : "MISSED"
	}')
	case $verdict in *MISSED) missed=$((missed + 1)) ;; esac
	printf '%s\t%s\t%.4g\t%.4g\t%s\n' "$1" "$2" "$3" "$4" "$verdict"
}

# Two prompts that share their first 95 % (in blocks of 16 tokens), far apart: the second finds the prefix cached.
pair()
{
	awk -v n="$1" -v percent="$2" 'BEGIN {
		blocks = int((n + 15) / 16)
		shared = int(n * percent / 100 / 16)
		for (r = 0; r < 2; r++) {
			printf "{\"timestamp\": %d, \"input_length\": %d, \"output_length\": 129, \"hash_ids\": [", r * 200000, n
			for (b = 0; b < blocks; b++)
				printf "%s%d", b ? ", " : "", b < shared ? b : 1000000 * (r + 1) + b
			print "]}"
		}
	}'
}

single()
{
	while read -r k percent prefill decode; do
		n=$((k * 1024))
		pair "$n" "$percent" >"$work/pair.jsonl"
		run "single" "$here/single.json" --set trace.path="$work/pair.jsonl"
		awk -F, -v OFS='\t' 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
			NR == 3 { print $at["compute_s"] + $at["load_s"], $at["end_s"] - $at["first_token_s"] - $at["handover_s"] }' \
			"$work/single/requests.csv" >"$work/times"
		read -r ours_prefill ours_decode <"$work/times"
		row "14 prefill s" "${k}k, $percent % cached" "$prefill" "$ours_prefill" 5
		row "14 decode 128 tokens s" "${k}k, $percent % cached" "$decode" "$ours_decode" 5
	done <"$here/figure14.txt"
}

compute()
{
	for t in conversation synthetic; do
		published=$(awk -v t=$t '$1 == t { print $2 }' "$here/figure8.txt")
		run "$t" "$here/../$t/scenario.json"
		row "8 prefill GPU time s" "$t, compute_s" "$published" "$(metric $t prefill.compute_s_mean)" 10
		row "8 prefill GPU time s" "$t, gpu_time_s" "$published" "$(metric $t prefill.gpu_time_s_mean)"
	done
}

# Replica counts of the n-th hottest block over the run: the most of each rank. On the conversation trace the hottest
# block reaches all prefill nodes, and the counts fall with the rank.
replicas()
{
	for t in conversation synthetic; do
		last=8
		awk -F, 'NR > 1 && $4 > most[$2] + 0 { most[$2] = $4 } NR > 1 { seen[$2] = 1 }
			END { for (r in seen) print r, most[r] + 0 }' "$work/$t/replicas.csv" | sort -n >"$work/most"
		while read -r rank ours; do
			verdict="as it comes out"
			if [ $t = conversation ]; then
				verdict="ok: in order"
				[ "$rank" -gt 1 ] || verdict="ok: all 8"
				if [ "$ours" -gt $((last + 1)) ] || { [ "$rank" -eq 1 ] && [ "$ours" -lt 8 ]; }; then
					missed=$((missed + 1))
					verdict="MISSED: expected all 8, then at most one more than the rank before"
				fi
				last=$ours
			fi
			published=$(awk -v t=$t -v r="$rank" '$1 == t && $2 == r { print $3 }' "$here/figure11.txt")
			printf '11 replicas at most\t%s, rank %s\t%s\t%s\t-\tshape\t%s\n' "$t" "$rank" "${published:--}" "$ours" "$verdict"
		done <"$work/most"
	done
}

# Mean TTFT falls from policy to policy.
order()
{
	for t in conversation synthetic; do
		last=
		for p in random least-loaded cache-aware kvcache-centric; do
			run policy "$here/../$t/scenario.json" --set conductor.policy=$p
			ours=$(metric policy ttft_s.mean)
			if [ -n "$last" ] && ! awk -v a="$ours" -v b="$last" 'BEGIN { exit !(a < b) }'; then
				missed=$((missed + 1))
				order="MISSED: not below the one before"
			else
				order="ok: in order"
			fi
			published=$(awk -v t=$t -v p=$p '$1 == t && $2 == p { print $3 }' "$here/figure5.txt")
			printf '5 mean TTFT s\t%s, %s\t%s\t%.4g\t-\torder\t%s\n' "$t" "$p" "${published:--}" "$ours" "$order"
			last=$ours
		done
	done
}

# One LRU pool of every capacity, from the request sequence alone.
curve()
{
	for t in conversation synthetic; do
		trace=$(ls "$data/mooncake/${t}_trace.jsonl"* | head -n 1)
		capacities=$(awk -v t=$t '$1 == t { printf "%s%d", n++ ? "," : "", $2 / 512 + 0.5 }' "$here/figure9.txt")
		"$mooncake" trace stat "$trace" --capacities "$capacities" --format csv | sed 1d >"$work/curve"
		awk -v t=$t '$1 == t { print $2, $3 }' "$here/figure9.txt" >"$work/figure9"
		while read -r tokens published && IFS=, read -r blocks hits hit_tokens by_block by_token <&3; do
			ours=$(awk -v x="$by_token" 'BEGIN { print 100 * x }')
			tolerance=
			[ $t != synthetic ] || tolerance=1.5
			row "9 hit rate %" "$t, $tokens tokens" "$published" "$ours" "$tolerance" points
		done <"$work/figure9" 3<"$work/curve"
	done
}

split()
{
	while read -r p ttft effective tbt; do
		run split "$here/../synthetic/scenario.json" --set cluster.prefill=$p --set cluster.decode=$((16 - p)) \
			--set cluster.stream=after --set slo.ttft=10s --set slo.tbt=100ms
		ours=$(metric split ttft_handover_s.mean)
		share=$(metric split slo.effective_ratio | awk '{ print 100 * $1 }')
		at="${p}P+$((16 - p))D"
		case $p in
		5) row "15 TTFT + hand-over s" "$at, near saturation" "$ttft" "$ours"
		   row "15 effective %" "$at, near saturation" "$effective" "$share" "" points
		   band "$ttft" "$effective" ;;
		11) row "15 TTFT + hand-over s" "$at" "$ttft" "$ours" 20
		    row "15 effective %" "$at" "$effective" "$share" "" points ;;
		*) row "15 TTFT + hand-over s" "$at" "$ttft" "$ours" 20
		   row "15 effective %" "$at" "$effective" "$share" 5 points ;;
		esac
		row "15 mean TBT ms" "$at" "$tbt" "$(metric split tbt_s.mean | awk '{ print 1000 * $1 }')"
	done <"$here/figure15.txt"
}

# 5P+11D with all service times 5 % shorter and longer: a rate 1/1.05 and 1.05 times the recorded one asks the same of it.
band()
{
	for rate in 0.952381 1.05; do
		run split "$here/../synthetic/scenario.json" --set cluster.prefill=5 --set cluster.decode=11 --set trace.rate=$rate \
			--set cluster.stream=after --set slo.ttft=10s --set slo.tbt=100ms
		row "15 TTFT + hand-over s" "5P+11D, load x $rate" "$1" "$(metric split ttft_handover_s.mean)"
		row "15 effective %" "5P+11D, load x $rate" "$2" "$(metric split slo.effective_ratio | awk '{ print 100 * $1 }')" "" points
	done
}

# Ten prefill nodes, outputs of one token: one pool for all, and caches of their own under two ways to route.
pools()
{
	while read -r t pool hits gpu; do
		for p in $(if [ "$pool" = global ]; then echo kvcache-centric; else echo random cache-aware; fi); do
			run pools "$here/../$t/scenario.json" --set cluster.prefill=10 --set cluster.decode=1 --set trace.max_output=1 \
				--set kv.pool=$(if [ "$pool" = global ]; then echo prefill; else echo local; fi) --set conductor.policy=$p
			tolerance=
			[ "$pool" = local ] || tolerance=10
			row "10 hit rate %" "$t, $pool, $p" "$hits" "$(metric pools cache.hit_ratio | awk '{ print 100 * $1 }')" $tolerance
			row "10 prefill GPU time s" "$t, $pool, $p" "$gpu" "$(metric pools prefill.compute_s_mean)" $tolerance
		done
	done <"$here/figure10.txt"
}

# One prompt of that many bytes of KV, handed over whole after its prefill.
transfer()
{
	while read -r gb published; do
		n=$(awk -v gb="$gb" 'BEGIN { printf "%d", gb * 1e9 / 327680 + 0.5 }')
		pair "$n" 0 | head -n 1 >"$work/one.jsonl"
		run transfer "$here/single.json" --set trace.path="$work/one.jsonl" --set cluster.stream=after
		case $gb in
		1 | 80) tolerance= ;; # a start-up that the profile does not have; an outlier: 90 GB took less
		*) tolerance=5 ;;
		esac
		row "12 transfer s" "$gb GB, 4 x 200 Gbps" "$published" "$(metric transfer handover_s.mean)" $tolerance
	done <"$here/figure12.txt"
}

# 8 x 400 Gbps: NICs are not the limit (95 % of line rate one by one), host memory is: 118.4 to 226 GB/s on eight NICs.
host()
{
	pair 122070 0 | head -n 1 >"$work/one.jsonl"
	for ceiling in 118.4 0 226; do
		run host "$here/single.json" --set trace.path="$work/one.jsonl" --set cluster.stream=after \
			--set hardware=h100-x8-analytic --set net.host_bandwidth=${ceiling}GB/s
		metric host handover_s.mean | awk '{ print 122070 * 327680 / $1 / 1e9 }' >>"$work/figure12"
	done
	# shellcheck disable=SC2046 # three words
	set -- $(cat "$work/figure12")
	awk -v low="$1" -v high="$3" 'BEGIN { exit !(low < 190 && 190 < high) }' && shape="ok: in the range" ||
		{ shape="MISSED: not in the range" && missed=$((missed + 1)); }
	printf '12 bandwidth GB/s\t40 GB, 8 x 400 Gbps, by host memory\t190\t%.4g .. %.4g\t-\trange\t%s\n' "$1" "$3" "$shape"
	row "12 bandwidth GB/s" "40 GB, 8 x 400 Gbps, the profile's" 190 "$2"
}

# Less bandwidth between the nodes, KV sent after prefill; and no cache at all.
bandwidth()
{
	while read -r gbps published real; do
		run bandwidth "$here/../synthetic/scenario.json" --set cluster.stream=after --set net.bandwidth="${gbps}Gbps"
		ours=$(metric bandwidth ttft_handover_s.mean)
		echo "$gbps $ours" >>"$work/figure13"
		row "13 transfer s" "$gbps Gbps" "$real" "$(metric bandwidth handover_s.mean)"
		# What it would take alone: the bytes over the bandwidth.
		requests=$(metric bandwidth handover_s.count)
		alone=$(awk -v b="$(metric bandwidth network.bytes)" -v f="$(metric bandwidth cache.fetched_bytes)" -v n="$requests" -v g="$gbps" \
			'BEGIN { print (b - f) / n / (g / 8 * 1e9) }')
		echo "shared $gbps $(metric bandwidth handover_s.mean) $alone" >>"$work/figure13"
		case $gbps in
		24) row "13 TTFT + hand-over s" "$gbps Gbps" "$published" "$ours" ;;
		40 | 80 | 100 | 160 | 320) row "13 TTFT + hand-over s" "$gbps Gbps" "$published" "$ours" 20 ;;
		*) row "13 TTFT + hand-over s" "$gbps Gbps" "$published" "$ours" 20 percent known ;;
		esac
	done <"$here/figure13.txt"
	for p in 8 10 12; do
		split="--set cluster.prefill=$p --set cluster.decode=$((16 - p)) --set cluster.stream=after"
		# shellcheck disable=SC2086 # several words
		run bandwidth "$here/../synthetic/scenario.json" $split --set kv.pool=off
		off=$(metric bandwidth ttft_handover_s.mean)
		row "13 TTFT + hand-over s" "no cache, ${p}P+$((16 - p))D" 2.6183 "$off"
		[ $p -eq 10 ] || continue
		# shellcheck disable=SC2086
		run bandwidth "$here/../synthetic/scenario.json" $split --set net.bandwidth=24Gbps
		echo "reuse $(metric bandwidth ttft_handover_s.mean) compute $off" >>"$work/figure13"
	done
	# Beyond 100 Gbps over four times the bandwidth gains a quarter, below it far more; at 24 Gbps reuse loses to computing.
	# Transfers share links: far from what they would take alone at 24 Gbps, near it at 463 (published: 2.4 and 1.02 times).
	awk '$1 == "reuse" { lost = $2 > $4; next } $1 == "shared" { times[$2] = $3 / $4; next } { at[$1] = $2 }
		END { exit !(at[100] / at[463] < 1.4 && at[24] / at[100] > 3 && lost && times[24] > 2 && times[463] < 1.2) }' "$work/figure13" &&
		shape=ok || { shape=MISSED && missed=$((missed + 1)); }
	printf '13 shape\tknee below 100 Gbps; 24 Gbps worse than no cache (10P+6D)\t-\t-\t-\tshape\t%s\n' "$shape"
}

printf 'figure\tsetting\tpublished\tours\tdeviation\ttolerance\tverdict\n'
single
compute
replicas
order
curve
pools
transfer
host
bandwidth
split
[ "$missed" -eq 0 ] || { echo "$missed figures missed their tolerance" >&2; exit 1; }
