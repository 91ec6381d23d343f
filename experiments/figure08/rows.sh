# Mean engine time of a request's prefill, and how many times that of Mooncake the others take.
echo "trace,system,published_s,compute_s" >"$plot/prefill.csv"
values | while read -r t of published; do
	# shellcheck disable=SC2046 # options
	measure "$of" "$experiments/base.json" --set trace.path="$(recorded "$t")" $(system "$of")
	ours=$(metrics "$of" prefill.compute_s_mean)
	echo "$t,$of,$published,$ours" >>"$plot/prefill.csv"
	if [ "$of" = mooncake ]; then
		row "prefill GPU time s" "$t, compute_s" "$published" "$ours" 10
		row "prefill GPU time s" "$t, gpu_time_s" "$published" "$(metrics "$of" prefill.gpu_time_s_mean)"
		base="$published $ours"
		continue
	fi
	row "prefill GPU time s" "$t, $of, compute_s" "$published" "$ours"
	ratio=$(echo "$base $published $ours" | awk '{ print $3 / $1, $4 / $2 }')
	known=
	[ "$t $of" != "conversation chunked" ] || known=known
	row "times Mooncake's" "$t, $of" "${ratio% *}" "${ratio#* }" 10 percent $known
done
