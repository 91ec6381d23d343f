#!/bin/sh
# How fast whole runs are, by hand (`make bench`); nothing is asserted. Two claims:
#  - the conversation hour on 8P+8D (needs MOONCAKE_DATA, else the generated hour of the same kind): requests a second of
#    wall time, parsing included, and peak memory;
#  - cost per request at 1x, 10x and 100x of the load on 1x, 10x and 100x of the nodes, generated from one spec.
# User and system time are printed beside wall time: on a shared machine they are the steadier ones.
set -eu
srcdir=${MC_SRCDIR:-$(cd "$(dirname "$0")/../.." && pwd)}
mooncake=${MC_BUILDDIR:-.}/mooncake
MOONCAKE_PROFILE_DIR=${MOONCAKE_PROFILE_DIR:-$srcdir/calib/profiles}
export MOONCAKE_PROFILE_DIR
largest=${1:-100} # the largest scale: 100 writes 700 MB of trace
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT INT TERM

# once ARGUMENTS...: "wall CPU peak_MB requests" of one run, as it says on standard error: reading included
once()
{
	"$mooncake" run --format csv -o /dev/null "$@" 2>&1 >/dev/null |
		sed -n 's|\([0-9]*\) requests in \([0-9.]*\) s of wall time, \([0-9.]*\) s of CPU, .* \([0-9.]*\) MB|\2 \3 \4 \1|p'
}

# best TIMES ARGUMENTS...: the run with the least CPU time
best()
{
	times=$1
	shift
	i=0
	while [ $i -lt "$times" ]; do
		once "$@"
		i=$((i + 1))
	done | sort -k2,2n | head -n 1
}

scenario=$srcdir/experiments/sample/scenario.json
hour=$(ls "${MOONCAKE_DATA:-/nowhere}"/mooncake/conversation_trace.jsonl* 2>/dev/null | head -n 1)
if [ -z "$hour" ]; then
	hour=$work/hour.jsonl
	"$mooncake" trace gen "$srcdir/traces/conversation-like.json" -o "$hour"
fi
best 9 "$scenario" --set trace.path="$hour" |
	awk '{ printf "conversation hour   %6d requests  %.3f s wall  %.3f s CPU  %7.0f requests/s of wall time  %.1f MB\n",
		$4, $1, $2, $4 / $1, $3 }'

for scale in 1 10 100; do
	[ $scale -le "$largest" ] || break
	"$mooncake" trace gen "$srcdir/traces/conversation-like.json" --set scale=$scale -o "$work/trace.jsonl"
	best $((scale == 100 ? 2 : 5)) "$scenario" --set trace.path="$work/trace.jsonl" \
		--set cluster.prefill=$((8 * scale)) --set cluster.decode=$((8 * scale)) |
		awk -v s=$scale '{ printf "%3dx on %4d nodes  %8d requests  %.3f s CPU  %.2f us CPU a request  %.1f MB\n",
			s, 16 * s, $4, $2, 1e6 * $2 / $4, $3 }' | tee -a "$work/scales"
	rm -f "$work/trace.jsonl"
done
awk '{ for (i = 1; i <= NF; i++) if ($(i + 1) == "us") us[NR] = $i }
	END { if (NR > 1) printf "cost per request at the largest scale: %.2f times that at 1x\n", us[NR] / us[1] }' "$work/scales"
