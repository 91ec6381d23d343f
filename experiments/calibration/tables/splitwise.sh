# LLaMA2-70B on A100 and H100, tensor parallel over 2, 4 and 8: Splitwise's prompts of 128 to 8,192 tokens, batches of 1 to
# 64 and decodes, by the chosen tables, others, and whatever profile is committed. Left out: batch 64 over 2 GPUs, which did
# not fit: its published times are below those of batch 4.
for gpu in $(either "a100 h100" a100); do
	chosen=vidur
	[ $gpu = a100 ] || chosen=vllm
	others=
	[ $gpu = h100 ] || others=$(either "vllm trtllm sglang" "")
	others="$others $(committed $gpu | grep -vx "$chosen" | tr '\n' ' ')"
	: >"$work/points"
	for s in $chosen $others; do
		for t in 2 4 8; do
			import points splitwise_perf_model.csv.zst --where model=llama2-70b --where hardware=$gpu-80gb \
				--where tensor_parallel=$t
			predict answers --hardware "$(stack $gpu $s)" --model llama2-70b --tensor-parallel $t --points "$work/points.csv"
			# step SEQSxROWS after CONTEXT
			awk -F'\t' -v OFS='\t' -v s=$s -v t=$t '
				$2 == "all_reduce" { reduce = $5 }
				$2 == "total" {
					split($1, word, "[ x]")
					if (t == 2 && word[2] == 64)
						next
					print s, t, word[3] == 1 ? "decode" : "prompt", word[2], word[3], word[5], $6, $5, reduce, 100 * ($5 / $6 - 1)
				}' "$work/answers.parts" >>"$work/points"
		done
	done
	called=$(echo $gpu | tr ah AH)
	{
		printf 'operators\tof\tGPUs\tpoints\tmedian %%\tp95 %%\tworst %%\n'
		for s in $chosen $others; do
			awk -F'\t' -v OFS='\t' -v s=$s '$1 == s { print $3 " " $2, $10 }' "$work/points" | errors |
				awk -F'\t' -v OFS='\t' -v s=$s '{ split($1, of, " "); print s, of[1], of[2], $2, $3, $4, $5 }'
		done
	} | table "Splitwise, LLaMA2-70B on $called: size of errors; worst with its sign"
	{
		printf 'GPUs\tof\tbatch\ttokens\tafter\tmeasured ms\tours ms\tall-reduce\terror %%\n'
		awk -F'\t' -v OFS='\t' -v s=$chosen '$1 == s {
			printf "%s\t%s\t%s\t%s\t%s\t%.1f\t%.1f\t%.1f\t%+.1f\n", $2, $3, $4, $5, $6, 1e3 * $7, 1e3 * $8, 1e3 * $9, $10
		}' "$work/points" | sort -t'	' -k1,1g -k2,2r -k3,3g -k4,4g -k5,5g
	} | table "Splitwise, LLaMA2-70B on $called, every point, by $chosen"
done
