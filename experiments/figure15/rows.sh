# Splits of 16 nodes, KV sent after prefill.

# split PREFILL RATE: "ttft_handover_s effective_% tbt_ms"
split()
{
	measure split "$here/scenario.json" --set trace.path="$(recorded synthetic)" --set cluster.prefill="$1" \
		--set cluster.decode=$((16 - $1)) --set trace.rate="$2"
	metrics split ttft_handover_s.mean slo.effective_ratio tbt_s.mean | awk '{ print $1, 100 * $2, 1000 * $3 }' >"$work/cells"
	read -r ours_ttft ours_effective ours_tbt <"$work/cells"
}

echo "prefill,published_ttft_handover_s,ttft_handover_s,published_effective_percent,effective_percent,published_tbt_ms,tbt_ms" >"$plot/split.csv"
values | while read -r p ttft effective tbt; do
	split "$p" 1
	echo "$p,$ttft,$ours_ttft,$effective,$ours_effective,$tbt,$ours_tbt" >>"$plot/split.csv"
	at="${p}P+$((16 - p))D"
	ttft_within=20
	effective_within=5
	case $p in
	5)
		at="$at, near saturation"
		ttft_within= effective_within=
		;;
	11) effective_within= ;;
	esac
	row "TTFT + hand-over s" "$at" "$ttft" "$ours_ttft" $ttft_within
	row "effective %" "$at" "$effective" "$ours_effective" "$effective_within" points
	row "mean TBT ms" "$at" "$tbt" "$ours_tbt"
	[ "$p" -eq 5 ] || continue
	# All service times 5 % shorter and longer: a rate 1/1.05 and 1.05 times the recorded one asks the same of it.
	for rate in 0.952381 1.05; do
		split 5 $rate
		row "TTFT + hand-over s" "5P+11D, load x $rate" "$ttft" "$ours_ttft"
		row "effective %" "5P+11D, load x $rate" "$effective" "$ours_effective" "" points
	done
done
