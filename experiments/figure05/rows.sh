# Mean TTFT falls from policy to policy.
heading="trace,policy,mean_s,q1_s,median_s,q3_s,whisker_low_s,whisker_high_s"
echo "$heading" >"$plot/ttft.csv"
for t in conversation synthetic; do
	for p in random least-loaded cache-aware kvcache-centric; do
		run policy "$experiments/base.json" --set trace.path="$(recorded $t)" --set conductor.policy=$p
		ours=$(metrics policy ttft_s.mean)
		published=$(values | awk -v t=$t -v p=$p '$1 == t && $2 == p { print $3 }')
		shape "mean TTFT s" "$t, $p" "${published:--}" "$ours" order "$(falls $t "$ours")"
		# The box and whiskers of the figure: quartiles, and the last values within 1.5 times their distance.
		column "$work/policy/requests.csv" ttft_s outcome | awk '$2 == "completed" { print $1 }' | sort -n |
			awk -v of="$t,$p,$ours" '
				function quantile(q) { return v[int(q * (NR - 1) + 0.5) + 1] }
				{ v[NR] = $1 }
				END {
					a = quantile(0.25)
					b = quantile(0.75)
					for (low = 1; v[low] < a - 1.5 * (b - a); low++)
						;
					for (high = NR; v[high] > b + 1.5 * (b - a); high--)
						;
					printf "%s,%s,%s,%s,%s,%s\n", of, a, quantile(0.5), b, v[low], v[high]
				}' >>"$plot/ttft.csv"
	done
done

# The published boxes, or their means alone. A whisker that leaves the drawing has no value there.
file=$(paper fig5_scheduling_ttft)
{
	echo "$heading"
	if [ -n "$file" ]; then
		awk -F, -v OFS=, 'BEGIN {
				name["random"] = "random"
				name["load_balancing"] = "least-loaded"
				name["local_cache_aware"] = "cache-aware"
				name["global_cache_aware"] = "kvcache-centric"
			}
			NR > 1 { print "conversation", name[$1], $2, $3, $4, $5, $6, $7 == "" ? 100 : $7 }' "$file"
	else
		values | awk -v OFS=, '{ print $1, $2, $3, $3, $3, $3, $3, $3 }'
	fi
} >"$plot/published.csv"
