#!/bin/sh
# mooncake-calib cpu and check as their users meet them: moments of measuring, resumed, interrupted, fitted, held against steps.
. "$(dirname "$0")/../scripts/tap.sh"
. "$(dirname "$0")/lib.sh"
calib=$MC_BUILDDIR/mooncake-calib
dir=$tap_dir/samples
file=$dir/cpu-tiny.csv

# Small shapes, one thread, whatever else the machine does: figures of no worth, but all of them.
cpu() { "$calib" cpu --model tiny --threads 1 --max-tokens 32 --max-batch 4 --max-context 64 --block-tokens 16 --busy-ok \
	--precision 0.5 --samples "$dir" "$@"; }
# So many points and no more: what the machine does meanwhile changes their times alone.
corners() { cpu --levels 0 --budget 20s "$@"; }
check() { "$calib" check --model tiny --threads 1 --max-tokens 32 --max-batch 4 --max-context 64 --block-tokens 16 --busy-ok \
	--precision 0.5 --samples "$dir" "$@"; }
rows() { grep -c '^[a-z_]*,' "$file"; }

passes '--help of all' "$calib" --help
passes '--help of a command' "$calib" cpu --help
refused 'no such command' "did you mean 'cpu'" 2 "$calib" cpus
refused 'no such option' "did you mean '--budget'" 2 cpu --budgets 1s
refused 'no value' 'needs a value' 2 cpu --budget
refused 'a bad value' '--precision' 2 cpu --precision 2
refused 'limits in full' 'expected N from 2 to 1048576' 2 cpu --max-tokens 1
refused 'no operand is wanted' 'options only' 2 cpu it
refused 'an operand is wanted' 'PROFILE' 2 check
refused 'no such model' 'did you mean "tiny"' 2 "$calib" cpu --model tiney --samples "$dir"
refused 'tokens beyond the context' '--max-context' 2 cpu --max-tokens 128
refused 'a bad gate' 'MEDIAN,P95' 2 check p.json --require 5

# The corners; a profile is fitted at once.
corners --output "$tap_dir/p.json" >"$tap_dir/out" 2>"$tap_dir/err" || not_ok 'cpu' "exit $?: $(cat "$tap_dir/err")"
visits() { awk -F, '/^step,/ && $NF == "" { n[$2 "," $3 "," $4]++ } END { for (p in n) print n[p] }' "$file" | sort -u; }
speaks 'every point is visited in each round' '=3=' echo "=$(visits)="
speaks 'what was measured is told' 'points measured' cat "$tap_dir/out"
speaks 'layers and steps are held against sums' 'sum against a step' cat "$tap_dir/out"
ops() { cut -d, -f1 "$file" | sort -u | tr '\n' ' '; }
speaks 'every operator is there' ' embed gemm host_step kv_scatter layer norm ' ops
speaks 'and attention, and steps' ' rope sample step swiglu ' ops
speaks 'the head says of what' '# model: {' cat "$file"
speaks 'the profile has operators' '"attention_decode"' cat "$tap_dir/p.json"
passes 'the profile predicts' "$mooncake" predict --hardware "$tap_dir/p.json" --model "$dir/tiny/config.json" --decode 2x32 --prefill 16

(cd "$dir/tiny" && corners --model ./config.json --budget 0.1s --samples "$tap_dir/named") >"$tap_dir/out" 2>&1
speaks "a config.json's folder names it, whatever the way there" 'named/cpu-tiny.csv: ' cat "$tap_dir/out"

# A rerun goes on.
before=$(rows)
cpu --levels 1 --budget 20s >"$tap_dir/out" 2>&1 || not_ok 'cpu again' "$(cat "$tap_dir/out")"
often() { awk -F, '/^step,/ && $NF == "" { n[$2 "," $3 "," $4]++ } END { for (p in n) if (n[p] > 3) print p, n[p] }' "$file"; }
silent 'a rerun skips what was visited three times' often
speaks 'and says so' "of which $((before - 1)) were there before" cat "$tap_dir/out"
refused 'samples of another device' '--fresh' 2 corners --threads 2
corners --fresh >"$tap_dir/out" 2>&1
speaks '--fresh begins anew' 'of which 0 were there before' cat "$tap_dir/out"

