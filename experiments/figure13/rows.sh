# Less bandwidth between the nodes, KV sent after prefill; and no cache at all.

# replay ARGUMENTS...
replay() { measure replay "$here/scenario.json" --set trace.path="$(recorded synthetic)" "$@"; }

echo "gbps,published_ttft_handover_s,ttft_handover_s,published_handover_s,handover_s" >"$plot/bandwidth.csv"
values | while read -r gbps published real; do
	replay --set net.bandwidth="${gbps}Gbps"
	metrics replay ttft_handover_s.mean handover_s.mean handover_s.count network.bytes cache.fetched_bytes >"$work/times"
	read -r ours handover requests bytes fetched <"$work/times"
	row "transfer s" "$gbps Gbps" "$real" "$handover"
	case $gbps in
	24) row "TTFT + hand-over s" "$gbps Gbps" "$published" "$ours" ;;
	40 | 80 | 100 | 160 | 320) row "TTFT + hand-over s" "$gbps Gbps" "$published" "$ours" 20 ;;
	*) row "TTFT + hand-over s" "$gbps Gbps" "$published" "$ours" 20 percent known ;;
	esac
	echo "$gbps,$published,$ours,$real,$handover" >>"$plot/bandwidth.csv"
	# What a hand-over would take alone: its bytes over the bandwidth.
	awk -v g="$gbps" -v t="$ours" -v s="$handover" -v b="$bytes" -v f="$fetched" -v n="$requests" \
		'BEGIN { print "at", g, t, s / ((b - f) / n / (g / 8 * 1e9)) }' >>"$work/knee"
done
for p in 8 10 12; do
	replay --set cluster.prefill=$p --set cluster.decode=$((16 - p)) --set kv.pool=off
	off=$(metrics replay ttft_handover_s.mean)
	row "TTFT + hand-over s" "no cache, ${p}P+$((16 - p))D" 2.6183 "$off"
	[ $p -eq 10 ] || continue
	replay --set cluster.prefill=$p --set cluster.decode=$((16 - p)) --set net.bandwidth=24Gbps
	echo "reuse $(metrics replay ttft_handover_s.mean) $off" >>"$work/knee"
done
# Beyond 100 Gbps over four times the bandwidth gains a quarter, below it far more; at 24 Gbps reuse loses to computing.
# Transfers share links: far from what they would take alone at 24 Gbps, near it at 463 (published: 2.4 and 1.02 times).
awk '$1 == "reuse" { lost = $2 > $3; next } { at[$2] = $3; times[$2] = $4 }
	END { exit !(at[100] / at[463] < 1.4 && at[24] / at[100] > 3 && lost && times[24] > 2 && times[463] < 1.2) }' "$work/knee" &&
	verdict=ok || verdict=MISSED
shape "shape" "knee below 100 Gbps; 24 Gbps below no cache" - - shape "$verdict"
