#!/bin/sh
# The engine between two hosts: two guests (run.sh), joined by a wire; one loses its power and comes back (hosts.c says how
# this script is told). Skipped, saying why, where qemu, a kernel or libibverbs is missing: `make guest-kernel` fetches a kernel.
. "$(dirname "$0")/../scripts/tap.sh"

guest=$MC_SRCDIR/tests/guest
kernel=${MC_GUEST_CACHE:-$MC_BUILDDIR/tests/guest/kernel}
program=$MC_BUILDDIR/tests/guest/test_verbs_guest
cd "$tap_dir" || exit 99

# skip_all WHY
skip_all() { echo "1..0 # SKIP $1"; exit 0; }

why=$(sh "$guest/kernel.sh" "$kernel") || skip_all "$why"
[ -x "$program" ] || skip_all 'built without libibverbs'

# host NUMBER COMMAND: its pid in $pid, its output in host.NUMBER.
host()
{
	sh "$guest/run.sh" -c "$kernel" -n 1 -m 256 -t 240 -h "$1" -j "$PWD/wire.$1" "$PWD/wire.$((3 - $1))" "$2" >"host.$1" 2>"host.$1.err" &
	pid=$!
}

# wanted NAME: until the file is there, or the asking host has ended.
wanted()
{
	while [ ! -f "$1" ]; do
		kill -0 "$asks" 2>/dev/null || return 1
		sleep 0.1
	done
}

serve="'$program' serve 10.77.0.1:7000 rxe0/1/1"
host 1 "$serve"
serves=$pid
host 2 "'$program' hosts 10.77.0.1:7000 rxe0/1/1"
asks=$pid
trap 'kill "$serves" "$asks" 2>/dev/null; wait; rm -rf "$tap_dir"' EXIT
if wanted off; then
	kill "$serves"
	wait "$serves"
	rm -f wire.1
	if wanted on; then
		host 1 "$serve"
		serves=$pid
	fi
fi
wait "$asks"
status=$?
: >quit
wait "$serves"
[ "$status" -ne 77 ] || skip_all "$(cat host.2)"
[ "$status" -eq 0 ] || not_ok 'the asking host ran to its end' "exit $status; $(tail -n 20 host.2.err)"
cat host.2 host.1 >lines
while IFS= read -r line; do
	case $line in
	'ok - '*) ok "${line#ok - }" ;;
	'not ok - '*) not_ok "${line#not ok - }" "$(tail -n 5 host.1.err)" ;;
	*) echo "# $line" ;;
	esac
done <lines
[ "$tap_n" -gt 3 ] || not_ok 'all checks were made'
tap_done
