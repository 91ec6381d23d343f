#!/bin/sh
# perf.sh [ROUNDS]: the engine over verbs beside perftest (ib_write_bw, ib_read_bw) on the same Soft-RoCE device in a guest, in
# turn, the same operation, size and number of operations under way: MB/s by the median, and their ratio. Emulated: the ratio
# says what the engine costs, the figures say nothing of a NIC. In the build folder, after `make check-guest`.
set -eu
guest=$(cd "$(dirname "$0")" && pwd)
kernel=${MC_GUEST_CACHE:-$PWD/tests/guest/kernel}
program=$PWD/tests/guest/test_verbs_guest
command -v ib_write_bw >/dev/null || { echo 'perf.sh: ib_write_bw is not installed (Debian: perftest)'; exit 77; }
[ -x "$program" ] || { echo "perf.sh: no $program; expected to be in the build folder"; exit 77; }
sh "$guest/kernel.sh" "$kernel"
exec sh "$guest/run.sh" -c "$kernel" -t "${MC_PERF_LIMIT:-600}" "sh '$guest/perf_guest.sh' '$program' '${1:-5}'"
