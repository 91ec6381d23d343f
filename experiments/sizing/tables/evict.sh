# Which block goes first? Every policy, with little DRAM and with 1 TB. Those that need the future come last, marked:
# nobody can run them, and nobody can expect much more than their hits.
columns="$hits
evicted|cache.evicted_blocks|1|0
$gpu
$ttft
$pressed"
evictors() { "$mooncake" list evictors | awk -v future="$1" '/^  / && /future/ == future { printf "%s ", $1 }'; }
bounds=$(evictors 1)
for dram in $(either "188K 750K 3M" "188K"); do
	sweep kv.evict "$(evictors 0)$bounds" "$columns" --set kv.dram_tokens="$dram" |
		awk -F'\t' -v OFS='\t' -v dram="$dram" -v bounds=" $bounds" '{
				$2 = dram OFS $2 (index(bounds, " " $2 " ") ? " (bound)" : "")
				print
			}'
done | titled "Eviction policy" "tokens a node|policy" "$columns"
