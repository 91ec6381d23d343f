# An SSD tier or not? By the DRAM of a node: no SSD, what DRAM evicts, all that comes to DRAM. SSDs are the profile's.
columns="$hits
read M tokens|cache.ssd_hit_tokens|1e-6|1
written TB|cache.ssd_written_bytes|1e-12|1
not written|cache.ssd_unstored_blocks|1|0
$gpu
fetch wait ms|prefill.fetch_wait_s_mean|1000|2
$ttft
$pressed"
for dram in $(either "188K 750K 3M" "94K 3M"); do
	sweep kv.ssd_write "never evict through" "$columns" --set kv.dram_tokens=$dram |
		awk -F'\t' -v OFS='\t' -v dram=$dram '{ $2 = dram OFS $2; print }'
done | titled "SSD tier, by DRAM of a node in tokens" "DRAM|SSD" "$columns"

# How fast does it have to be? A quarter of the DRAM, written half as fast as read.
for read in $(either "1 2 4 8 16 32" "1 16"); do
	sweep kv.ssd_read_bandwidth ${read}GB/s "$columns" --set kv.ssd_write_bandwidth=$((read * 500))MB/s --set kv.ssd_write=evict \
		--set kv.dram_tokens="$(either 750K 94K)"
done | titled "Speed of a node's SSDs, with 750K tokens of DRAM" "read" "$columns"
