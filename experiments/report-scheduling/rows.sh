# Mean TTFT falls from policy to policy, at every rate; the rate nearest to the four published values is shown.
echo "policy,rate,published_s,mean_s" >"$plot/rates.csv"
for rate in $(either "1.5 1.6 1.7 1.75 1.8 1.85 1.9 2" "1.5 2"); do
	values | while read -r p published; do
		measure policy "$experiments/conversation/scenario.json" --set trace.path="$(recorded conversation)" \
			--set trace.rate="$rate" --set conductor.policy="$p"
		echo "$p,$rate,$published,$(metrics policy ttft_s.mean)"
	done | tee -a "$plot/rates.csv" >"$work/rate"
	shape "order of mean TTFT s" "8P+8D, rate x $rate" - "$(awk -F, '{ printf "%s%.3g", (NR > 1 ? " " : ""), $4 }' "$work/rate")" order \
		"$(awk -F, 'NR > 1 && $4 >= last { bad = 1 } { last = $4 }
			END { print bad || NR != 4 ? "MISSED: expected each below the one before" : "ok: in order" }' "$work/rate")"
done
awk -F, 'NR > 1 { off[$2] += log($4 / $3) ^ 2 }
	END {
		for (r in off)
			if (best == "" || off[r] < off[best])
				best = r
		print best
	}' "$plot/rates.csv" >"$work/nearest"
nearest=$(cat "$work/nearest")
awk -F, -v rate="$nearest" 'NR > 1 && $2 == rate { print $1, $3, $4 }' "$plot/rates.csv" | while read -r p published ours; do
	row "mean TTFT s" "$p, nearest rate: x $nearest" "$published" "$ours"
done
