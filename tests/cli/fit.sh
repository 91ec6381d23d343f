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

# Samples of operators.
awk 'BEGIN {
	print "# mooncake-samples: 1.0\n# device: d\n# dtype: bf16\n# date: 2026-02-03\n# source: made up"
	print "op,rows,context,seqs,n,k,heads,kv_heads,head_dim,ranks,bytes,depth,seconds,spread_ratio,repeats,flag"
	for (m = 1; m <= 8192; m *= 2)
		printf "gemm,%d,,,8192,1024,,,,,,,%.6g,,1,%s\n", m, 2e-5 + 8e-8 * m, m == 64 ? "dip" : ""
	for (m = 1; m <= 4096; m *= 2)
		printf "norm,%d,,,8192,,,,,,,,%.6g,,1,\n", m, 4e-6 + 4e-8 * m
}' >"$tap_dir/ops.csv"
grep -v norm "$tap_dir/ops.csv" >"$tap_dir/gemm.csv"
grep -v gemm "$tap_dir/ops.csv" >"$tap_dir/norm.csv"
"$mooncake" fit "$tap_dir/ops.csv" -H "$node" -o "$out" >"$tap_dir/stdout" 2>"$tap_dir/stderr"
speaks "samples of operators give curves" '"op": "norm"' cat "$out"
speaks "and their errors" 'gemm                   13       1 ' cat "$tap_dir/stdout"
speaks "with more left out, too" '"left_out": "second"' cat "$out"
silent "nothing on stderr" cat "$tap_dir/stderr"
"$mooncake" fit "$tap_dir/norm.csv" "$tap_dir/gemm.csv" -H "$node" -n a800-x8 >"$tap_dir/piped" 2>/dev/null
silent "two files of them are one" cmp "$tap_dir/piped" "$out"
"$mooncake" fit "$samples" -H "$out" -o "$tap_dir/both.json" >/dev/null
speaks "either kind keeps the other" '"operators"' cat "$tap_dir/both.json"
"$mooncake" fit "$tap_dir/ops.csv" -H "$want" -n both -o "$tap_dir/both.json" >/dev/null
speaks "in both directions" '"llama3-70b-tp8"' cat "$tap_dir/both.json"
sed 's/bf16/f32/' "$tap_dir/norm.csv" >"$tap_dir/f32.csv"
refused "files of two types" "one dtype" 2 fit "$tap_dir/gemm.csv" "$tap_dir/f32.csv"
cp "$samples" "$tap_dir/fit.csv"
refused "files of two kinds" "fit.csv" 2 fit "$tap_dir/gemm.csv" "$tap_dir/fit.csv"
sed 's/,[0-9.e-]*,,1,/,1e-9,,1,/' "$tap_dir/norm.csv" >"$tap_dir/fast.csv"
refused "all faster than the hardware" "no sample is left" 2 fit "$tap_dir/fast.csv"

# Transfers between nodes: 2 GB/s, 1 ms of start-up, nothing else; one that is flagged, both ways at once.
awk 'BEGIN {
	print "# mooncake-samples: 1.1\n# device: e\n# dtype: f32\n# date: 2026-02-04"
	print "op,rows,context,seqs,n,k,heads,kv_heads,head_dim,ranks,bytes,depth,slice,peers,nics,seconds,spread_ratio,repeats,flag"
	for (b = 1024; b <= 1e9; b *= 4)
		for (d = 1; d <= 4; d++)
			printf "net_read,,,,,,,,,,%d,%d,65536,1,1,%.9g,,1,\n", b, d, 1e-3 + d * b / 2e9
	print "net_write,,,,,,,,,,4096,1,65536,1,1,1,,1,bare\nnet_write,,,,,,,,,,4096,1,65536,1,1,1,,1,noisy\nnet_both,,,,,,,,,,4000000,2,65536,1,1,3e-3,,1,"
}' >"$tap_dir/net.csv"
"$mooncake" fit "$tap_dir/net.csv" -H "$node" -o "$out" >"$tap_dir/stdout" 2>"$tap_dir/stderr"
silent "transfers: nothing on stderr" cat "$tap_dir/stderr"
speaks "transfers give the network of a profile" '"net_startup_s": 0.001,' cat "$out"
speaks "its bandwidth is a share of the line rate" '"net_efficiency": 0.08,' cat "$out"
speaks "its source says so" '[measured: net_ keys of e, 2026-02-04]' cat "$out"
speaks "what was fitted is told" 'network: 40 points, 40 of them reads, 1 flagged, over 1 NIC' cat "$tap_dir/stdout"
speaks "a node of more NICs than were measured is told of" "node has 4 NICs, measured were 1" cat "$tap_dir/stdout"
speaks "and its errors" 'every second size 16 0.0%' tr -s ' ' <"$tap_dir/stdout"
speaks "nothing against them" '=0=' echo "=$(grep -c 'quieter machine' "$tap_dir/stdout")="
sed 's/^\(net_read.*6,[1-4],65536,.*,\)$/\1busy/' "$tap_dir/net.csv" >"$tap_dir/busy.csv"
speaks "of a busy machine they say so" 'quieter machine' "$mooncake" fit "$tap_dir/busy.csv" -H "$node" -o "$tap_dir/busy.json"
speaks "and of what was not" 'both ways: duplex alone fitted 1 ' tr -s ' ' <"$tap_dir/stdout"
"$mooncake" fit "$tap_dir/net.csv" "$tap_dir/gemm.csv" -H "$out" -o "$tap_dir/both.json" >"$tap_dir/stdout"
speaks "transfers and operators in one" '"op": "gemm"' cat "$tap_dir/both.json"
silent "are told of once" sh -c 'grep -o "\[measured: net_ keys of e, 2026-02-04\]" "$1" | sed 1d' - "$tap_dir/both.json"
speaks "a report draws them" 'net_read ' "$mooncake" fit --report "$tap_dir/report.html" "$out" "$tap_dir/net.csv"
"$mooncake" fit --report "$tap_dir/report.html" "$out" "$tap_dir/net.csv" >"$tap_dir/stdout" 2>&1
speaks "with errors of what a fit did not see" 'every second size 16 0.0%' tr -s ' ' <"$tap_dir/stdout"
speaks "in the page, too" 'every second size</td>' cat "$tap_dir/report.html"
speaks "but not what went without the engine" 'net_write 0 0 0 0 1 0' sh -c '"$@" | tr -s " "' - "$mooncake" fit --report \
	"$tap_dir/report.html" "$out" "$tap_dir/net.csv"
