#!/bin/sh
# hardware_times: a run whose prefill and decode times are sums over operators, what it says of them, and mistakes.
. "$(dirname "$0")/../scripts/tap.sh"
. "$(dirname "$0")/lib.sh"
MOONCAKE_PROFILE_DIR=$MC_SRCDIR/calib/profiles
export MOONCAKE_PROFILE_DIR
run() { "$mooncake" run -q "$scenario" --set hardware=a100-x8-vidur "$@"; }

run >"$tap_dir/a" && run --set hardware_times=operators >"$tap_dir/b"
speaks 'a run takes its times from operators' '0' sh -c 'cmp "$1" "$2" && echo 0' cmp "$tap_dir/a" "$tap_dir/b"
speaks 'it says whose they are' 'operators of a100-x8-vidur: NVIDIA A100-SXM4-80GB, bf16, 2024-05; tensor parallel 8' \
	grep '^times' "$tap_dir/a"
speaks 'and their errors' 'held-out error, median/p95: gemm ' cat "$tap_dir/a"
speaks 'it says which it left, and how often' 'note: attention_prefill measured at context 0 to 4,032; beyond in ' \
	cat "$tap_dir/a"
speaks 'JSON has both' 'yes' sh -c 'tr -d " \n" <"$1" | grep -q "\"times\":{\"from\":\"operators\",.*\"operators\":\[{\"operator\":\"gemm\"" &&
	echo yes' json "$(run --format json >"$tap_dir/json" && echo "$tap_dir/json")"
run --set cluster.prefill_chunk=512 >"$tap_dir/b"
speaks 'the chunk matters, and is not called ignored' 0 grep -c '^ignored: cluster.prefill_chunk' "$tap_dir/b"
speaks 'it is told' 'chunks of 512' cat "$tap_dir/b"
speaks 'other chunks take other times' 'differ' cmp "$tap_dir/a" "$tap_dir/b"
passes 'prefill groups use them' run --set cluster.prefill_group=2
passes 'coupled nodes use them, prefill first' run --set kv.pool=off --set cluster.coupled=2
passes 'coupled nodes use them, chunked' run --set kv.pool=local --set cluster.coupled=2 --set cluster.batching=chunked
speaks 'why operators are passed over is told' 'times       analytic; operators of a100-x8-vidur are not enough: no curve' \
	run --set model=qwen2.5-14b
refused 'operators that are not there are named' 'no curve gives the time of attention_prefill of rows 64, context 0, seqs 1, heads 5' 2 \
	run --set model=qwen2.5-14b --set hardware_times=operators
refused 'so are measured times' 'hardware_times: is measured, and a100-x8-vidur has no such times of llama3-70b' 2 \
	run --set hardware_times=measured
refused 'bad value' 'expected one of auto, measured, operators, analytic' 2 run --set hardware_times=best
passes 'capacity uses them' "$mooncake" capacity -q "$scenario" --set hardware=a100-x8-vidur --metric ttft_s.p90 --keep 30 --precision 0.5
tap_done
