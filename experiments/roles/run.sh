#!/bin/sh
# Nodes that change between prefill and decode (roles.policy=load) against splits that stay. README says what came out.
#
#     experiments/roles/run.sh [--small] [--mooncake PATH] [--trace FILE] [hour|mix ...]
#
# The table of an hour needs MOONCAKE_DATA or --trace; the mix is made here.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
tables=${tables:-"hour mix"}
costs=$(either "0s 10s 30s 60s 300s" "0s 30s")

# capacity KEEP ARGUMENT...: the rate up to which that share is effective, and the rate at which it is not.
capacity()
{
	keep=$1
	shift
	"$mooncake" capacity "$here/../base.json" -q --set trace.path="$trace" --keep "$keep" -f csv -o "$work/capacity.csv" "$@" ||
		fail "capacity $*"
	column "$work/capacity.csv" rate
}

# What the trace, as one mix of prompts and answers, can be sped up to.
hour()
{
	[ -n "$trace" ] || trace=$(published conversation)
	keeps=$(either "0.99 0.9" "0.99")
	{
		printf 'nodes'
		for k in $keeps; do printf '\tx rate, %s %% effective' "$(percent "$k")"; done
		echo
		for p in $(either "6 7 8 9 10 11 12" "6 8 12"); do
			printf '%sP + %sD' "$p" $((16 - p))
			for k in $keeps; do
				printf '\t%.2f' "$(capacity "$k" --set cluster.prefill="$p" --set cluster.decode=$((16 - p)))"
			done
			echo
		done
		for cost in $costs; do
			printf '8P + 8D, 8 change, %s' "$cost"
			for k in $keeps; do
				printf '\t%.2f' "$(capacity "$k" --set roles.policy=load --set roles.switchable=8 --set roles.cost="$cost")"
			done
			echo
		done
	} >"$work/table"
	table "$(basename "$trace"): highest rate" <"$work/table"
}

# mixed PERIOD NODES: prompts of 16k tokens with short answers, then short prompts with answers of 2k tokens, in turn,
# four periods; nothing is cached. Batches stay where the profile is trusted. The first half needs 10 of 16 nodes for prefill, the second 10 for decode.
mixed()
{
	awk -v period="$1" -v nodes="$2" 'BEGIN {
		for (t = 0; t < 4 * period; t += 1 / ((p ? 5 : 24) * nodes / 16)) {
			p = int(t / period) % 2 == 0
			printf "{\"timestamp\": %d, \"input_length\": %d, \"output_length\": %d, \"hash_ids\": [",
				1000 * t, p ? 16384 : 512, p ? 64 : 2048
			for (b = 0; b < (p ? 32 : 1); b++)
				printf "%s%d", b ? "," : "", 1000 * i + b
			print "]}"
			i++
		}
	}' >"$work/mixed.jsonl"
}

# mix_line NAME ARGUMENT...: a row of the table of mixes.
mix_line()
{
	called=$1
	shift
	run mix "$here/../base.json" --set trace.path="$work/mixed.jsonl" --set cluster.max_batch=400 "$@"
	metrics mix slo.effective_ratio throughput.goodput_tokens_per_s ttft_s.p99 tbt_s.p99 roles.switches roles.drain_s |
		awk -F'\t' -v name="$called" -v period="$period" '{
			printf "%s\t%s\t%.1f\t%.0f\t%.1f\t%.3f\t%d\t%.1f\n", period, name, 100 * $1, $2, $3, $4, $5, $5 ? $6 / $5 : 0
		}'
}

mix()
{
	nodes=$(either 16 8)
	{
		printf 'period s\tnodes\teffective %%\tgood tokens/s\tTTFT p99 s\tTBT p99 s\tswitches\tdrain s each\n'
		for period in $(either "300 900 2700" "400"); do
			mixed "$period" "$nodes"
			for p in 6 8 10; do
				p=$((p * nodes / 16))
				mix_line "${p}P + $((nodes - p))D" --set cluster.prefill=$p --set cluster.decode=$((nodes - p))
			done
			for cost in $costs; do
				mix_line "$((nodes / 2))P + $((nodes / 2))D, $((nodes / 2)) change, $cost" \
					--set cluster.prefill=$((nodes / 2)) --set cluster.decode=$((nodes / 2)) \
					--set roles.policy=load --set roles.switchable=$((nodes / 2)) --set roles.cost="$cost"
			done
		done
	} >"$work/table"
	table "A mix that changes" <"$work/table"
}

for t in $tables; do
	case $t in
	hour | mix) $t ;;
	*) echo "$0: $t: expected hour or mix" >&2 && exit 2 ;;
	esac
done
finish
