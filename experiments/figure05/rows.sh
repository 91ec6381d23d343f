# Mean TTFT falls from policy to policy.
echo "trace,policy,published_mean_s,mean_s,q1_s,median_s,q3_s,whisker_low_s,whisker_high_s" >"$plot/ttft.csv"
for t in conversation synthetic; do
	for p in random least-loaded cache-aware kvcache-centric; do
		run policy "$experiments/base.json" --set trace.path="$(recorded $t)" --set conductor.policy=$p
		ours=$(metrics policy ttft_s.mean)
		published=$(values | awk -v t=$t -v p=$p '$1 == t && $2 == p { print $3 }')
		shape "mean TTFT s" "$t, $p" "${published:--}" "$ours" order "$(falls $t "$ours")"
		# The box and whiskers of the figure: quartiles, and the last values within 1.5 times their distance.
		column "$work/policy/requests.csv" ttft_s outcome | awk '$2 == "completed" { print $1 }' | sort -n |
			awk -v of="$t,$p,$published,$ours" '
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
