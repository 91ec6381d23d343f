# How fast a network? Usable bandwidth of a node, each direction, with KV sent layer by layer and after prefill.
columns="TTFT s|ttft_s.mean|1|3
hand-over ms|handover_s.mean|1000|1
p99|handover_s.p99|1000|0
both s|ttft_handover_s.mean|1|3
fetch wait ms|prefill.fetch_wait_s_mean|1000|2
busiest link %|network.busiest_link_ratio|100|1
x$busy both s|busy:ttft_handover_s.mean|1|3
p99|busy:ttft_handover_s.p99|1|2"
for stream in layerwise after; do
	sweep net.bandwidth "$(either "10Gbps 25Gbps 50Gbps 100Gbps 200Gbps 400Gbps 800Gbps" "25Gbps 800Gbps")" "$columns" \
		--set cluster.stream=$stream | awk -F'\t' -v OFS='\t' -v stream=$stream '{ $2 = $2 OFS stream; print }'
done | titled "Usable network bandwidth of a node" "bandwidth|KV sent" "$columns"
