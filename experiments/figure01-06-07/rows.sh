# Requests with a TBT of at most 100, 200 and 300 ms by system, at a few rates: the one that comes nearest to the published
# shares is shown, the order is judged at all of them.

# cumulate: sorted milliseconds as lines "ms,percent", at every quarter percent.
cumulate()
{
	awk '{ v[NR] = $1 } END { for (i = 1; i <= NR; i++) if (i == NR || int(400 * i / NR) > int(400 * (i - 1) / NR)) print v[i] "," 100 * i / NR }'
}

systems="mooncake plain caching chunked"
echo "trace,rate,system,percent_100ms,percent_200ms,percent_300ms" >"$plot/shares.csv"
for t in conversation synthetic; do
	case $t in
	conversation) rates=$(either "1 1.25 1.4 1.5 1.6" "1.5") ;;
	synthetic) rates=$(either "0.8 0.9 1 1.1" "1") ;;
	esac
	for rate in $rates; do
		for of in $systems; do
			# shellcheck disable=SC2046 # options
			run "$of" "$experiments/base.json" --set trace.path="$(recorded $t)" --set trace.rate="$rate" $(system $of)
			# An output of one token has no interval, and misses no objective.
			column "$work/$of/requests.csv" tbt_s outcome | awk -F'\t' '$2 == "completed" { print 1000 * $1 }' | sort -n >"$work/tbt"
			cumulate <"$work/tbt" >"$work/curve-$t-$rate-$of"
			awk -v all="$(metrics $of requests.total)" -v of="$t,$rate,$of" '{ for (i = 1; i <= 3; i++) met[i] += $1 <= 100 * i }
				END { printf "%s,%.2f,%.2f,%.2f\n", of, 100 * met[1] / all, 100 * met[2] / all, 100 * met[3] / all }' "$work/tbt"
		done | tee -a "$plot/shares.csv" >"$work/shares"
		# Mooncake most, chunked prefill least, at each.
		shape "order at 3 objectives" "$t, rate x $rate" - - order \
			"$(awk -F, '{ for (i = 4; i <= 6; i++) {
					if (NR == 1) top[i] = $i
					else if ($i > top[i] || (NR == 4 && ($i > low[i]))) bad = 1
					low[i] = NR == 2 || $i < low[i] ? $i : low[i]
				} }
				END { print bad || NR != 4 ? "MISSED" : "ok: in order" }' "$work/shares")"
	done
	# The least sum of distances, over all systems and objectives.
	nearest=$(values | tr ' ' , | awk -F, -v t=$t '
		FILENAME == "-" { for (i = 3; i <= 5; i++) published[$1, $2, i] = $i; next }
		$1 == t { for (i = 3; i <= 5; i++) off[$2] += $(i + 1) > published[t, $3, i] ? $(i + 1) - published[t, $3, i] : published[t, $3, i] - $(i + 1) }
		END {
			for (r in off)
				if (best == "" || off[r] < off[best])
					best = r
			print best
		}' - "$plot/shares.csv")
	for of in $systems; do
		sed "s/^/$of,/" "$work/curve-$t-$nearest-$of"
	done >"$work/curves"
	{ echo "system,tbt_ms,percent" && cat "$work/curves"; } >"$plot/$t.csv"
	echo "$t,$nearest" >>"$plot/nearest.csv"
	values | awk -v t=$t '$1 == t' | tr ' ' , | awk -F, -v OFS='\t' -v t=$t -v rate="$nearest" '
		FILENAME == "-" { for (i = 1; i <= 3; i++) published[$2, i] = $(i + 2); next }
		$1 == t && $2 == rate { for (i = 1; i <= 3; i++) ours[$3, i] = $(i + 3) }
		function gain(v, i,   best, s) {
			best = v["plain", i] > v["caching", i] ? v["plain", i] : v["caching", i]
			best = v["chunked", i] > best ? v["chunked", i] : best
			return 100 * (v["mooncake", i] / best - 1)
		}
		END {
			n = split("mooncake plain caching chunked", s, " ")
			for (i = 1; i <= 3; i++) {
				for (k = 1; k <= n; k++)
					print "share", s[k], 100 * i, published[s[k], i], ours[s[k], i]
				print "gain", "best", 100 * i, gain(published, i), gain(ours, i)
			}
			for (i = 1; i <= 3; i++)
				worse += ours["caching", i] > ours["plain", i]
			print "worse", "caching", 0, "below", worse ? "above" : "below"
		}' - "$plot/shares.csv" >"$work/rows-$t"
	while read -r kind of at published ours; do
		case $kind in
		share) row "% with TBT <= $at ms" "$t, $of, nearest rate: x $nearest" "$published" "$ours" "" points ;;
		gain) row "gain at $at ms, %" "$t, over the best of the others" "$published" "$ours" "" points ;;
		worse)
			verdict=ok
			[ "$ours" = "$published" ] || verdict="missed, see README"
			shape "prefix caching" "$t, against plain" "$published" "$ours" order "$verdict"
			;;
		esac
	done <"$work/rows-$t"
done
# The published curves, or the points above.
file=$(paper fig1_6_7_tbt_capacity)
{
	echo "trace,system,tbt_ms,percent"
	if [ -n "$file" ]; then
		sed '1d; s/,vllm_prefix_caching,/,caching,/; s/,vllm_chunked_prefill,/,chunked,/; s/,vllm,/,plain,/' "$file"
	else
		values | awk -v OFS=, '{ for (i = 1; i <= 3; i++) print $1, $2, 100 * i, $(i + 2) }'
	fi
} >"$plot/published.csv"
