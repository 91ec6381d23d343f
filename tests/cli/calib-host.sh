#!/bin/sh
# mooncake-calib host on the processor: samples that mooncake fit takes for the hardware's figures.
. "$(dirname "$0")/../scripts/tap.sh"
calib=$MC_BUILDDIR/mooncake-calib
samples=$tap_dir/samples/host.csv
node=$MC_SRCDIR/calib/profiles/a800-x8-analytic.json

# host ARGUMENT...: what it says, then its exit code.
host()
{
	"$calib" host --backend cpu --memory 101MB --budget 0.3s --samples "$tap_dir/samples" "$@" 2>&1
	echo "exit $?"
}

speaks "a profile of nothing" "--hardware" host -o "$tap_dir/p.json"
speaks "an unknown backend" "exit 2" host --backend none
host >"$tap_dir/said"
speaks "it measures" "exit 0" cat "$tap_dir/said"
speaks "plain memory is called so" "# no GPU: pinned memory and a device's are plain memory" cat "$samples"
for op in copy_host copy_h2d copy_d2h; do
	speaks "$op" "$op,,,,,,,,,,16777216,," cat "$samples"
done
speaks "one thread alone" ",one-thread" cat "$samples"
before=$(wc -l <"$samples")
host >/dev/null
silent "a second run goes on from there" [ "$(wc -l <"$samples")" -ge "$before" ]

# Flags depend on what else runs here; the fit is of the same samples without those.
sed '/^copy/s/,[a-z-]*$/,/' "$samples" >"$tap_dir/host.csv"
"$MC_BUILDDIR/mooncake" fit "$tap_dir/host.csv" -H "$node" -o "$tap_dir/p.json" >"$tap_dir/said" 2>&1
speaks "fit tells the figures" "hardware.h2d_bandwidth" cat "$tap_dir/said"
speaks "and states them as measured" "[measured: dram_bandwidth of 1 x " cat "$tap_dir/p.json"

# The topology of a machine that is a folder.
mkdir -p "$tap_dir/root/sys/class/infiniband/mlx5_0"
speaks "topology" '"cpu:0": [["mlx5_0", "shm"], []]' "$calib" topology --root "$tap_dir/root"
tap_done
