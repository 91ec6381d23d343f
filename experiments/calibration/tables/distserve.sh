# OPT-13B and 66B on A100: the times that DistServe fitted to measurements of its own engine and of vLLM, where they were
# measured (prompts up to 2,048 tokens, contexts likewise). OPT is given as a shape of the same weights and operations.
coefficients=$(either "distserve vllm" vllm)

# shape MODEL LAYERS HIDDEN HEADS FFN: a config.json. FFN is 8/3 of hidden, that the GPUs can share.
shape()
{
	mkdir -p "$work/$1"
	cat >"$work/$1/config.json" <<-EOF
		{"model_type": "llama", "num_hidden_layers": $2, "hidden_size": $3, "num_attention_heads": $4,
		"intermediate_size": $5, "vocab_size": 50272, "torch_dtype": "float16"}
	EOF
}
shape opt-13b 40 5120 40 13648
shape opt-66b 64 9216 72 24576

# known ENGINE: "model GPUs pa pb pc sa sb sc la lb lc threshold" a line: prefill, decode of small and of large batches.
known()
{
	awk '
		/"facebook\// { split($1, m, /["\/]/); model = m[3] }
		/^ *"[0-9]+": / { gsub(/[^0-9]/, "", $1); gpus = $1; n = split("", at) }
		/threshold/ { gsub(/[^0-9]/, "", $2); threshold = $2 }
		/"(prefill|decoding_smallbs|decoding_largebs)"/ { gsub(/[":]/, "", $1); what = $1; i = 0; next }
		/^ *-?[0-9]/ { gsub(",", "", $1); value[what, ++i] = $1 }
		what == "decoding_largebs" && i == 3 {
			printf "%s %s", model, gpus
			split("prefill decoding_smallbs decoding_largebs", part, " ")
			for (p = 1; p <= 3; p++)
				for (j = 1; j <= 3; j++)
					printf " %s", value[part[p], j]
			print " " threshold
			what = ""
		}' "$data/distserve_profiler-a100-80g.$1.json"
}

{
	for n in 128 256 512 1024 2000; do
		echo "--prefill $n"
	done
	for b in 1 8 32 128; do
		for c in 256 512 1024; do
			echo "--decode ${b}x$c"
		done
	done
} >"$work/asked"
: >"$work/points"
for engine in $coefficients; do
	known "$engine" >"$work/known"
	[ -s "$work/known" ] || fail "distserve: no coefficients of $engine"
	while read -r model gpus rest; do
		[ "$gpus" != 3 ] || continue # the vocabulary is not shared by three
		# shellcheck disable=SC2046 # a list of options
		[ -e "$work/$model-$gpus.parts" ] ||
			predict "$model-$gpus" --hardware "$(stack a100 vllm)" --model "$work/$model/config.json" \
				--tensor-parallel "$gpus" $(cat "$work/asked")
		awk -F'\t' -v OFS='\t' -v engine="$engine" -v model="$model" -v gpus="$gpus" -v rest="$rest" '
			BEGIN { split(rest, k, " ") }
			$2 != "total" { next }
			{ split($1, word, "[ x]") }
			word[1] == "prefill" { of = "prompt"; batch = 1; n = word[2]; ms = k[1] + k[2] * n + k[3] * n * n }
			word[1] == "decode" {
				of = "decode"; batch = word[2]; n = word[3]
				o = batch < k[10] ? 3 : 6
				ms = k[o + 1] + k[o + 2] * batch * n + k[o + 3] * batch
			}
			{ print engine, model, gpus, of, batch, n, ms, 1e3 * $5, 100 * (1e3 * $5 / ms - 1) }' \
			"$work/$model-$gpus.parts" >>"$work/points"
	done <"$work/known"
done
for engine in $coefficients; do
	{
		printf 'model\tGPUs\tof\tpoints\tmedian %%\tp95 %%\tworst %%\n'
		awk -F'\t' -v OFS='\t' -v e="$engine" '$1 == e { print $2 " " $3 " " $4, $9 }' "$work/points" | errors |
			awk -F'\t' -v OFS='\t' '{ split($1, of, " "); print of[1], of[2], of[3], $2, $3, $4, $5 }'
	} | table "DistServe, OPT on A100, engine $engine: size of errors; worst with its sign"
	{
		printf 'model\tGPUs\tof\tbatch\ttokens\tpublished ms\tours ms\terror %%\n'
		awk -F'\t' -v OFS='\t' -v e="$engine" '$1 == e {
			print $2, $3, $4, $5, $6, sprintf("%.1f", $7), sprintf("%.1f", $8), sprintf("%+.1f", $9)
		}' "$work/points"
	} | table "DistServe, OPT on A100, engine $engine, every point"
done
