#!/bin/sh
# How late may a Conductor learn what nodes do and hold? The policies over conductor.staleness, and the best of them where
# little is to spare: README has the answers.
#
#     experiments/stale/run.sh [--small] [--mooncake PATH] [--trace FILE] [policies] [settings]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
tables=${tables:-policies settings}
file=${trace:-$(published conversation)}
late=$(either "0s 10ms 100ms 1s 10s 60s" "0s 1s 60s")
headings=$(printf 'hits %%\tgone blocks\tTTFT s\tp99\teffective %%')

# cells ARGUMENTS...: of a run.
cells()
{
	run stale "$here/../base.json" --set trace.path="$file" "$@"
	metrics stale cache.hit_ratio cache.stale_blocks ttft_s.mean ttft_s.p99 slo.effective_ratio |
		awk -F'\t' '{ printf "\t%.2f\t%d\t%.3f\t%.2f\t%.2f", 100 * $1, $2, $3, $4, 100 * $5 }'
}

policies()
{
	{
		printf 'policy\tlate\t%s\tx1.5 %s\n' "$headings" "$(echo "$headings" | sed 's/	/	x1.5 /g')"
		for p in kvcache-centric cache-aware least-loaded random; do
			for d in $late; do
				printf '%s\t%s' $p "$d"
				for rate in 1 1.5; do
					cells --set trace.rate=$rate --set conductor.policy=$p --set conductor.staleness="$d"
				done
				echo
			done
		done
	} >"$work/table"
	table "Policies whose view is late" <"$work/table"
}

# setting NAME ARGUMENTS...: a line for each staleness.
setting()
{
	called=$1
	shift
	for d in $(either "0s 1s 10s 60s" "0s 60s"); do
		printf '%s\t%s' "$called" "$d"
		cells --set conductor.staleness="$d" "$@"
		echo
	done
}

settings()
{
	{
		printf 'setting\tlate\t%s\n' "$headings"
		setting "x1.5" --set trace.rate=1.5
		setting "x1.5, 750K tokens of DRAM" --set trace.rate=1.5 --set kv.dram_tokens=750K
		setting "x1.5, 50 Gbps" --set trace.rate=1.5 --set net.bandwidth=6.25GB/s
		setting "x1.5, groups of 2" --set trace.rate=1.5 --set cluster.prefill_group=2
		setting "x1.9" --set trace.rate=1.9
		setting "x1.9, cache-aware" --set trace.rate=1.9 --set conductor.policy=cache-aware
	} >"$work/table"
	table "KVCache-centric, where little is to spare" <"$work/table"
}

for t in $tables; do
	case $t in
	policies | settings) $t ;;
	*) echo "$0: $t: expected policies or settings" >&2 && exit 2 ;;
	esac
done
finish
