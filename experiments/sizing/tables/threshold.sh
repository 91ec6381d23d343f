# When to fetch a prefix from another node instead of computing it again: the balancing threshold of Algorithm 1. 1
# fetches whatever is longer elsewhere, 1e9 only what the node has nothing of.
columns="$hits
on node M tokens|cache.local_hit_tokens|1e-6|1
fetched TB|cache.fetched_bytes|1e-12|2
$gpu
$ttft
$pressed"
sweep conductor.balancing_threshold "$(either "1 1.1 1.25 1.5 2 3 4 8 16 1e9" "1 1.5 1e9")" "$columns" |
	titled "Balancing threshold" threshold "$columns"
