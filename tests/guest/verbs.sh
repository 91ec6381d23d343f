#!/bin/sh
# RDMA verbs without a NIC: Soft-RoCE in a guest (run.sh). One boot, as booting takes longest; each check in it prints one
# line of TAP. Skipped, saying why, where qemu or a kernel is missing: `make guest-kernel` fetches one.
. "$(dirname "$0")/../scripts/tap.sh"

guest=$MC_SRCDIR/tests/guest
kernel=${MC_GUEST_CACHE:-$MC_BUILDDIR/tests/guest/kernel}
cd "$tap_dir" || exit 99

# skip_all WHY
skip_all() { echo "1..0 # SKIP $1"; exit 0; }

why=$(sh "$guest/kernel.sh" "$kernel") || skip_all "$why"
why=$(sh "$guest/run.sh" -c "$kernel" -t 420 "sh '$guest/checks.sh' '$MC_BUILDDIR'" 2>stderr)
case $? in
77) skip_all "$why" ;;
0)
	printf '%s\n' "$why" >lines
	while IFS= read -r line; do
		case $line in
		'ok - '*) ok "${line#ok - }" ;;
		'skip - '*) skip "${line#skip - }" 'not installed, or not built' ;;
		'not ok - '*) not_ok "${line#not ok - }" ;;
		*) echo "# $line" ;;
		esac
	done <lines
	;;
*) not_ok 'the guest ran to its end' "$(printf '%s\n' "$why"; tail -n 40 stderr)" ;;
esac
tap_done
