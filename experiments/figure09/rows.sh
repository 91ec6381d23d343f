# Hits of one LRU pool of every capacity, from the request sequence alone.
echo "trace,tokens,published_percent,percent" >"$plot/hits.csv"
for t in conversation synthetic; do
	values | awk -v t=$t '$1 == t { print $2, $3 }' >"$work/points"
	capacities=$(awk '{ printf "%s%d", n++ ? "," : "", $1 / 512 + 0.5 }' "$work/points")
	"$mooncake" trace stat "$(recorded $t)" --capacities "$capacities" --format csv | sed 1d >"$work/curve"
	while read -r tokens published && IFS=, read -r blocks hits hit_tokens by_block by_token <&3; do
		ours=$(percent "$by_token")
		tolerance=
		[ $t != synthetic ] || tolerance=1.5
		row "hit rate %" "$t, $tokens tokens" "$published" "$ours" "$tolerance" points
		echo "$t,$tokens,$published,$ours" >>"$plot/hits.csv"
	done <"$work/points" 3<"$work/curve"
done
