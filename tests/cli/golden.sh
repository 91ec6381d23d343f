#!/bin/sh
# What people see, to the letter. After a change that is meant: MC_GOLDEN=write sh tests/cli/golden.sh (in the build folder).
. "$(dirname "$0")/../scripts/tap.sh"
. "$(dirname "$0")/lib.sh"

# golden NAME ARGUMENT...: stdout of mooncake is tests/golden/NAME. The version is not part of it.
golden()
{
	want=$MC_SRCDIR/tests/golden/$1
	shift
	(cd "$tap_dir" && "$mooncake" "$@" -q) | sed 's/mooncake [0-9][^,]*,/mooncake VERSION,/' >"$tap_dir/got"
	[ "${MC_GOLDEN-}" != write ] || cp "$tap_dir/got" "$want"
	silent "$(basename "$want")" diff -u "$want" "$tap_dir/got"
}

golden run.txt run scenario.json --set run.warmup=9s --set cluster.prefill_chunk=4K
golden run.csv run scenario.json --set conductor.policy=random --format csv
golden explain.txt run scenario.json --explain 40
golden across.txt compare scenario.json --across conductor.policy
golden coupled.txt run scenario.json --set cluster.coupled=2 --set cluster.batching=chunked --set kv.pool=local --set cluster.decode=3 \
	--set kv.vram_tokens=40K
golden pair.txt compare scenario.json scenario.json --set seed=2
tap_done
