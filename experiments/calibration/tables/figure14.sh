# LLaMA3-70B on eight A800, one request alone: figure 14's prefills (0 and 95 % of the prompt cached) and decodes, by every
# stack, chunk and all-reduce. A prediction is a sum, so the all-reduces of one source are added to the rest of another.
stacks=$(either "vidur vllm trtllm sglang" vidur)
sources=$(either "vidur nccl vllm-graph vllm-eager sglang-graph sglang-eager trtllm" vidur)
chunks=$(either "2048 8192 0" 8192)
sed '/^#/d' "$here/../figure14/published.txt" >"$work/published"

# what CHUNK...: the options of predict for all rows.
what()
{
	while read -r k percent prefill decode; do
		for chunk in "$@"; do
			awk -v n=$((k * 1024)) -v percent="$percent" -v chunk="$chunk" 'BEGIN {
				printf "--prefill %d:%d", n, n * percent / 100
				print chunk ? ":" chunk : ""
			}'
		done
		[ "$percent" != 0 ] || echo "--decode 1x$((k * 1024 + 64))"
	done <"$work/published"
}
# shellcheck disable=SC2086 # a list of chunks
specs=$(what $chunks)

# reduces NODE SOURCE: $work/NODE-SOURCE.parts, a prediction with the all-reduces of that source. The rest of it is any.
reduces()
{
	if [ "$2" = vidur ]; then
		predict "$1-$2" --hardware "$1-x8-vidur" --model llama3-70b --tensor-parallel 8 $specs
		return
	fi
	reduce a100 "$2"
	cp "$work/reduce-a100-$2.csv" "$work/reduces.csv"
	[ "$1" = a100 ] || slower "$work/reduce-a100-$2.csv" >"$work/reduces.csv"
	if [ ! -e "$work/few-decode.csv" ]; then
		compute a100 vllm
		for part in compute prefill decode; do
			cp "$work/$part-a100-vllm.csv" "$work/few-$part.csv"
		done
		only few-compute '(n == 1024 || n == 1536 || n >= 7168 && n <= 16384) && (k == 1024 || k == 3584 || k == 8192)'
		only few-prefill 'heads == 8 && group == 8'
		only few-decode 'heads == 8 && group == 8'
	fi
	fit reduces a100 "$work"/few-*.csv "$work/reduces.csv"
	predict "$1-$2" --hardware "$work/reduces.json" --model llama3-70b --tensor-parallel 8 $specs
}

: >"$work/parts"
for s in $stacks; do
	predict "stack-$s" --hardware "$(stack a100 "$s")" --model llama3-70b --tensor-parallel 8 $specs
	sed "s/^/stack	$s	/" "$work/stack-$s.parts" >>"$work/parts"
done
for s in $sources; do
	for node in a100 a800; do
		reduces $node "$s"
		grep '	all_reduce	' "$work/$node-$s.parts" | sed "s/^/$node	$s	/" >>"$work/parts"
	done
done

# compose: lines node, stack, source, chunk, row, kind, published, ours, and of ours the products, attention, all-reduce,
# other operators and load.
awk -F'\t' -v OFS='\t' -v chunks="$chunks" -v stacks="$stacks" -v sources="$sources" '
	FILENAME == ARGV[1] {
		split($0, f, " ")
		ktokens[++rows] = f[1]; cached[rows] = f[2]; prefill[rows] = f[3]; decode[rows] = f[4]
		next
	}
	{ seconds[$1, $2, $3, $4] = $7 }
	$1 == "stack" && $4 ~ /^(qkv|out|gate_up|down|logits)$/ { products[$2, $3] += $7 }
	function out(node, s, source, chunk, r, kind, what, times, load, published) {
		reduce = times * seconds[node, source, what, "all_reduce"]
		rest = times * (seconds["stack", s, what, "total"] - seconds["stack", s, what, "all_reduce"])
		gemm = times * products[s, what]
		attention = times * seconds["stack", s, what, "attention"]
		print node, s, source, chunk, ktokens[r] "k " cached[r] "%", kind, published, rest + reduce + load, gemm, attention,
			reduce, rest - gemm - attention, load
	}
	END {
		ns = split(stacks, stack, " "); nr = split(sources, from, " "); nc = split(chunks, chunk, " ")
		for (node = 100; node <= 800; node += 700)
		for (c = 1; c <= nc; c++)
		for (s = 1; s <= ns; s++)
		for (q = 1; q <= nr; q++)
		for (r = 1; r <= rows; r++) {
			n = 1024 * ktokens[r]
			p = int(n * cached[r] / 100)
			what = "prefill " n ":" p (chunk[c] ? ":" chunk[c] : "")
			out("a" node, stack[s], from[q], chunk[c] ? chunk[c] : "all", r, "prefill", what, 1, p * 327680 / 128e9, prefill[r])
			if (c == 1)
				out("a" node, stack[s], from[q], "-", r, "decode", "decode 1x" n + 64, 128, 0, decode[r])
		}
	}' "$work/published" "$work/parts" >"$work/composed"

# chosen KIND CHUNK: the chosen combination, row by row.
chosen()
{
	printf 'row\tpublished s\tours s\terror %%\tproducts\tattention\tall-reduce\tother\tload\n'
	awk -F'\t' -v OFS='\t' -v kind="$1" -v chunk="$2" '
		$1 == "a800" && $2 == "vidur" && $3 == "vidur" && $4 == chunk && $6 == kind {
			printf "%s\t%.3f\t%.3f\t%+.1f", $5, $7, $8, 100 * ($8 / $7 - 1)
			for (i = 9; i <= 13; i++)
				printf "\t%.3f", $i
			print ""
		}' "$work/composed"
}
chosen prefill 8192 | table "Figure 14, prefill as decided: Vidur's operators, NCCL, 8 x A800, chunks of 8,192; parts in s"
chosen decode - | table "Figure 14, 128 iterations of decode as decided; parts in s"

