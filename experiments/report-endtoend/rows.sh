# More requests than coupled nodes. Real requests: 10P+10D against 20 coupled nodes. Made prompts: the highest Poisson rate
# at which the 90th percentiles of TTFT and TBT stay within 10 and 5 times those of a nearly idle 3P+1D, against 4 coupled nodes.
given() { values | awk -v what="$1" '$1 == what { print $2 }'; }
coupled="--set kv.pool=off --set conductor.policy=least-loaded --set cluster.coupled="

# capacity TRACE METRIC MOST ARGUMENTS...: requests a second, inf where no rate was found that fails.
capacity()
{
	file=$1 of=$2 most=$3
	shift 3
	"$mooncake" capacity "$experiments/base.json" --set trace.path="$file" "$@" --metric "$of" --keep "$most" \
		--precision 0.03 --format csv -q -o "$work/capacity.csv" 2>"$work/log" || fail "capacity $*: $(cat "$work/log")"
	awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		{ print $at["above"] != "" ? 1e9 : $at["below"] != "" ? 0 : $at["arrivals_per_s"] }' "$work/capacity.csv"
}

# Real requests, at the rate of a grid at which coupled nodes come nearest to their published share.
for rate in $(either "1 1.1 1.2" "1"); do
	for s in "--set cluster.prefill=10 --set cluster.decode=10" "${coupled}20"; do
		# shellcheck disable=SC2086 # options
		measure real "$experiments/base.json" --set trace.path="$(recorded conversation)" --set trace.rate="$rate" $s
		metrics real requests.total slo.tbt_met slo.effective_ratio | awk '{ printf "%s %s ", 100 * $2 / $1, 100 * $3 }'
	done | awk -v rate="$rate" '{ print rate, $0 }'
done | awk -v p="$(given real-coupled-tbt-met)" '{ d = $4 - p; d = d < 0 ? -d : d }
	NR == 1 || d < least { least = d; best = $0 }
	END { print best }' >"$work/nearest-real"
read -r rate met effective met_coupled effective_coupled <"$work/nearest-real"
row "TBT met %" "conversation, 10P+10D, rate x $rate" "$(given real-mooncake-tbt-met)" "$met" "" points
row "TBT met %" "conversation, 20 coupled, rate x $rate" "$(given real-coupled-tbt-met)" "$met_coupled" "" points
row "more requests %" "conversation, effective ones at this rate" "$(given real-gain)" \
	"$(awk -v a="$effective" -v b="$effective_coupled" 'BEGIN { print 100 * (a / b - 1) }')" "" points

# gain NAME TRACE: by both readings of TBT: of all intervals, and of a request's longest tenth.
gain()
{
	measure idle "$experiments/base.json" --set trace.path="$2" --set trace.rate=0.05 --set cluster.prefill=3 --set cluster.decode=1
	metrics idle ttft_s.p90 itl_s.p90 tbt_s.p90 | awk '{ print 10 * $1, 5 * $2, 5 * $3 }' >"$work/limits"
	read -r ttft itl tbt <"$work/limits"
	for s in "--set cluster.prefill=3 --set cluster.decode=1" "--set cluster.prefill=2 --set cluster.decode=2" "${coupled}4"; do
		# shellcheck disable=SC2086 # options
		echo "$(capacity "$2" ttft_s.p90 "$ttft" $s) $(capacity "$2" itl_s.p90 "$itl" $s) $(capacity "$2" tbt_s.p90 "$tbt" $s)"
	done | awk -v of="$1" 'function least(a, b) { return a < b ? a : b }
		{ all[NR] = least($1, $2); tenth[NR] = least($1, $3) }
		END {
			for (i = 1; i <= 2; i++)
				printf "%s,%s,%.4g,%.4g,%.4g,%.4g\n", of, i == 1 ? "3P+1D" : "2P+2D", all[i], all[3], tenth[i], tenth[3]
		}' >>"$plot/gain.csv"
}

echo "data,split,all,coupled_all,tenth,coupled_tenth" >"$plot/gain.csv"
short=$(either "" "--set duration=200s")
# shellcheck disable=SC2086 # options, or none
"$mooncake" trace gen "$here/arxiv.json" $short -o "$work/arxiv.jsonl"
gain arxiv "$work/arxiv.jsonl"
# Documents asked about more than once each; then prompts of which the first half is one of 20.
for of in leval simulated-16k simulated-32k simulated-64k simulated-128k; do
	half=$(echo "${of#*-}" | awk '/k$/ { print 512 * $1 }')
	shape="--set system.median=$half --set first.median=$half --set output.median=512 --set system.count=20"
	[ $of != leval ] || shape="--set system.median=18500 --set first.median=519 --set output.median=72 --set system.count=100"
	# shellcheck disable=SC2086 # options
	"$mooncake" trace gen "$here/shared.json" $shape $short -o "$work/$of.jsonl"
	gain $of "$work/$of.jsonl"
done
sed 1d "$plot/gain.csv" | while IFS=, read -r of split all coupled_all tenth coupled_tenth; do
	[ "$split" = 3P+1D ] || continue
	known=$(given "$of")
	for reading in "all intervals:$all:$coupled_all" "longest tenth:$tenth:$coupled_tenth"; do
		ours=$(echo "$reading" | awk -F: '{ printf "%+.0f", 100 * ($2 / $3 - 1) }')
		verdict="as it comes out"
		case $reading in
		longest*) [ "${ours#-}" != "$ours" ] && verdict="MISSED: expected more than coupled nodes" || verdict="ok: more" ;;
		esac
		shape "more requests %" "$of, $split, TBT of ${reading%%:*}" "${known:-50 .. 525}" "$ours" order "$verdict"
	done
done
