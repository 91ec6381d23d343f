#!/bin/sh
# checks.sh BUILD_FOLDER: what verbs.sh has checked within the guest: a line "ok - NAME", "not ok - NAME" or "skip - NAME" each,
# what is not as it should be before it. Devices rxe0 and rxe1 are there, on eth0 and eth1, which a wire joins. GID 0 is the
# link-local address, over the wire to the other device; GID 1 is the IPv4 address.
build=$1
cd /tmp || exit 1

# outcome NAME COMMAND...: whether it succeeds; what it said if not.
outcome()
{
	name=$1
	shift
	if "$@" >/tmp/said 2>&1; then
		echo "ok - $name"
	else
		echo "exit $?"
		cat /tmp/said
		echo "not ok - $name"
	fi
}

# pingpong GID CLIENT_DEVICE: between rxe0 and that device.
pingpong()
{
	ibv_rc_pingpong -d rxe0 -g "$1" -n 20 -s 4096 >/tmp/server 2>&1 &
	n=50
	until ibv_rc_pingpong -d "$2" -g "$1" -n 20 -s 4096 127.0.0.1; do
		n=$((n - 1))
		[ "$n" -gt 0 ] || { cat /tmp/server; return 1; }
		sleep 0.1
	done
	wait $!
}

if command -v ibv_rc_pingpong >/dev/null; then
	outcome 'a device talks to itself' pingpong 1 rxe0
	outcome 'two devices talk over a wire' pingpong 0 rxe1
else
	echo 'skip - a device talks to itself'
	echo 'skip - two devices talk over a wire'
fi

# faults PROGRAM SUFFIX: prints lines of its own, and of the fault matrix.
faults()
{
	if [ -x "$build/tests/guest/$1" ]; then
		"$build/tests/guest/$1" >/tmp/faults 2>&1 || echo "not ok - $1: exit $?"
		sed "s/^\(not \)*ok - .*/&$2/" /tmp/faults
	else
		echo "skip - $1"
	fi
}

faults test_verbs_guest ''
# Made by `make check-guest`.
[ ! -x "$build/tests/guest/test_verbs_guest_asan" ] || faults test_verbs_guest_asan ' (address sanitizer)'

# measure: over the wire, few points, samples written.
measure()
{
	calib=$build/mooncake-calib
	echo 'a token of the tests in the guest' >token
	"$calib" net --serve 127.0.0.1:7100 --port verbs:rxe1/1/0@127.0.0.1 -T token -m 4MiB >served 2>&1 &
	until grep -q '^serving' served; do
		kill -0 $! || { cat served; return 1; }
		sleep 0.1
	done
	"$calib" net --peer 127.0.0.1:7100 --port verbs:rxe0/1/0@127.0.0.1 -T token -m 4MiB -M 64KiB -d 2 -b 5s -p 1 -q --busy-ok &&
		grep -q '^net_read,.*[0-9],bare$' samples/net-verbs.csv && grep -q '^net_write,.*[0-9],$' samples/net-verbs.csv
	said=$?
	kill -INT $!
	wait $! && return $said
}
outcome 'mooncake-calib net measures and verifies' measure
