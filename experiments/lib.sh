# Sourced by the run.sh of experiments. It reads the options
#
#     [--small] [--mooncake PATH] [--trace FILE] [--out DIR] [NAME...]
#
# into $small (empty or yes), $mooncake, $trace (empty: the published ones), $out and $tables, and makes a folder $work
# for what lies in between. The caller has set $here, its own folder, and $accepts, if that is not --trace: which of
# the last two it takes.
mooncake=mooncake trace= out= small= tables=
accepts=${accepts:---trace}
while [ $# -gt 0 ]; do
	case $1 in
	--small) small=yes ;;
	--mooncake) mooncake=${2:?"--mooncake: expected the program"} && shift ;;
	"$accepts")
		case $accepts in
		--trace) trace=${2:?"--trace: expected a file"} && shift ;;
		--out) out=${2:?"--out: expected a folder"} && shift ;;
		esac
		;;
	-*) echo "$0: $1: expected --small, --mooncake PATH, $accepts PATH, or names of tables" >&2 && exit 2 ;;
	*) tables="$tables $1" ;;
	esac
	shift
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# published NAME: the file of a published trace.
published()
{
	hint=
	[ "$accepts" != --trace ] || hint=", or give --trace"
	data=${MOONCAKE_DATA:?"set MOONCAKE_DATA to a folder with mooncake/$1_trace.jsonl (see traces/fetch)$hint"}
	ls "$data/mooncake/$1_trace.jsonl"* | head -n 1
}

# either WHOLE SMALL: a list, by the size that was asked for.
either() { if [ -n "$small" ]; then echo "$2"; else echo "$1"; fi; }

# fail WHAT...: says it on standard error and ends this shell, which may be a part of a pipeline: `finish` knows, too.
fail()
{
	echo "$0: $*" >&2
	: >"$work/failed"
	exit 1
}

# finish: the last line of a run.sh.
finish() { [ ! -e "$work/failed" ] || exit 1; }

# measure NAME SCENARIO ARGUMENTS...: simulate; metrics in $work/NAME.csv. A run of which anything lies outside the range
# that the profile is trusted on is no result.
measure()
{
	name=$1
	shift
	"$mooncake" run "$@" --format csv -q -o "$work/$name.csv" >"$work/$name.log" 2>&1 || fail "run $*: $(cat "$work/$name.log")"
	awk -F, '/^range\..*outside_trust_ratio,/ && $2 > 0 { bad = 1 } END { exit bad }' "$work/$name.csv" ||
		fail "run $*: $(grep '^range.*outside_trust' "$work/$name.csv" | tr '\n' ' ')"
}

# run NAME SCENARIO ARGUMENTS...: the same, with requests in $work/NAME/requests.csv and what else there is.
run() { measure "$@" --out-dir "$work/$1"; }

# metrics NAME KEY...: their values on one line, tabs between.
metrics()
{
	of=$1
	shift
	awk -F, -v keys="$*" '{ value[$1] = $2 }
		END {
			n = split(keys, key, " ")
			for (i = 1; i <= n; i++) {
				if (!(key[i] in value))
					exit 1
				printf "%s%s", value[key[i]], i < n ? "\t" : "\n"
			}
		}' "$work/$of.csv" || fail "metrics $of: one of these there is not: $*"
}

# column FILE NAME...: those columns of a CSV file with headings, tabs between.
column()
{
	file=$1
	shift
	awk -F, -v names="$*" 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; n = split(names, name, " "); next }
		{ for (i = 1; i <= n; i++) printf "%s%s", $at[name[i]], i < n ? "\t" : "\n" }' "$file"
}

# table TITLE: lines of cells with tabs between, the first one the headings, aligned. As many in each.
table()
{
	awk -F'\t' -v title="$1" '{
			line[NR] = $0
			cells = NR == 1 ? NF : cells
			uneven = uneven || NF != cells
			for (i = 1; i <= NF; i++)
				wide[i] = length($i) > wide[i] ? length($i) : wide[i]
		}
		END {
			if (uneven || NR < 2)
				exit 1
			print title
			for (r = 1; r <= NR; r++) {
				n = split(line[r], cell, "\t")
				for (i = 1; i <= n; i++)
					printf i == 1 ? "  %-*s" : "  %*s", wide[i], cell[i]
				print ""
			}
			print ""
		}' || fail "$1: lines without all their cells"
}