# check: steps that were not in the fit.
passes 'check' check "$tap_dir/p.json" --points 4 --budget 20s --require 1000,1000
check "$tap_dir/p.json" --points 4 --budget 20s --seed 2 --require 0,0 >"$tap_dir/out" 2>"$tap_dir/err"
speaks 'a gate that is missed exits with 1' 'exit 1.' echo "exit $?."
speaks 'and says by how much' 'required are' cat "$tap_dir/err"
speaks 'prefills and decodes are told apart' 'decode ' cat "$tap_dir/out"
speaks 'how fast the machine is now is told' 'as when it was calibrated' grep 'times as long' "$tap_dir/out"
refused 'no such profile: before any time is spent' 'nowhere.json' 2 check "$tap_dir/nowhere.json" --budget 1000s
refused 'nor on one that is not of this model' "another type than the curves'" 2 check a100-x8-vidur --budget 1000s
refused 'nor with hardware that is not there' 'nowhere.json' 2 cpu --budget 1000s --hardware "$tap_dir/nowhere.json"
refused 'nor for a profile that cannot be written' 'cannot write' 1 cpu --budget 1000s --output "$tap_dir/nowhere/p.json"

# Ctrl-C: what was measured is kept.
rm -f "$file"
"$calib" cpu --model tiny --threads 1 --max-tokens 32 --max-batch 4 --max-context 64 --block-tokens 16 --busy-ok --budget 1min \
	--precision 0.0001 --samples "$dir" >"$tap_dir/out" 2>"$tap_dir/err" &
pid=$!
for i in $(seq 100); do
	grep -q '^step,' "$file" 2>/dev/null && break
	sleep 0.1
done
kill -INT $pid
wait $pid
speaks 'an interrupted run exits with 130' 'exit 130.' echo "exit $?."
speaks 'and says what is kept' 'are kept' cat "$tap_dir/err"
speaks 'and keeps it' 'step' tail -n 1 "$file"

# GPUs: without one it says why; on the CUDA sources' shim all of it runs.
refused 'gpu: a profile wants a node' '--hardware' 2 "$calib" gpu --output "$tap_dir/g.json"
refused 'gpu: a bad format' 'bf16 or f16' 2 "$calib" gpu --dtype f32
refused 'gpu: a share that cannot be' 'heads' 2 "$calib" gpu --model tiny --tensor-parallel 3
"$calib" gpu --model tiny --budget 0.01s --samples "$dir" >"$tap_dir/out" 2>"$tap_dir/err"
case $? in
0) skip 'gpu: without one it exits with 77' 'there is one' ;;
77) speaks 'gpu: without one it exits with 77' 'mooncake-calib: ' cat "$tap_dir/err" ;;
*) not_ok 'gpu: without one it exits with 77' "$(cat "$tap_dir/err")" ;;
esac
shim=$MC_BUILDDIR/tests/shim/calib
if [ -x "$shim" ]; then
	"$shim" gpu --model tiny --tensor-parallel 2 --max-tokens 8 --max-batch 2 --max-context 16 --block-tokens 16 --layers 3 \
		--levels 0 --budget 20s --precision 0.5 --samples "$dir" >"$tap_dir/out" 2>&1 || not_ok 'gpu' "$(cat "$tap_dir/out")"
	speaks 'gpu: a point is measured' 'points measured' cat "$tap_dir/out"
	speaks 'gpu: of the share' '"heads":2,' cat "$dir/gpu-tiny-tp2.csv"
	file=$dir/gpu-tiny-tp2.csv
	speaks 'gpu: every operator is there' ' embed gemm host_step kv_scatter layer norm ' ops
	speaks 'gpu: and steps' ' rope sample step swiglu ' ops
else
	skip 'gpu: on the shim' 'it was not built'
fi
tap_done
