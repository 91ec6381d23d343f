#!/bin/sh
# mooncake fit import: a table becomes a file of samples, what contradicts it is told; mistakes exit with 2 and leave no file.
. "$(dirname "$0")/../scripts/tap.sh"
export MOONCAKE_PROFILE_DIR="$MC_SRCDIR/calib/profiles"
mooncake=$MC_BUILDDIR/mooncake
out=$tap_dir/samples.csv
table=$tap_dir/gemm.csv

{
	echo m,n,k,latency_ms
	# The last takes less time than any other, and than the GPU can.
	printf '%s\n' 4096,8192,8192,2.2 64,8192,8192,0.1 128,8192,8192,0.12 64,8192,8192,0.11 8192,8192,8192,0.09
} >"$table"

# refused NAME WORD ARGUMENT...: exits with 2, says WORD on stderr, and writes no file.
refused()
{
	name=$1 word=$2
	shift 2
	rm -f "$out"
	"$mooncake" fit import "$@" -o "$out" >"$tap_dir/stdout" 2>"$tap_dir/stderr"
	got=$?
	if [ $got -eq 2 ] && grep -qF -- "$word" "$tap_dir/stderr" && [ ! -s "$tap_dir/stdout" ] && [ ! -e "$out" ]; then
		ok "$name"
	else
		not_ok "$name" "exit $got: $(cat "$tap_dir/stderr")"
	fi
}

cat >"$tap_dir/want" <<'END'
# mooncake-samples: 1.1
# device: A800
# software: x 1.0
# dtype: bf16
# date: 2025-01-02
# source: gemm.csv
op,rows,context,seqs,n,k,heads,kv_heads,head_dim,ranks,bytes,depth,slice,peers,nics,seconds,spread_ratio,repeats,flag
gemm,64,,,8192,8192,,,,,,,,,,0.000105,0.0476,2,
gemm,128,,,8192,8192,,,,,,,,,,0.00012,,1,
gemm,4096,,,8192,8192,,,,,,,,,,0.0022,,1,
gemm,8192,,,8192,8192,,,,,,,,,,9e-05,,1,unphysical
END
"$mooncake" fit import auto "$table" -o "$out" --hardware a800-x8 --device A800 \
	--software "x 1.0" --date 2025-01-02 >"$tap_dir/stdout" 2>"$tap_dir/told"
silent 'as samples' diff "$tap_dir/want" "$out"
silent 'nothing on stdout' cat "$tap_dir/stdout"
speaks 'rows and points are told' '5 rows of the tables, 4 points' cat "$tap_dir/told"
speaks 'with what is wrong' '1 points flagged: unphysical' cat "$tap_dir/told"
speaks 'and where' 'gemm.csv:6: gemm in 9e-05 s' cat "$tap_dir/told"
"$mooncake" fit import aic-gemm "$table" 2>"$tap_dir/told" >"$out"
speaks 'without hardware its neighbours tell' '8192,8192,8192,,,,,,,,,,9e-05,,1,dip' sed 's/gemm,8192,,,/8192,/' "$out"
if command -v zstd >/dev/null; then
	zstd -q "$table" -o "$tap_dir/gemm.csv.zst"
	"$mooncake" fit import auto "$tap_dir/gemm.csv.zst" 2>/dev/null | sed 's/csv\.zst/csv/' >"$tap_dir/unpacked"
	silent 'compressed tables are the same' cmp "$out" "$tap_dir/unpacked"
else
	skip 'compressed tables are the same' 'zstd is not installed'
fi
"$mooncake" fit import auto "$table" "$table" --where m=64 >"$out" 2>"$tap_dir/told"
speaks 'tables add up' '10 rows of the tables, 1 points' cat "$tap_dir/told"
speaks 'what --where leaves out is told' '6 rows left out: not chosen by --where' cat "$tap_dir/told"
printf '%s\n' ' RDMA_Write BW Test' ' TX depth        : 2' ' #bytes #iterations BW peak[Gb/sec] BW average[Gb/sec] MsgRate[Mpps]' \
	' 1000000 5000 17 16 0.1' ' 4000000 5000 17 16 0.1' >"$tap_dir/perf.txt"
"$mooncake" fit import auto "$tap_dir/perf.txt" >"$out" 2>"$tap_dir/told"
speaks "perftest's output is read" 'net_write,,,,,,,,,,4000000,2,4000000,1,1,0.004,,1,' cat "$out"
speaks 'the importers are listed' 'aic-gemm' "$mooncake" list importers
speaks 'help' 'usage: mooncake fit import' "$mooncake" fit import --help

refused 'an unknown format' 'did you mean aic-gemm' aic-gemn "$table"
refused 'no table' 'expected a format' auto
refused 'a table that is not there' 'none.csv' auto "$tap_dir/none.csv"
refused 'no such column' 'names no column' auto "$table" --where x=1
refused 'no row left' 'no row is left of 5' auto "$table" --where m=1
refused 'no such type' '--dtype fp8' auto "$table" --dtype fp8
refused 'no such hardware' 'none-x8' auto "$table" --hardware none-x8
sed '3s/0.1/x/' "$table" >"$tap_dir/bad.csv"
refused 'a bad number has its place' 'bad.csv:3: latency_ms:' auto "$tap_dir/bad.csv"
tap_done