# combinations NODE KIND CHUNK: errors in %, a line a combination.
combinations()
{
	printf 'operators\tall-reduce'
	awk '{ printf "\t%sk %s%%", $1, $2 }' "$work/published"
	printf '\tmedian\n'
	awk -F'\t' -v node="$1" -v kind="$2" -v chunk="$3" '
		function say() { if (line) { m = asort_median(); printf "%s\t%.1f\n", line, m } }
		function asort_median(i, j, t) {
			for (i = 2; i <= n; i++)
				for (j = i; j > 1 && size[j] < size[j - 1]; j--) { t = size[j]; size[j] = size[j - 1]; size[j - 1] = t }
			return n % 2 ? size[(n + 1) / 2] : (size[n / 2] + size[n / 2 + 1]) / 2
		}
		$1 == node && $6 == kind && $4 == chunk {
			if ($2 "\t" $3 != combination) { say(); combination = line = $2 "\t" $3; n = 0 }
			e = 100 * ($8 / $7 - 1)
			size[++n] = e < 0 ? -e : e
			line = line sprintf("\t%+.1f", e)
		}
		END { say() }' "$work/composed"
}
for node in a800 a100; do
	called=$(echo "$node" | tr a A)
	for chunk in $chunks; do
		of="chunks of $chunk"
		[ "$chunk" != 0 ] || { of="whole prompts" && chunk=all; }
		combinations $node prefill "$chunk" | table "Figure 14, prefill, $called, $of: errors in %; median of their size"
	done
	combinations $node decode - | table "Figure 14, decode, $called: errors in %; median of their size"
done

# What the published times leave for products and attention, and what these reach: % of the GPU's peak (312 TFLOP/s).
# Operations of a GPU's eighth: 2 for each of 68.45e9 weights of products and each new token; attention 4 x 1,024 x 80 for
# each pair of a new token and one that it sees.
{
	printf 'row\tpublished s\tall-reduce\tother, load\tneeded\tif hidden'
	for s in $stacks; do printf '\t%s' "$s"; done
	for s in $stacks; do printf '\t%s products\tattention' "$s"; done
	echo
	awk -F'\t' -v stacks="$stacks" '
		$1 != "a800" || $3 != "vidur" || $4 != 8192 || $6 != "prefill" { next }
		{
			if (!($5 in known)) {
				known[$5] = 1
				row[++rows] = $5
				split($5, part, /[k %]+/)
				n = 1024 * part[1]; p = int(n * part[2] / 100); m = n - p
				dense[$5] = 2 * 68.45e9 / 8 * m
				pairs[$5] = 4 * 1024 * 80 * (m * p + m * (m + 1) / 2)
				published[$5] = $7
			}
			products[$2, $5] = $9; attention[$2, $5] = $10
			if ($2 == "vidur") { reduce[$5] = $11; rest[$5] = $12 + $13 }
		}
		function percent(operations, seconds) { return seconds > 0 ? sprintf("%.0f", 100 * operations / seconds / 312e12) : "-" }
		END {
			ns = split(stacks, s, " ")
			for (i = 1; i <= rows; i++) {
				r = row[i]
				all = dense[r] + pairs[r]
				printf "%s\t%.3f\t%.3f\t%.3f\t%s\t%s", r, published[r], reduce[r], rest[r],
					percent(all, published[r] - reduce[r] - rest[r]), percent(all, published[r] - rest[r])
				for (j = 1; j <= ns; j++)
					printf "\t%s", percent(all, products[s[j], r] + attention[s[j], r])
				for (j = 1; j <= ns; j++)
					printf "\t%s\t%s", percent(dense[r], products[s[j], r]), percent(pairs[r], attention[s[j], r])
				print ""
			}
		}' "$work/composed"
} | table "Figure 14, prefill: % of peak that products and attention would need, and what they reach (A800, chunks of 8,192)"

# Decode: what an iteration takes beyond the context, and with it. KV of a token on a GPU: 40,960 B.
{
	printf 'times\tms at 8k\tproducts\tattention\tall-reduce\tother\tms more at 128k\tGB/s of KV\n'
	awk -F'\t' '$1 != "a800" || $6 != "decode" || $5 !~ / 0%/ || $3 != "vidur" { next }
		function line(name, a, b, gemm, attention, reduce, other) {
			printf "%s\t%.1f\t%s\t%s\t%s\t%s\t%.2f\t%.0f\n", name, a, gemm, attention, reduce, other, b - a,
				122880 * 40960 / (b - a) / 1e6
		}
		$5 == "8k 0%" {
			published = $7 / 128e-3
			at[$2] = $8 / 128e-3
			parts[$2] = sprintf("%.1f %.1f %.1f %.1f", $9 / 128e-3, $10 / 128e-3, $11 / 128e-3, $12 / 128e-3)
		}
		$5 == "128k 0%" {
			if (!told++)
				line("published", published, $7 / 128e-3, "-", "-", "-", "-")
			split(parts[$2], p, " ")
			line($2, at[$2], $8 / 128e-3, p[1], p[2], p[3], p[4])
		}' "$work/composed"
} | table "Figure 14, an iteration of decode: ms (A800, NCCL of Vidur's table); KV read at 2,039 GB/s at best"
