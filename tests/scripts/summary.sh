#!/bin/sh
# summary.sh [DIR|FILE.trs]...: count the results that `make check` left in DIR (default: here), print the logs of
# what failed, and close with one line: N passed, N failed, N skipped. Fails when anything failed or nothing ran.
[ $# -gt 0 ] || set -- .
results=$(find "$@" -name 'mooncake-sim-*' -prune -o -name '*.trs' -print | sort)
[ -n "$results" ] || {
	echo "summary.sh: no results in $*; expected the .trs files of 'make check'" >&2
	echo '0 passed, 0 failed, 0 skipped'
	exit 1
}
for trs in $(grep -lE '^:test-result: *(FAIL|ERROR|XPASS)' $results); do
	echo "==== ${trs%.trs}"
	sed -n 's/^:test-result: *\(\(FAIL\|ERROR\|XPASS\).*\)/\1/p' "$trs"
	[ ! -f "${trs%.trs}.log" ] || { echo '---- the end of its log'; tail -n 60 "${trs%.trs}.log"; }
done
awk '
	FNR == 1 { failed_here = 0 }
	/^:test-result: *(PASS|XFAIL)/ { passed++ }
	/^:test-result: *(FAIL|XPASS)/ { failed++; failed_here++ }
	/^:test-result: *ERROR/ && !(failed_here && /exited with status/) { failed++ }
	/^:test-result: *SKIP/ { skipped++ }
	END {
		printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
		exit failed > 0 || passed + skipped == 0
	}' $results
