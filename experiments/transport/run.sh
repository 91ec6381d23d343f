#!/bin/sh
# Transports on this machine: what faults do to a transfer, how near to the limit each is, and a profile that was measured
# over loopback beside transfers that no fit saw. README has what came out.
#
#     experiments/transport/run.sh BUILD [PART...]
#
# BUILD is a folder where `make check TESTS=` was run; PART faults, ratios, loopback, or all of them. Wants a quiet machine.
set -eu
LC_ALL=C
export LC_ALL
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] && [ -x "$1/mooncake-calib" ] || { sed -n '2,8s/^# \{0,1\}//p' "$0" >&2; exit 2; }
build=$(cd "$1" && pwd)
shift
MOONCAKE_PROFILE_DIR=${MOONCAKE_PROFILE_DIR:-$here/../../calib/profiles}
export MOONCAKE_PROFILE_DIR
work=$(mktemp -d)
servers=
trap '[ -z "$servers" ] || kill $servers 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 130' HUP INT TERM

# Each end on a core of its own, so that both are where they are in each run.
owner= asker=
if command -v taskset >/dev/null && [ "$(getconf _NPROCESSORS_ONLN)" -gt 1 ]; then
	owner='taskset -c 0' asker='taskset -c 1'
fi

faults() { "$build/tests/transport/fault_matrix" 2>/dev/null | sed -n 's/^matrix: //p'; }

ratios() { "$build/tests/bench/bench_transport"; }

# serve N: a server of that number; its address is $address.
serve()
{
	$owner "$build/mooncake-calib" net --serve 127.0.0.1:0 --port tcp --memory 16MiB >"$work/server$1" &
	servers="$servers $!"
	until address=$(sed -n 's/^serving \([^ ]*\): .*/\1/p' "$work/server$1") && [ -n "$address" ]; do sleep 0.1; done
}

# Memory that fits into the caches, since others' use of the machine's memory is what changes most from minute to minute.
loopback()
{
	(umask 077; head -c 32 /dev/urandom | base64 >"$work/token")
	MOONCAKE_TOKEN_FILE=$work/token
	export MOONCAKE_TOKEN_FILE
	peers=
	for n in 1 2; do
		serve $n
		peers="$peers --peer $address"
		set -- net $peers --port tcp --memory 16MiB --most 4MiB --depth 16 --samples "$work/$n"
		echo "== $n to be asked"
		$asker "$build/mooncake-calib" "$@" --budget 60s --hardware a800-x8-analytic --output "$work/$n.json" --quiet
		$asker "$build/mooncake-calib" "$@" --budget 30s --check "$work/$n.json" --quiet
	done
}

[ $# -gt 0 ] || set -- faults ratios loopback
for part; do
	case $part in
	faults | ratios | loopback) ;;
	*) echo "run.sh: no part '$part'; expected faults, ratios, loopback" >&2; exit 2 ;;
	esac
	echo "== $part"
	$part
done
