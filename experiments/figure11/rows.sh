# Replica counts of the n-th hottest block over the run: the most of each rank. On the conversation trace the hottest
# block reaches all prefill nodes, and the counts fall with the rank, give or take one.
for t in conversation synthetic; do
	run "$t" "$experiments/base.json" --set trace.path="$(recorded "$t")"
	cp "$work/$t/replicas.csv" "$plot/$t.csv"
	last=8
	awk -F, 'NR > 1 && $4 > most[$2] + 0 { most[$2] = $4 } NR > 1 { seen[$2] = 1 }
		END { for (r in seen) print r, most[r] + 0 }' "$work/$t/replicas.csv" | sort -n >"$work/most"
	while read -r rank ours; do
		verdict="as it comes out"
		if [ $t = conversation ]; then
			verdict="ok: in order"
			[ "$rank" -gt 1 ] || verdict="ok: all 8"
			if [ "$ours" -gt $((last + 1)) ] || { [ "$rank" -eq 1 ] && [ "$ours" -lt 8 ]; }; then
				verdict="MISSED: expected all 8, then at most one more than the rank before"
			fi
			last=$ours
		fi
		published=$(values | awk -v t=$t -v r="$rank" '$1 == t && $2 == r { print $3 }')
		shape "replicas at most" "$t, rank $rank" "${published:--}" "$ours" shape "$verdict"
	done <"$work/most"
done

# The published lines, or the most of each rank.
file=$(paper fig11_replica_counts)
if [ -n "$file" ]; then
	cp "$file" "$plot/published.csv"
else
	values | awk -v OFS=, 'BEGIN { print "trace,rank,time_s,replicas" }
		{ for (i = 0; i < 2; i++) print $1, $2, i * ($1 == "synthetic" ? 1000 : 3600), $3 }' >"$plot/published.csv"
fi
