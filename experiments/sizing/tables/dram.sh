# How much DRAM? Every size is twice the one before, up to one that never evicts; 3M tokens are 1 TB for a 70B model with
# 8 KV heads in bf16 (327,680 bytes a token).
columns="$hits
evicted|cache.evicted_blocks|1|0
$gpu
$ttft
$pressed"
lines=$(sweep kv.dram_tokens "$(either "94K 188K 375K 750K 1500K 3M 6M 12M 1G" "94K 375K 1G")" "$columns")
echo "$lines" | titled "DRAM of a prefill node, in tokens" tokens "$columns"
# The knee, by the rule that a doubling has to gain a point of hit rate.
echo "$lines" | awk -F'\t' '
	$1 != trace { trace = $1; last = ""; done[$1] = 0 }
	last != "" && !done[trace] && $3 - was < 1 {
		printf "  %s: from %s tokens a node on, twice the DRAM gains under a point of hit rate\n", trace, last
		done[trace] = 1
	}
	{ last = $2; was = $3 }
	END { print "" }'