# What follows is for figures and tables that were published: experiments/run.sh sources the rows.sh of their folders in
# turn, each in a shell of its own, with $here (that folder), $figure (its name) and $plot (where it leaves CSV files to
# be drawn from) set.

# recorded conversation|synthetic: the published trace, or what stands for it in a small run.
recorded() { if [ -n "$small" ]; then echo "$experiments/../traces/sample.jsonl.zst"; else published "$1"; fi; }

# values: the published values of this folder, without their comments.
values() { sed '/^#/d' "$here/published.txt"; }

# paper NAME: the whole of a published curve, for drawing, where MOONCAKE_DATA has it; else nothing.
paper() { [ ! -e "${MOONCAKE_DATA-}/paper/$1.csv" ] || echo "$MOONCAKE_DATA/paper/$1.csv"; }

# row QUANTITY SETTING PUBLISHED OURS [TOLERANCE [percent|points [known]]]: tolerance in percent of the published value,
# or in points; without one it is shown as it comes out. A miss that README explains is told, and is no failure.
row()
{
	judged=$(awk -v p="$3" -v o="$4" -v t="${5:-}" -v unit="${6:-}" -v known="${7:-}" 'BEGIN {
		points = unit == "points"
		d = points ? o - p : 100 * (o / p - 1)
		within = d < 0 ? -d <= t + 0 : d <= t + 0
		printf "%.4g\t%.4g\t%+.1f%s\t%s\t%s", p, o, d, points ? "" : " %", t == "" ? "-" : "within " t (points ? "" : " %"),
			t == "" ? "as it comes out" : within ? "ok" : known != "" ? "missed, see README" : "MISSED"
	}')
	line "$1" "$2" "$judged"
}

# shape QUANTITY SETTING PUBLISHED OURS KIND VERDICT: judged by its place among others (order, range, shape), or not.
# Published and ours may be -.
shape()
{
	judged=$(awk -v p="$3" -v o="$4" 'function cell(v) { return v ~ /^[-0-9.e]*[0-9]$/ ? sprintf("%.4g", v) : v }
		BEGIN { printf "%s\t%s\t-", cell(p), cell(o) }')
	line "$1" "$2" "$judged	$5	$6"
}

# line QUANTITY SETTING REST: a row of the table, and of $work/rows with tabs between. What a small run gives is not judged.
line()
{
	printf '%s\t%s\t%s\t%s\n' "$figure" "$1" "$2" "$3" |
		awk -F'\t' -v OFS='\t' -v small="$small" -v rows="$work/rows" -v format="$format" '{
			if (small != "")
				$8 = "small: not judged"
			print >>rows
			printf format, $1, $2, $3, $4, $5, $6, $7, $8
		}'
}

# system NAME: the options that make a system of 16 nodes: mooncake (8 for prefill, 8 for decode), or what it is compared
# with: every node does both, plain, with the prefix cache that fits beside running requests, or with chunked prefill.
# vLLM's clusters had no router that knows of caches.
system()
{
	both="--set cluster.coupled=16 --set conductor.policy=least-loaded"
	case $1 in
	mooncake) ;;
	plain) echo "$both --set kv.pool=off" ;;
	caching) echo "$both --set kv.pool=local" ;;
	chunked) echo "$both --set kv.pool=off --set cluster.batching=chunked" ;;
	esac
}

# falls NAME VALUE: says whether VALUE is below that of the call before with the same NAME.
falls()
{
	before=
	[ ! -e "$work/falls-$1" ] || before=$(cat "$work/falls-$1")
	echo "$2" >"$work/falls-$1"
	if awk -v a="$2" -v b="$before" 'BEGIN { exit !(b == "" || a < b + 0) }'; then
		echo "ok: in order"
	else
		echo "MISSED: not below the one before"
	fi
}

# pair TOKENS PERCENT: two prompts that share their first so many percent (in blocks of 16 tokens), far apart: the
# second one finds the prefix cached.
pair()
{
	awk -v n="$1" -v percent="$2" 'BEGIN {
		blocks = int((n + 15) / 16)
		shared = int(n * percent / 100 / 16)
		for (r = 0; r < 2; r++) {
			printf "{\"timestamp\": %d, \"input_length\": %d, \"output_length\": 129, \"hash_ids\": [", r * 200000, n
			for (b = 0; b < blocks; b++)
				printf "%s%d", b ? ", " : "", b < shared ? b : 1000000 * (r + 1) + b
			print "]}"
		}
	}'
}

# percent NUMBER: of a ratio.
percent() { awk -v x="$1" 'BEGIN { print 100 * x }'; }
