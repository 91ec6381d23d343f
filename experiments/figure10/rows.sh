# Ten prefill nodes, outputs of one token: one pool for all, and caches of their own under two ways to route.
echo "trace,pool,policy,published_hit_percent,hit_percent,published_s,compute_s" >"$plot/pools.csv"
values | while read -r t pool hits gpu; do
	for p in $(if [ "$pool" = global ]; then echo kvcache-centric; else echo random cache-aware; fi); do
		measure pools "$here/scenario.json" --set trace.path="$(recorded "$t")" --set conductor.policy="$p" \
			--set kv.pool="$(if [ "$pool" = global ]; then echo prefill; else echo local; fi)"
		tolerance=
		[ "$pool" = local ] || tolerance=10
		metrics pools cache.hit_ratio prefill.compute_s_mean >"$work/pool"
		read -r ours_hits ours_gpu <"$work/pool"
		ours_hits=$(percent "$ours_hits")
		row "hit rate %" "$t, $pool, $p" "$hits" "$ours_hits" $tolerance
		row "prefill GPU time s" "$t, $pool, $p" "$gpu" "$ours_gpu" $tolerance
		echo "$t,$pool,$p,$hits,$ours_hits,$gpu,$ours_gpu" >>"$plot/pools.csv"
	done
done
