# Mean engine time of a request's prefill.
echo "trace,system,published_s,compute_s" >"$plot/prefill.csv"
values | while read -r t published; do
	run "$t" "$experiments/base.json" --set trace.path="$(recorded "$t")"
	ours=$(metrics "$t" prefill.compute_s_mean)
	row "prefill GPU time s" "$t, compute_s" "$published" "$ours" 10
	row "prefill GPU time s" "$t, gpu_time_s" "$published" "$(metrics "$t" prefill.gpu_time_s_mean)"
	echo "$t,mooncake,$published,$ours" >>"$plot/prefill.csv"
done
