#!/bin/sh
# What to buy and how to set it: one table a question, over the conversation and the synthetic trace. README has the
# answers. A table is one file in tables/, which says what it varies and what it shows.
#
#     experiments/sizing/run.sh [--small] [--mooncake PATH] [--trace FILE] [TABLE...]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
tables=${tables:-$(cd "$here/tables" && ls | sed 's/\.sh$//')}
busy=1.5 # times the recorded rate: 71 % (conversation) and 60 % (synthetic) of the prefill pool's time

# Columns of tables: heading, metric, factor, decimals. Those of "busy:" are taken from a run at $busy times the rate.
hits='hits %|cache.hit_ratio|100|1'
gpu='GPU s|prefill.gpu_time_s_mean|1|3'
ttft='TTFT s|ttft_s.mean|1|3
p99|ttft_s.p99|1|2'
pressed="x$busy TTFT s|busy:ttft_s.mean|1|3
p99|busy:ttft_s.p99|1|2
effective %|busy:slo.effective_ratio|100|1"

# traces: "name file" a line.
traces()
{
	if [ -n "$trace" ]; then
		echo "$(basename "$trace" | sed 's/\..*//') $trace"
	else
		for t in conversation synthetic; do
			echo "$t $(published $t)"
		done
	fi
}

# row COLUMNS: the cells, from the runs plain and busy.
row()
{
	awk -F, -v columns="$1" '
		FILENAME == ARGV[1] { value[$1] = $2; next }
		{ value["busy:" $1] = $2 }
		END {
			n = split(columns, column, "\n")
			for (i = 1; i <= n; i++) {
				split(column[i], c, "|")
				if (!(c[2] in value))
					exit 1
				printf "\t%.*f", c[4], c[3] * value[c[2]]
			}
			print ""
		}' "$work/plain.csv" "$work/busy.csv" || fail "a column without a metric: $1"
}

# sweep KEY VALUES COLUMNS [ARGUMENTS...]: lines "trace value cells" of every trace and value, with those settings. A
# table pipes the lines of its sweeps into `titled`.
sweep()
{
	key=$1 values=$2 columns=$3
	shift 3
	traces | while read -r called file; do
		for v in $values; do
			for speed in plain busy; do
				rate=1
				[ $speed = plain ] || rate=$busy
				measure $speed "$here/../base.json" --set trace.path="$file" --set trace.rate=$rate --set "$key=$v" "$@"
			done
			printf '%s\t%s' "$called" "$v"
			row "$columns"
		done
	done
}

# titled TITLE "HEADING..." COLUMNS: a table of the lines on standard input; the headings, apart by |, come before those
# of the columns.
titled()
{
	{
		printf 'trace|%s' "$2" | tr '|' '\t'
		printf '%s\n' "$3" | awk -F'|' '{ printf "\t%s", $1 }'
		echo
		cat
	} >"$work/table"
	table "$1" <"$work/table"
}

for t in $tables; do
	[ -e "$here/tables/$t.sh" ] || { echo "$0: $t: expected one of" "$(cd "$here/tables" && ls | sed 's/\.sh$//' | tr '\n' ' ')" >&2 && exit 2; }
	. "$here/tables/$t.sh"
done
finish
