#!/bin/sh
# kernels/bench as its users meet it: what it says of itself, wrong use, absent hardware, and a short run of every operator.
. "$(dirname "$0")/../scripts/tap.sh"
. "$MC_SRCDIR/tests/cli/lib.sh"
bench=$MC_BUILDDIR/kernels/bench

# Small shapes, little memory, a moment for each case: figures of no worth, but all of them.
short() { "$bench" --threads 2 --model tiny --tokens 32 --prefix 0,64 --batch 1,2 --context 128 --block-tokens 16 \
	--seconds 0.002 --memory 24MB --cache 1MB "$@"; }

# said NAME WORD COMMAND...: exits with 0 and says WORD on stdout.
said()
{
	name=$1 word=$2
	shift 2
	if "$@" >"$tap_dir/stdout" 2>"$tap_dir/stderr" && grep -qF -- "$word" "$tap_dir/stdout" && [ ! -s "$tap_dir/stderr" ]; then
		ok "$name"
	else
		not_ok "$name" "exit $?, expected '$word': $(cat "$tap_dir/stdout" "$tap_dir/stderr")"
	fi
}

# Few calls: a program with cuBLAS takes most of a second to start.
said '--help comes before mistakes' 'Usage: kernels/bench' "$bench" --nonsense --help
said 'an abbreviated --help' 'Usage: kernels/bench' "$bench" --he
said '--version' 'mooncake-sim' "$bench" --version
said '--list has models' 'small-24.6m' "$bench" --list
ops=$(sed -n '/^operators/,/^backends/s/^  \([a-z_]*\) .*/\1/p' "$tap_dir/stdout")
refused 'an unknown option is met with the nearest' "did you mean '--threads'" 2 "$bench" --treads
refused 'an unknown operator is met with the nearest' 'did you mean "gemm"' 2 "$bench" --op norm,gem
refused 'an unknown model is met with the nearest' 'did you mean "tiny"?; --list' 2 "$bench" --model tiney
refused 'an unknown backend is met with those there are' 'expected cpu|cuda' 2 "$bench" --backend gpu
refused 'a value is wanted' 'needs a value' 2 "$bench" --op
refused 'an argument is wrong' 'unexpected argument' 2 "$bench" gemm
refused 'a list is of numbers' '--batch' 2 "$bench" --batch 1,,2
refused 'a range is held' 'expected 1 to 8' 2 "$bench" --tp 9
refused 'ranks must divide the model' '--tp' 2 "$bench" --model tiny --tp 3
refused 'a number format of another backend' 'bf16: backend cpu computes in f32' 2 "$bench" --dtype bf16
refused 'no such device' 'there are' 2 "$bench" --device 63

"$bench" --backend cuda --op norm --model tiny --tokens 8 --batch 1 --seconds 0.001 --memory 8MB >"$tap_dir/stdout" 2>"$tap_dir/stderr"
case $? in
0) skip 'without a GPU it says so and exits with 77' 'there is one' ;;
77) if grep -q 'kernels/bench: cuda: [^c]' "$tap_dir/stderr" && [ ! -s "$tap_dir/stdout" ]; then
	ok 'without a GPU it says so and exits with 77'
else not_ok 'without a GPU it says so and exits with 77' "$(cat "$tap_dir/stdout" "$tap_dir/stderr")"; fi ;;
*) not_ok 'without a GPU it says so and exits with 77' "exit $?: $(cat "$tap_dir/stderr")" ;;
esac

# Every operator, two ranks so that there is something to reduce; then what each of them says.
short --tp 2 --format csv >"$tap_dir/csv" 2>"$tap_dir/stderr" ||
	echo "exit $?: $(cat "$tap_dir/stderr")" >>"$tap_dir/csv"
columns=op,shape,dtype,copies,samples,runs,seconds,spread,floor_s,of_limit,bound,flops,bytes,gflop_per_s,gb_per_s,plain_s,of_plain,cached
is_header() { [ "$(sed 1q "$tap_dir/csv")" = "$columns" ] || sed 1q "$tap_dir/csv"; }
silent 'the columns of the CSV' is_header

# figures OP: its rows that lack a positive, finite time, work or rate; or that there are none.
figures()
{
	awk -F , -v op="$1" '
		NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
		$1 != op { next }
		{
			sub(/"[^"]*"/, "shape")
			rows++
			for (name in at)
				if (name ~ /^(seconds|floor_s|bytes|gb_per_s|of_limit|samples)$/ && !($(at[name]) + 0 > 0))
					print $0 ": " name
		}
		/nan|inf/ { print }
		END { if (!rows) print op ": no figures" }' "$tap_dir/csv"
}
speaks 'an operator without figures is found' 'no figures' figures nothing
for op in $ops; do
	silent "figures of $op" figures "$op"
done

# A context that does not fit beside one that does: even its indices don't.
short --op gemm,attention_decode --batch 2,4096 --context 128,1048576 >"$tap_dir/text" 2>&1
for line in 'measured: product' 'floor: the larger' 'bar: gemm beside a plain CBLAS call' 'bar: decode attention' \
	'attention_decode .* left out: needs'; do
	if grep -q "^$line" "$tap_dir/text"; then ok "the text says '$line'"; else
		not_ok "the text says '$line'" "$(cat "$tap_dir/text")"
	fi
done

# The permission to link CUDA is not GSL's to give.
if command -v ldd >/dev/null; then
	silent 'no GSL in a program that may link CUDA' sh -c 'ldd "$1" | grep gsl; :' sh "$bench"
else
	skip 'no GSL in a program that may link CUDA' 'no ldd'
fi

# Interrupted: what is done is there, and it says so.
"$bench" --threads 1 --model small-3.5m --op gemm --seconds 30 --precision 0 --memory 24MB --cache 1MB \
	>"$tap_dir/stdout" 2>"$tap_dir/stderr" &
pid=$!
tries=0
while ! grep -q '^operator' "$tap_dir/stdout" && [ $tries -lt 200 ]; do
	sleep 0.05
	tries=$((tries + 1))
done
kill -TERM $pid
wait $pid
rc=$?
if [ $rc -eq 1 ] && grep -q 'interrupted: [0-9]* of [0-9]* cases' "$tap_dir/stderr" && grep -q '^gemm' "$tap_dir/stdout"; then
	ok 'interrupted, it prints what it has'
else
	not_ok 'interrupted, it prints what it has' "exit $rc: $(cat "$tap_dir/stdout" "$tap_dir/stderr")"
fi
tap_done
