#!/bin/sh
# mooncake-calib net: who serves and who measures, over loopback; what can go wrong is told by name.
. "$(dirname "$0")/../scripts/tap.sh"
calib=$MC_BUILDDIR/mooncake-calib
samples=$tap_dir/samples/net-tcp.csv
echo "a token of the tests" >"$tap_dir/token"
echo "another token of the tests" >"$tap_dir/other"
unset MOONCAKE_TOKEN_FILE
pids=
trap 'kill $pids 2>/dev/null; rm -rf "$tap_dir"' EXIT

# serve N: a server, whose address goes to $tap_dir/address.N; its process is the last of $pids.
serve()
{
	"$calib" net --serve 127.0.0.1:0 --port tcp --token-file "$tap_dir/token" --memory 4MiB \
		>"$tap_dir/serve.$1" 2>"$tap_dir/serve.$1.err" &
	pids="$pids $!"
	i=0
	until grep -q serving "$tap_dir/serve.$1" || [ $i -ge 200 ]; do
		i=$((i + 1))
		sleep 0.05
	done
	sed 's/^serving \([^ ]*\): .*/\1/' "$tap_dir/serve.$1" >"$tap_dir/address.$1"
}
address() { cat "$tap_dir/address.$1"; }

# net ARGUMENT...: measures with the right token; what it says, then its exit code.
net()
{
	"$calib" net --port tcp --token-file "$tap_dir/token" --memory 4MiB --budget 0.2s --samples "$tap_dir/samples" "$@" 2>&1
	echo "exit $?"
}

serve 1
serve 2
one=$(address 1) two=$(address 2)
speaks "a server tells where it is" "serving 127.0.0.1:" cat "$tap_dir/serve.1"

speaks "neither side" "expected --serve ADDRESS on one side" "$calib" net
speaks "no token" "To make one" "$calib" net --peer "$one" -s "$tap_dir/none"
speaks "a token too short" "expected 16 to 128" net --peer "$one" --token-file /dev/null
speaks "the wrong token" "does it have the same token?" net --peer "$one" --token-file "$tap_dir/other"
speaks "nobody there: named" "127.0.0.1:1: " net --peer 127.0.0.1:1
speaks "nobody there: exit 1" "exit 1" net --peer 127.0.0.1:1
speaks "a peer twice" "is given twice" net --peer "$one" --peer "$one"
speaks "no address" "expected HOST:PORT" net --peer here
speaks "no such transport" "exit 2" net --peer "$one" --port tpc
speaks "a port that is taken" "cannot listen at $one" net --serve "$one"
speaks "every interface" "expected the address of one" net --serve 0.0.0.0:0
speaks "more memory than there is" "is more than is free" net --serve 127.0.0.1:0 --memory 5TB
speaks "no such memory" "expected host or cuda" net --peer "$one" --memory-kind none
speaks "two transports for one profile" "needs --port, of one transport (as in --port tcp)" "$calib" net --peer "$one" -T "$tap_dir/token" \
	--memory 4MiB --hardware "$MC_SRCDIR/calib/profiles/a800-x8-analytic.json" -o "$tap_dir/p.json"
speaks "a gate of nothing" "--require is for --check" net --peer "$one" --require 5%,15%
speaks "a profile of nothing" "--output needs --hardware" net --peer "$one" -o "$tap_dir/p.json"
speaks "more than a peer has" "$one: --most is more than" net --peer "$one" --peer "$two" --memory 64MiB --most 8MiB
silent "and no samples of all that" [ ! -e "$samples" ]

net --peer "$one" --busy-ok >"$tap_dir/said"
speaks "it measures" "exit 0" cat "$tap_dir/said"
speaks "by size" "net_read        64 B " cat "$tap_dir/said"
speaks "a plain socket beside it" ",bare" cat "$samples"
speaks "who and where" "# device: tcp 127.0.0.1 to 127.0.0.1" cat "$samples"
points=$(grep -c '^net_' "$samples")
grep '^net_' "$samples" >"$tap_dir/first"
speaks "a later run goes on, with another peer" ", $points were there" net --peer "$one" --peer "$two" --busy-ok --budget 0.3s
grep '^net_' "$samples" | head -n "$points" >"$tap_dir/kept"
silent "and keeps what was there" cmp "$tap_dir/first" "$tap_dir/kept"
net --peer "$one" --peer "$two" --busy-ok --most 64 --depth 1 --budget 30s --precision 1 -s "$tap_dir/small" --port tcp:127.0.0.2 >/dev/null
speaks "many to one" "net_read,,,,,,,,,,64,1,65536,2,2," cat "$tap_dir/small/net-tcp.csv"
speaks "all ports" "net_read,,,,,,,,,,64,1,65536,1,2," cat "$tap_dir/small/net-tcp.csv"

# A prediction of nothing in particular, held against points at random.
profile=$MC_SRCDIR/calib/profiles/a800-x8-analytic.json
speaks "no such profile" "none.json" net --peer "$one" --check "$tap_dir/none.json"
speaks "a gate that is none" "expected MEDIAN,P95" net --peer "$one" --check "$profile" --require 5
net --peer "$one" --busy-ok --check "$profile" --points 12 --budget 20s --precision 1 --require 0%,0% >"$tap_dir/said"
speaks "predictions beside measurements" "net_write" cat "$tap_dir/said"
speaks "and the calibration's points" "points of the calibration take" cat "$tap_dir/said"
speaks "a gate that is missed: 1" "exit 1" cat "$tap_dir/said"

# A peer that dies in the middle.
"$calib" net --port tcp -T "$tap_dir/token" -m 4MiB -b 60s -p 1 -s "$tap_dir/cut" --busy-ok --peer "$one" --peer "$two" >"$tap_dir/said" 2>&1 &
pid=$!
i=0
until grep -qs ',2,1,0' "$tap_dir/cut/net-tcp.csv" || [ $i -ge 200 ]; do
	i=$((i + 1))
	sleep 0.05
done
set -- $pids
kill -KILL "$2"
wait $pid
rc=$?
silent "a dead peer: exit 1" [ $rc -eq 1 ]
speaks "a dead peer: named" "$two: " cat "$tap_dir/said"
speaks "a dead peer: what was measured is kept" "net_" cat "$tap_dir/cut/net-tcp.csv"

# Ctrl-C, of both sides. (A shell's background commands ignore SIGINT; TERM is the same.)
"$calib" net --port tcp -T "$tap_dir/token" -m 4MiB -b 60s -p 1 -s "$tap_dir/cut2" --peer "$one" >"$tap_dir/said" 2>&1 &
pid=$!
i=0
until grep -qs "^net_" "$tap_dir/cut2/net-tcp.csv" || [ $i -ge 200 ]; do
	i=$((i + 1))
	sleep 0.05
done
kill -TERM $pid
wait $pid
rc=$?
silent "interrupted: 130" [ $rc -eq 130 ]
speaks "interrupted: told" "interrupted; what was measured is kept" cat "$tap_dir/said"
kill -TERM "$1"
wait "$1"
rc=$?
silent "a server that is stopped: 0" [ $rc -eq 0 ]

# A GPU's memory over TCP, or no GPU at all.
speaks "memory that is not there: 77" "exit 77" net --serve 127.0.0.1:0 --memory-kind cuda
tap_done