sed '10,$d' "$tap_dir/net.csv" >"$tap_dir/few.csv"
refused "transfers of one size" 'few.csv: holds 4 reads and writes' 2 fit "$tap_dir/few.csv"
speaks "with operators they are told of" 'network: 4 points' fit "$tap_dir/few.csv" "$tap_dir/gemm.csv"

# Whole iterations: what they take beyond the sum of the operators is kept, and predictions have it.
mkdir "$tap_dir/tiny"
echo '{"model_type": "llama", "num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 1,
	"num_key_value_heads": 1, "intermediate_size": 64, "vocab_size": 64, "torch_dtype": "bfloat16"}' >"$tap_dir/tiny/config.json"
awk -v model="$tap_dir/tiny/config.json" 'BEGIN {
	print "# mooncake-samples: 1.0\n# device: d\n# dtype: bf16\n# date: 2026-02-03\n# model: " model
	print "op,rows,context,seqs,n,k,heads,kv_heads,head_dim,ranks,bytes,depth,seconds,spread_ratio,repeats,flag"
	for (m = 1; m <= 8; m++) {
		for (n = 64; n <= 192; n += 64)
			printf "gemm,%d,,,%d,64,,,,,,,1e-5,,1,\n", m, n
		for (c = 1; c <= 4096; c *= 8) {
			printf "attention_decode,,%d,%d,,,1,1,64,,,,1e-5,,1,\n", c, m
			printf "step,1,%d,%d,,,,,,,,,%s,,1,%s\n", c - 1, m, m == 8 ? "9" : "3e-4", m == 8 ? "drift" : ""
		}
	}
}' >"$tap_dir/whole.csv"
"$mooncake" fit "$tap_dir/whole.csv" -H "$node" -o "$out" >"$tap_dir/stdout"
speaks "whole iterations give gaps" '"gaps"' cat "$out"
speaks "their points and what is left out are told" yes awk '
	$1 == "tiny" && $3 == "step" && $4 == 35 && $5 == 5 { row = 1 } row && /decode: \+1[89][0-9.]* us, up to 7/ { say = 1 }
	END { print say ? "yes" : "no" }' "$tap_dir/stdout"
"$mooncake" predict -H "$out" -m "$tap_dir/tiny/config.json" --decode 3x100 --format csv >"$tap_dir/predicted"
speaks "and predictions have them" yes awk -F, '$2 == "total" { print($7 > 2.97e-4 && $7 < 3.03e-4 ? "yes" : $7) }' "$tap_dir/predicted"
speaks "as a part of their own" "step_gap,gaps,1,0,curve," cat "$tap_dir/predicted"
sed '/^# model/d' "$tap_dir/whole.csv" >"$tap_dir/nameless.csv"
speaks "without a model's name they are left out, and told" "40 layers and steps" fit "$tap_dir/nameless.csv"
sed 's/^# model.*/# model: llama9/' "$tap_dir/whole.csv" >"$tap_dir/nameless.csv"
refused "a model that nobody knows" "model: " 2 fit "$tap_dir/nameless.csv"

# The committed profiles of public tables, from them (tens of seconds with sanitizers).
name="the tables give the committed profiles"
if [ ! -d "${MOONCAKE_DATA:-/nonexistent}/kernels" ]; then
	skip "$name" "MOONCAKE_DATA has no kernels"
elif [ "${MC_LIGHT:-0}" = 1 ] || nm "$mooncake" 2>/dev/null | grep -q '__[at]san_init'; then
	skip "$name" "left to a plain build"
else
	sh "$MC_SRCDIR/calib/fit-public.sh" "$mooncake" "$MOONCAKE_DATA" "$tap_dir" >"$tap_dir/stdout" 2>&1
	for p in a100-x8-vidur a800-x8-vidur h100-x8-vllm; do
		cat "$tap_dir/$p.json" >>"$tap_dir/given"
		cat "$MC_SRCDIR/calib/profiles/$p.json" >>"$tap_dir/kept"
	done
	silent "$name" cmp "$tap_dir/given" "$tap_dir/kept"
fi
tap_done
