# One request alone, through the whole simulator: its prefill, and 128 tokens of decode.
echo "ktokens,cached_percent,published_prefill_s,prefill_s,published_decode_s,decode_s" >"$plot/alone.csv"
values | while read -r k percent prefill decode; do
	pair $((k * 1024)) "$percent" >"$work/pair.jsonl"
	run alone "$here/scenario.json" --set trace.path="$work/pair.jsonl"
	column "$work/alone/requests.csv" compute_s load_s end_s first_token_s handover_s |
		awk 'NR == 2 { print $1 + $2, $3 - $4 - $5 }' >"$work/times"
	read -r ours_prefill ours_decode <"$work/times"
	row "prefill s" "${k}k, $percent % cached" "$prefill" "$ours_prefill" 5
	row "decode 128 tokens s" "${k}k, $percent % cached" "$decode" "$ours_decode" 5
	echo "$k,$percent,$prefill,$ours_prefill,$decode,$ours_decode" >>"$plot/alone.csv"
done
