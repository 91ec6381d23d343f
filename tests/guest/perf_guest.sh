#!/bin/sh
# perf_guest.sh PROGRAM ROUNDS: in the guest, for perf.sh.
program=$1 rounds=$2
cd /tmp || exit 1

# theirs TEST BYTES DEPTH MIB: MB/s (of 1e6) of perftest.
theirs()
{
	n=$(($4 * 1048576 / $2))
	"$1" -d rxe0 -x 1 -F -s "$2" -t "$3" -n "$n" >server 2>&1 &
	tries=100
	until "$1" -d rxe0 -x 1 -F -s "$2" -t "$3" -n "$n" 127.0.0.1 >client 2>&1; do
		tries=$((tries - 1))
		[ "$tries" -gt 0 ] || { cat server client >&2; return 1; }
		sleep 0.2
	done
	wait $!
	# Columns: bytes, iterations, peak and average MiB/s.
	awk -v s="$2" '$1 == s { printf "%.1f\n", $4 * 1.048576 }' client
}

median() { sort -n "$1" | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

echo 'perf: operation | bytes | under way | perftest MB/s | engine MB/s | ratio by the median of each'
for size in 65536 1048576; do
	# Operations under way; MiB of each run.
	[ "$size" -eq 65536 ] && depth=32 || depth=8
	for op in write read; do
		: >t
		: >e
		for r in $(seq "$rounds"); do
			theirs "ib_${op}_bw" "$size" "$depth" 48 >>t || exit 1
			"$program" bench "$op" "$size" "$depth" 48 rxe0/1/1@127.0.0.1 >>e || exit 1
		done
		a=$(median t) b=$(median e)
		echo "perf: $op | $size | $depth | $a | $b | $(awk -v a="$a" -v b="$b" 'BEGIN { printf "%.3f", b / a }') ($(tr '\n' ' ' <t)/ $(tr '\n' ' ' <e))"
	done
done
