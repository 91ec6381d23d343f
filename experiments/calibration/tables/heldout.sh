# What profiles say of points that their fit did not see: the errors of their curves, by operator, of the committed
# profiles with operators and of those made here. By operator the medians over its curves of the median and of
# the 95th percentile, and the worst point of all.
for s in $(either "vllm trtllm sglang" ""); do
	stack a100 $s >/dev/null
done
[ -n "$small" ] || stack h100 vllm >/dev/null

# held FILE
held()
{
	awk -v OFS='\t' -v profile="$(basename "$1" .json)" '
		function value(key, a) { a = index($0, "\"" key "\": "); return a ? substr($0, a + length(key) + 4) + 0 : 0 }
		function middle(list, v, n, i, j, t) {
			n = split(list, v, " ")
			for (i = 2; i <= n; i++)
				for (j = i; j > 1 && v[j] + 0 < v[j - 1] + 0; j--) { t = v[j]; v[j] = v[j - 1]; v[j - 1] = t }
			return n % 2 ? v[(n + 1) / 2] : (v[n / 2] + v[n / 2 + 1]) / 2
		}
		$1 == "\"operators\":" { inside = 1 }
		$1 == "\"op\":" && inside { split($2, quoted, "\""); op = quoted[2] }
		$1 == "\"fixed\":" { fixed = $0; gsub(/^[^{]*{|}.*$|"|:/, "", fixed) }
		$1 == "\"error\":" && op != "" {
			if (!(op in curves))
				order[++ops] = op
			curves[op]++
			points[op] += value("points")
			medians[op] = medians[op] " " value("median")
			p95s[op] = p95s[op] " " value("p95")
			good[op] += value("median") <= 0.05
			if (value("worst") >= worst[op]) {
				worst[op] = value("worst")
				at = $0
				sub(/.*"worst_at": "/, "", at)
				sub(/".*/, "", at)
				where[op] = at (fixed == "" ? "" : "; " fixed)
			}
		}
		END {
			for (i = 1; i <= ops; i++) {
				op = order[i]
				print profile, op, curves[op], points[op], sprintf("%.1f", 100 * middle(medians[op])),
					sprintf("%.1f", 100 * middle(p95s[op])), good[op], sprintf("%.0f", 100 * worst[op]), where[op]
			}
		}' "$1"
}
{
	printf 'profile\toperator\tcurves\tpoints\tmedian %%\tp95 %%\tmedian <= 5 %%\tworst %%\tworst at\n'
	for f in "$MOONCAKE_PROFILE_DIR"/*.json "$work"/stack-*.json; do
		[ ! -e "$f" ] || held "$f"
	done
} | table "Operators on points that their fit did not see"
