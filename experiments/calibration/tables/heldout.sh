# What profiles say of points that their fit did not see (mooncake-profile(5), held_out): the committed profiles with
# operators, and those made here. Left out was a fifth of the points; every second coordinate of each axis; or all of a
# matrix product's shape, predicted from the others.
for s in $(either "vllm trtllm sglang" ""); do
	stack a100 "$s" >/dev/null
done
[ -n "$small" ] || stack h100 vllm >/dev/null

# held FILE
held()
{
	awk -v OFS='\t' -v profile="$(basename "$1" .json)" '
		function value(key, a) { a = index($0, "\"" key "\": "); return substr($0, a + length(key) + 4) }
		function text(key, s) { s = substr(value(key), 2); sub(/".*/, "", s); return s }
		/"held_out":/ { inside = 1 }
		!inside { next }
		/"op":/ { op = text("op") }
		/"left_out":/ { out = text("left_out") }
		/"points":/ { points = value("points") + 0 }
		/"median":/ { median = value("median") }
		/"p95":/ { p95 = value("p95") }
		/"worst":/ { worst = value("worst") }
		/"worst_at":/ {
			print profile, op, out, points, sprintf("%.1f", 100 * median), sprintf("%.1f", 100 * p95),
				sprintf("%.0f", 100 * worst), text("worst_at")
		}' "$1"
}
{
	printf 'profile\toperator\tleft out\tpoints\tmedian %%\tp95 %%\tworst %%\tworst at\n'
	for f in "$MOONCAKE_PROFILE_DIR"/*.json "$work"/stack-*.json; do
		[ ! -e "$f" ] || held "$f"
	done
} | table "Operators on points that their fit did not see"
