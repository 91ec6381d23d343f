#!/bin/sh
# Published figures and tables beside the simulator's: one folder each, with the published values, what is run (rows.sh),
# and a README that gives tolerances with their reasons and explains what differs. Prints one table (published, ours,
# deviation, tolerance, verdict) and exits 1 when a row MISSED what is expected of it.
#
#     MOONCAKE_DATA=DIR experiments/run.sh [--small] [--mooncake PATH] [--out DIR] [FIGURE...]
#
# DIR is the folder that traces/fetch fills. --small stands the sample trace in for the published ones: all is run,
# nothing judged. --out keeps the table (rows.tsv) and, in a folder for each figure, what plots/run.sh draws.
set -eu
experiments=$(cd "$(dirname "$0")" && pwd)
here=$experiments
accepts=--out
. "$here/lib.sh"
format='%-17s %-23s %-47s %10s %20s %9s  %-12s  %s\n'

figures=$(cd "$experiments" && for f in */rows.sh; do echo "${f%/rows.sh}"; done)
for f in $tables; do
	[ -e "$experiments/$f/rows.sh" ] || { echo "$0: $f: expected some of" $figures >&2 && exit 2; }
done
[ -z "$tables" ] || figures=$tables
[ -n "$small" ] || published conversation >"$work/trace"
all=$work
: >"$all/rows"
[ -z "$out" ] || mkdir -p "$out"
# shellcheck disable=SC2059 # the format of all rows
printf "$format" figure quantity setting published ours deviation tolerance verdict
for figure in $figures; do
	here=$experiments/$figure
	plot=${out:-$all/plot}/$figure
	mkdir -p "$plot"
	rm -f "$plot"/*.csv # of an earlier run
	# Not with ||, which would take -e from the shell within.
	set +e
	(
		set -e
		. "$here/rows.sh"
	)
	rc=$?
	set -e
	[ $rc -eq 0 ] || { echo "$0: $figure: exit $rc" >&2 && : >"$work/failed"; }
done
[ -z "$out" ] || { printf 'figure\tquantity\tsetting\tpublished\tours\tdeviation\ttolerance\tverdict\n' && cat "$all/rows"; } >"$out/rows.tsv"
awk -F'\t' '$8 ~ /^ok/ { ok++ } $8 ~ /^missed/ { known++ } $8 ~ /^MISSED/ { missed++ }
	END {
		printf "%d judged: %d ok, %d missed as README says, %d MISSED; %d more shown as they come out\n",
			ok + known + missed, ok, known, missed, NR - ok - known - missed
		exit missed > 0
	}' "$all/rows"
finish
