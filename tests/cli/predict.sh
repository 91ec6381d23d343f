#!/bin/sh
# mooncake predict: sums over operators, in three forms; mistakes exit with 2.
. "$(dirname "$0")/../scripts/tap.sh"
. "$(dirname "$0")/lib.sh"
node=$MC_SRCDIR/calib/profiles/a800-x8-analytic.json
profile=$tap_dir/made.json

# curve OP FIXED DIM FROM TO SECONDS SECONDS
curve() { printf '{"op": "%s", "fixed": {%s}, "axes": [{"dim": "%s", "at": [%s, %s]}], "seconds": [%s, %s]}' "$@"; }
heads='"heads": 8, "kv_heads": 1, "head_dim": 128'
{
	sed 's/"name": "[^"]*"/"name": "made"/; $d' "$node"
	echo ', "operators": {"device": "made up", "dtype": "bf16", "date": "2025-01-01", "source": "a test", "curves": ['
	curve gemm '"n": 1280, "k": 8192' rows 1 32 1e-4 1e-4 && echo ,
	curve gemm '"n": 8192, "k": 1024' rows 1 32 1e-4 1e-4 && echo ,
	curve gemm '"n": 7168, "k": 8192' rows 1 32 2e-4 2e-4 && echo ,
	curve gemm '"n": 8192, "k": 3584' rows 1 32 1e-4 1e-4 && echo ,
	curve gemm '"n": 16032, "k": 8192' rows 1 32 2e-4 2e-4 && echo ,
	curve all_reduce '"ranks": 8' bytes 16384 1048576 2e-5 4e-5 && echo ,
	curve attention_decode "$heads, \"context\": 2048" seqs 1 32 1e-4 1e-4 && echo ,
	curve host_step '' seqs 1 32 1e-2 1e-2 && echo ']}}'
} >"$profile"
predict() { "$mooncake" predict --hardware "$profile" --model llama3-70b --tensor-parallel 8 "$@"; }

# 80 layers of 5e-4 s of products, 1e-4 of attention and two all-reduces, the logits, the host; norms and
# the like are counted: below a millisecond.
predict --decode 16x2048 --format csv >"$tap_dir/out" 2>"$tap_dir/err"
silent 'a prediction says nothing on stderr' cat "$tap_dir/err"
speaks 'an iteration is the sum of its parts' yes awk -F, '
	$2 == "total" { total = $7 } $2 != "total" && NR > 1 { sum += $7 } $2 == "all_reduce" { r = $7 }
	END { d = total - 80 * 6e-4 - r - 2e-4 - 1e-2; s = (total - sum) / total
		print(d >= 0 && d < 1e-3 && s < 1e-4 && s > -1e-4 && r > 160 * 2e-5 && r < 160 * 4e-5 ? "yes" : d " " s) }' "$tap_dir/out"
speaks 'a part says how it was got' 'decode 16x2048,norm,operators,160,0,counted' cat "$tap_dir/out"
predict --decode 33x2048 >"$tap_dir/out"
speaks 'what lies outside is told' '80 outside of the range' cat "$tap_dir/out"
speaks 'the text names model, degree and profile' 'llama3-70b on 8 GPUs of made' cat "$tap_dir/out"
predict --decode 1x2048 --decode 2x2048 --format json >"$tap_dir/out"
speaks 'JSON holds them all' 2 grep -c '"prediction": "decode [12]x2048"' "$tap_dir/out"
{
	printf '# mooncake-samples: 1.0\n# dtype: bf16\n'
	echo op,rows,context,seqs,n,k,heads,kv_heads,head_dim,ranks,bytes,depth,seconds,spread_ratio,repeats,flag
	echo step,1,2047,16,,,,,,,,,0.07,,,
	echo step,1,2047,8,,,,,,,,,0.07,,,drift
} >"$tap_dir/points.csv"
predict --points "$tap_dir/points.csv" >"$tap_dir/out"
speaks 'points stand beside what was measured' 'step 16x1 after 2047: ' cat "$tap_dir/out"
speaks 'and how far they are' 'measured 0.07 s, -' cat "$tap_dir/out"
speaks 'flagged points are left out' 1 grep -c measured "$tap_dir/out"

# Whole times fitted for the same node leave its operators as they are.
predict --decode 16x2048 --format csv >"$tap_dir/out"
"$mooncake" fit "$MC_SRCDIR/calib/samples/a800-x8-fast25-fig14.csv" --hardware "$profile" -o "$tap_dir/both.json" >/dev/null
"$mooncake" predict --hardware "$tap_dir/both.json" --model llama3-70b -t 8 --decode 16x2048 --format csv >"$tap_dir/again"
silent 'fit keeps the operators of a profile' cmp "$tap_dir/out" "$tap_dir/again"

# The A800's chip is the A100's, its links are slower: only collectives take longer.
for p in a100 a800; do
	"$mooncake" predict --hardware "$MC_SRCDIR/calib/profiles/$p-x8-vidur.json" --model llama3-70b -t 8 --prefill 8192 --format csv
done >"$tap_dir/out"
speaks 'committed profiles differ in collectives alone' yes awk -F, '
	BEGIN { n = 0 } $2 == "total" { total[n++] = $7 } $2 == "all_reduce" { reduce[n] = $7 }
	END { d = (total[1] - total[0]) / (reduce[1] - reduce[0])
		print(n == 2 && reduce[1] > reduce[0] && d > 0.999 && d < 1.001 ? "yes" : n " " d) }' "$tap_dir/out"

# Models of the public tables at every degree; an H100 takes less than an A100, and what is guessed is said to be.
for model in llama2-70b llama3-70b llama3-8b; do
	for t in 1 2 4 8; do
		for p in a100-x8-vidur h100-x8-vllm; do
			"$mooncake" predict -H "$MC_SRCDIR/calib/profiles/$p.json" -m $model -t $t -p 8192 -p 8192:4096 -d 32x2048 -f csv
		done
	done
done >"$tap_dir/out"
speaks 'the public profiles hold their models' yes awk -F, '
	$2 == "total" { total[n++] = $7 }
	END { for (i = 0; i < n; i += 6) for (k = i; k < i + 3; k++) faster += total[k] > total[k + 3]
		print(n == 72 && faster == 36 ? "yes" : n " " faster) }' "$tap_dir/out"
"$mooncake" predict -H "$MC_SRCDIR/calib/profiles/h100-x8-vllm.json" -m llama3-70b -t 8 -p 8192 >"$tap_dir/out"
speaks 'a guess says how far others are off' 'interpolated  of shapes left out: median' cat "$tap_dir/out"

refused 'an operator without a curve is named' 'attention_prefill of rows 100, context 0' 2 predict --prefill 100
refused 'a profile without operators' 'operators: ' 2 "$mooncake" predict --hardware "$node" --model llama3-70b -d 1x1
refused 'nothing to predict' 'nothing to predict' 2 predict
refused 'no model' '--model is missing' 2 "$mooncake" predict --hardware "$profile" --decode 1x1
refused 'no such model' 'llama9' 2 "$mooncake" predict --hardware "$profile" --model llama9 --decode 1x1
for spec in x 1x 1 1x0 0x1 1x2:1 1x-1 2Gx1 1x2x3 ''; do
	refused "--decode '$spec'" 'BATCHxCONTEXT' 2 predict --decode "$spec"
done
for spec in 100:100 100:0:0 100: : 2x 2x:1 100:1:2:3 100::5 1e30 1Gx2; do
	refused "--prefill '$spec'" 'TOKENS[:CACHED[:CHUNK]]' 2 predict --prefill "$spec"
done
tap_done
