# Mean engine time of a request's prefill, and how many times that of Mooncake the others take. Chunked prefill takes longer
# the smaller its budget of tokens is, which is not published: of a few the one is judged that comes nearest in both traces.
budgets=$(either "512 1024 2048" "1024 2048")

# compute TRACE SYSTEM ARGUMENTS...: its prefill.compute_s_mean.
compute()
{
	t=$1 of=$2
	shift 2
	# shellcheck disable=SC2046 # options
	measure "$of" "$experiments/base.json" --set trace.path="$(recorded "$t")" $(system "$of") "$@"
	metrics "$of" prefill.compute_s_mean
}

# The least product of factors that published and own times over Mooncake's are apart.
for t in conversation synthetic; do
	least=$(compute $t mooncake)
	for budget in $budgets; do
		values | awk -v t=$t -v b="$budget" -v base="$least" -v ours="$(compute $t chunked --set cluster.max_batched_tokens="$budget")" '
			$1 == t && $2 == "mooncake" { p = $3 }
			$1 == t && $2 == "chunked" { x = (ours / base) / ($3 / p); print b, x < 1 ? 1 / x : x }'
	done
done | awk '{ off[$1] = ($1 in off ? off[$1] : 1) * $2 } END { for (b in off) if (best == "" || off[b] < off[best]) best = b; print best }' >"$work/budget"
read -r nearest <"$work/budget"

echo "trace,system,published_s,compute_s" >"$plot/prefill.csv"
values | while read -r t of published; do
	[ "$of" = chunked ] && with="--set cluster.max_batched_tokens=$nearest" name="chunked, nearest budget: $nearest" || with='' name=$of
	# shellcheck disable=SC2086 # options
	ours=$(compute "$t" "$of" $with)
	echo "$t,$of,$published,$ours" >>"$plot/prefill.csv"
	if [ "$of" = mooncake ]; then
		row "prefill GPU time s" "$t, compute_s" "$published" "$ours" 10
		row "prefill GPU time s" "$t, gpu_time_s" "$published" "$(metrics "$of" prefill.gpu_time_s_mean)"
		base="$published $ours"
		continue
	fi
	row "prefill GPU time s" "$t, $name" "$published" "$ours"
	ratio=$(echo "$base $published $ours" | awk '{ print $3 / $1, $4 / $2 }')
	row "times Mooncake's" "$t, $name" "${ratio% *}" "${ratio#* }" 10
done
