# Sourced by the run.sh of experiments whose tables are made by sweeps. It reads the options
#
#     [--small] [--mooncake PATH] [--trace FILE] [TABLE...]
#
# into $small (empty or yes), $mooncake, $trace (empty: the published ones) and $tables, and makes a folder $work for
# what lies in between. The caller has set $here, its own folder.
mooncake=mooncake trace= small= tables=
while [ $# -gt 0 ]; do
	case $1 in
	--small) small=yes ;;
	--mooncake) mooncake=${2:?"--mooncake: expected the program"} && shift ;;
	--trace) trace=${2:?"--trace: expected a file"} && shift ;;
	-*) echo "$0: $1: expected --small, --mooncake PATH, --trace FILE, or the names of tables" >&2 && exit 2 ;;
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
	data=${MOONCAKE_DATA:?"set MOONCAKE_DATA to a folder with mooncake/$1_trace.jsonl (see traces/fetch), or give --trace"}
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

# run NAME SCENARIO ARGUMENTS...: simulate; metrics in $work/NAME.csv, requests in $work/NAME/requests.csv. A run of which
# anything lies outside the range that the profile is trusted on is no result.
run()
{
	name=$1
	shift
	"$mooncake" run "$@" --format csv -q -o "$work/$name.csv" --out-dir "$work/$name" >"$work/$name.log" 2>&1 ||
		fail "run $*: $(cat "$work/$name.log")"
	awk -F, '/^range\..*outside_trust_ratio,/ && $2 > 0 { bad = 1 } END { exit bad }' "$work/$name.csv" ||
		fail "run $*: $(grep '^range.*outside_trust' "$work/$name.csv" | tr '\n' ' ')"
}

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
