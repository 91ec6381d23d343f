# How thin may the spine be? Racks of four nodes, filled with prefill nodes first (every hand-over crosses the spine), or
# dealt in turn (half of each kind in every rack), by oversubscription; NICs as the profile has them, and of 100 Gbps.
columns="TTFT s|ttft_s.mean|1|3
hand-over ms|handover_s.mean|1000|1
p99|handover_s.p99|1000|0
busiest rack %|network.busiest_rack_ratio|100|1
x$busy both s|busy:ttft_handover_s.mean|1|3
p99|busy:ttft_handover_s.p99|1|2"
for nic in $(either "0 100Gbps" 100Gbps); do
	for order in filled dealt; do
		sweep net.oversubscription "$(either "$([ $nic = 0 ] && echo 1 4 8 16 || echo 1 2 3)" 2)" "$columns" --set net.rack_nodes=4 \
			--set net.rack_order=$order --set net.bandwidth=$nic | awk -F'\t' -v OFS='\t' -v nic=$nic -v order=$order \
			'{ $2 = (nic == "0" ? "profile" : nic) OFS order OFS $2; print }'
	done
done | titled "Oversubscription of racks of four" "NICs|racks|oversubscribed" "$columns"
