#!/bin/sh
# mooncake fit: the committed profile comes out byte for byte; mistakes exit with 2 and leave no file.
. "$(dirname "$0")/../scripts/tap.sh"
mooncake=$MC_BUILDDIR/mooncake
samples=$MC_SRCDIR/calib/samples/a800-x8-fast25-fig14.csv
want=$MC_SRCDIR/calib/profiles/a800-x8.json
node=$MC_SRCDIR/calib/profiles/a800-x8-analytic.json
out=$tap_dir/a800-x8.json

# refused NAME WORD RC COMMAND...: exits with RC, says WORD on stderr and nothing on stdout, and writes no file.
refused()
{
	name=$1 word=$2 rc=$3
	shift 3
	rm -f "$out"
	"$@" >"$tap_dir/stdout" 2>"$tap_dir/stderr"
	got=$?
	if [ $got -eq "$rc" ] && grep -qF -- "$word" "$tap_dir/stderr" && [ ! -s "$tap_dir/stdout" ] && [ ! -e "$out" ]; then
		ok "$name"
	else
		not_ok "$name" "exit $got, expected $rc and '$word': $(cat "$tap_dir/stderr")"
	fi
}

"$mooncake" fit "$samples" --hardware "$node" -o "$out" >"$tap_dir/stdout" 2>"$tap_dir/stderr"
silent "the committed profile is what fit writes" cmp "$out" "$want"
speaks "the errors are told" "prefill 4.02 %" cat "$tap_dir/stdout"
silent "nothing on stderr" cat "$tap_dir/stderr"
"$mooncake" fit "$samples" --hardware "$node" --name a800-x8 2>/dev/null >"$tap_dir/piped"
silent "the same on stdout" cmp "$tap_dir/piped" "$want"
speaks "a date can be given" '"date": "2030-01-01"' "$mooncake" fit "$samples" -H "$node" --date 2030-01-01

fit() { "$mooncake" fit "$@" --hardware "$node" -o "$out"; }
sed '8s/8192/8k/' "$samples" >"$tap_dir/bad.csv"
refused "a bad number has its place" "bad.csv:8: total_tokens:" 2 fit "$tap_dir/bad.csv"
grep -v ^decode "$samples" >"$tap_dir/half.csv"
refused "prefill alone is not enough" "decode samples" 2 fit "$tap_dir/half.csv"
awk -F, -v OFS=, '/^prefill/ { $6 /= 10 } { print }' "$samples" >"$tap_dir/fast.csv"
refused "faster than the hardware" "measured.llama3-70b-tp8.prefill" 2 fit "$tap_dir/fast.csv"
refused "no samples" "none.csv" 2 fit "$tap_dir/none.csv"
refused "no hardware" "--hardware" 2 "$mooncake" fit "$samples" -o "$out"
refused "unknown hardware" "b900" 2 "$mooncake" fit "$samples" -H b900 -o "$out"
refused "nowhere to write" "none/x.json" 1 "$mooncake" fit "$samples" -H "$node" -o "$tap_dir/none/x.json"
tap_done
