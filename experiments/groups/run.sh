#!/bin/sh
# Prefill groups (chunked pipeline parallelism) against single nodes: the same 8 prefill nodes as 8 x 1, 4 x 2, 2 x 4 and
# 1 x 8. README says what came out and what it means.
#
#     experiments/groups/run.sh [--small] [--mooncake PATH] [--trace FILE] [alone|chunk|bytes|load|mixed ...]
#
# The mixed table needs MOONCAKE_DATA or --trace; the others make their own prompts.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib.sh"
tables=${tables:-"alone chunk bytes load mixed"}
groups=$(either "2 4 8" "2 8")
chunks=$(either "512 1024 2048 4096 8192 16384 32768" "512 2048 8192")
# 1 M less one token: with the token that decode adds, the context ends where the profile's trust does.
lengths=$(either "8192 16384 32768 65536 131072 262144 524288 1048575" "8192 131072")
chunk=2048       # of every table that does not vary it: as in scenario.json
bandwidth=87e9   # bytes/s of a node, as in scenario.json
layers=80        # of llama3-70b

# What the closed forms take. W(n) = a + b n + c n^2 goes through three prompts on one node. On X nodes the stages of a
# chunk take equal time, so that a prompt leaves an idle group after
#     T = W / X + (X - 1) max over chunks of (w / X + hop)
# (a proportionate flow shop: every crossing to the next stage costs most at the longest chunk). With again = 1 every
# chunk pays the fixed time a again, with 0 the first one alone, as the cost model has it.
forms='
	function whole(n) { return a + b * n + c * n * n }
	function group(n, x, chunk, again,   at, to, w, most, sum, k) {
		for (at = 0; at < n; at = to) {
			to = at + chunk < n ? at + chunk : n
			w = b * (to - at) + c * (to * to - at * at) + (at == 0 || again ? a : 0)
			sum += w
			k = w / x + (to - at) * hop / bandwidth
			most = k > most ? k : most
		}
		return sum / x + (x - 1) * most
	}
	function size(n) { return n >= 1048575 ? "1M" : n / 1024 "k" }'

# alone X CHUNK: every length by itself on groups of X: "tokens seconds" a line in $work/alone-X-CHUNK.
alone()
{
	[ ! -e "$work/alone-$1-$2" ] || return 0
	run "alone-$1-$2.run" "$here/scenario.json" --set trace.path="$work/alone.jsonl" --set trace.block_tokens=1Mi \
		--set cluster.prefill_group="$1" --set cluster.prefill_chunk="$2" --check
	column "$work/alone-$1-$2.run/requests.csv" input_tokens prefill_start_s first_token_s |
		awk '{ printf "%d %.6f\n", $1, $3 - $2 }' >"$work/alone-$1-$2"
}

# The single node's times, from which a, b and c come, and the bytes of a token over one boundary and to decode.
prepare()
{
	for n in $lengths 24576; do
		i=$((${i:-0} + 1))
		printf '{"timestamp": %d, "input_length": %d, "output_length": 2, "hash_ids": [%d]}\n' $((i * 2000000)) "$n" $i
	done >"$work/alone.jsonl"
	alone 1 $chunk
	alone 2 $chunk
	hop=$(metrics alone-2-$chunk.run network.stage_bytes cache.input_tokens | awk '{ print $1 / $2 }')
	kv=$(metrics alone-2-$chunk.run network.bytes cache.input_tokens | awk '{ print $1 / $2 }')
	fit=$(awk '$1 == 8192 { x = $1; u = $2 } $1 == 24576 { y = $1; v = $2 } $1 == 131072 { z = $1; w = $2 }
		END {
			p = (v - u) / (y - x)
			c = ((w - v) / (z - y) - p) / (z - x)
			b = p - c * (x + y)
			printf "-v a=%.9g -v b=%.9g -v c=%.9g", u - b * x - c * x * x, b, c
		}' "$work/alone-1-$chunk")
	fit="$fit -v hop=$hop -v bandwidth=$bandwidth"
}

# Gain in TTFT and efficiency by length.
table_alone()
{
	for x in $groups; do
		alone "$x" $chunk
	done
	for x in $groups; do
		# shellcheck disable=SC2086 # a list of options
		awk $fit -v x="$x" -v chunk=$chunk "$forms"'
			NR == FNR { single[$1] = $2; next }
			$1 != 24576 {
				t = group($1, x, chunk, 0)
				printf "%s\t%d\t%.3f\t%.3f\t%.2f\t%.1f\t%.3f\t%.1f\n", size($1), x, single[$1], $2,
					single[$1] / $2, 100 * single[$1] / $2 / x, t, 100 * whole($1) / t / x
			}' "$work/alone-1-$chunk" "$work/alone-$x-$chunk"
	done | { printf 'prompt\tnodes\tone node s\tgroup s\tgain\tefficiency %%\tclosed form s\tits efficiency %%\n' && cat; } |
		table "One prompt alone, chunks of $chunk"
}

# The best chunk, as the model has it and if the fixed time came again with every chunk.
table_chunk()
{
	for x in $groups; do
		for k in $chunks; do
			alone "$x" "$k"
			awk -v x="$x" -v k="$k" '{ print x, k, $1, $2 }' "$work/alone-$x-$k"
		done
	done >"$work/chunks"
	# shellcheck disable=SC2086 # a list of options
	awk $fit -v chunks="$chunks" -v groups="$groups" -v lengths="$(either "8192 32768 131072 1048575" "$lengths")" "$forms"'
		{ t[$1, $2, $3] = $4 }
		END {
			m = split(chunks, k, " ")
			printf "prompt\tnodes"
			for (i = 1; i <= m; i++)
				printf "\t%d", k[i]
			print "\tbest\tbest if a comes again\tthen s"
			for (g = split(groups, x, " "); g >= 1; g--)
				for (l = 1; l <= split(lengths, n, " "); l++) {
					printf "%s\t%d", size(n[l]), x[g]
					best = worst = 0
					for (i = 1; i <= m; i++) {
						v = t[x[g], k[i], n[l]]
						u = group(n[l], x[g], k[i], 1)
						printf "\t%.3f", v
						if (!best || v < t[x[g], best, n[l]])
							best = k[i]
						if (!worst || u < most) {
							worst = k[i]
							most = u
						}
					}
					printf "\t%d\t%d\t%.3f\n", best, worst, most
				}
		}' "$work/chunks" | table "Seconds of one prompt alone by chunk size"
}

# Bytes a token: stage boundaries, KV, and what tensor parallelism over the nodes would send instead: two ring
# all-reduces a layer, of which a node sends 2 (X - 1) / X times the activations. That time does not hide.
table_bytes()
{
	for x in $groups; do
		alone "$x" $chunk
		# shellcheck disable=SC2086 # a list of options
		awk $fit -v x="$x" -v kv="$kv" -v layers=$layers "$forms"'
			{ t[$1] = $2 }
			END {
				node = 2 * layers * 2 * (x - 1) / x * hop
				printf "%d\t%d\t%d\t%d\t%d\t%d\t%.2f\t%.2f\t%.1f", x, kv, hop * (x - 1), hop, node * x, node,
					1e6 * hop / bandwidth, 1e6 * node / bandwidth, 1e6 * b / x
				for (i = 1; i <= 2; i++) {
					n = i == 1 ? 8192 : 131072
					printf "\t%.2f\t%.2f", t[n], whole(n) / x + n * node / bandwidth
				}
				print ""
			}' "$work/alone-$x-$chunk"
	done | {
		printf 'nodes\tKV\tstages, all\ta node\tTP, all\ta node\tstage NIC us\tTP NIC us\tcompute us'
		printf '\t8k stages s\t8k TP s\t128k stages s\t128k TP s\n' && cat
	} | table "Bytes and time of one prompt token: stage boundaries, KV to decode, tensor parallelism over nodes"
}

# equal TOKENS LOAD REQUESTS: prompts of one length, Poisson arrivals at that share of what 8 nodes compute.
equal()
{
	# shellcheck disable=SC2086 # a list of options
	awk $fit -v n="$1" -v load="$2" -v requests="$3" "$forms"'
		BEGIN {
			x = 20407
			for (i = 1; i <= requests; i++) {
				x = x * 16807 % 2147483647
				at -= log(x / 2147483647) * whole(n) / 8 / load
				printf "{\"timestamp\": %.6f, \"input_length\": %d, \"output_length\": 2, \"hash_ids\": [%d]}\n", 1000 * at, n, i
			}
		}' >"$work/equal.jsonl"
}

# Where equal prompts stop paying. All arrivals are the same for every size of group. The closed form is that of one
# group of 8: it starts a prompt every W / 8, so it is an M/D/1 queue and then the pipeline.
table_load()
{
	for n in $(either "1024 2048 8192 32768 131072" "2048 32768"); do
		for load in $(either "0.1 0.3 0.5 0.7 0.8 0.9" "0.3 0.8"); do
			equal "$n" "$load" "$(either 10000 400)"
			for x in 1 $groups; do
				run "load-$x" "$here/scenario.json" --set trace.path="$work/equal.jsonl" --set trace.block_tokens="$n" \
					--set cluster.prefill_group="$x"
				metrics "load-$x" ttft_s.mean ttft_s.p99 network.stage_nic_ratio network.busiest_link_ratio
			done >"$work/load"
			# shellcheck disable=SC2086 # a list of options
			awk $fit -v n="$n" -v load="$load" -v groups="1 $groups" -v chunk=$chunk "$forms"'
				{ mean[NR] = $1; p99[NR] = $2; nic = $3; link = $4 }
				END {
					m = split(groups, x, " ")
					printf "%s\t%.1f", size(n), load
					for (i = 1; i <= m; i++) {
						printf "\t%.3f", mean[i]
						if (mean[i] > mean[1])
							lost = lost " " x[i]
					}
					printf "\t%.3f\t%.3f\t%.3f", 0.05 + group(n, 8, chunk, 0) + load / (1 - load) / 2 * whole(n) / 8, p99[1], p99[m]
					printf "\t%.2f\t%.2f\t%s\n", 100 * nic, 100 * link, lost == "" ? "-" : substr(lost, 2)
				}' "$work/load"
		done
	done | {
		printf 'prompt\tload'
		for x in 1 $groups; do printf '\tx%d mean s' "$x"; done
		printf '\tM/D/1 for x8\tx1 p99\tx8 p99\tx8 stages NIC %%\tx8 link %%\tlosing\n' && cat
	} | table "TTFT of prompts of one length by load, chunks of $chunk"
}

# by_length NAME: "mean p99" of TTFT up to 2k, from 2k to 32k, and over 64k tokens.
by_length()
{
	column "$work/$1/requests.csv" input_tokens ttft_s outcome | awk '$3 == "completed" { print $1, $2 }' | sort -k2,2n |
		awk '
			{ k = $1 <= 2048 ? 1 : $1 <= 32768 ? 2 : $1 > 65536 ? 3 : 0; v[k, ++n[k]] = $2; sum[k] += $2 }
			END {
				for (k = 1; k <= 3; k++) {
					at = int(0.99 * n[k])
					at += at < 0.99 * n[k]
					printf "%s%.3f\t%.3f", (k > 1 ? "\t" : ""), n[k] ? sum[k] / n[k] : 0, n[k] ? v[k, at] : 0
				}
				print ""
			}'
}

# Short and long prompts together: a recorded trace, faster and faster.
table_mixed()
{
	file=${trace:-$(published conversation)}
	for rate in $(either "0.5 1 1.25 1.5 1.75 2" "1"); do
		for x in 1 $groups; do
			run mixed "$here/scenario.json" --set trace.path="$file" --set trace.rate="$rate" --set cluster.prefill_group="$x"
			printf '%s\t%d\t' "$rate" "$x"
			metrics mixed ttft_s.mean ttft_s.p99 | awk '{ printf "%.3f\t%.3f\t", $1, $2 }'
			by_length mixed | tr '\n' '\t'
			metrics mixed slo.effective_ratio cache.hit_ratio prefill.busy_ratio network.stage_bytes network.bytes \
				network.stage_nic_ratio | awk '{ printf "%.1f\t%.1f\t%.1f\t%.3f\t%.2f\n", 100 * $1, 100 * $2, 100 * $3, $4 / $5, 100 * $6 }'
		done
	done | {
		printf 'rate\tnodes\tTTFT s\tp99\tto 2k\tp99\t2k-32k\tp99\tover 64k\tp99\teffective %%\thits %%\tbusy %%\tstages/KV\tstages NIC %%\n'
		cat
	} | table "$(basename "$file"): TTFT by prompt length, chunks of $chunk"
	for x in $groups; do
		printf '%d' "$x"
		for k in $chunks; do
			run mixed "$here/scenario.json" --set trace.path="$file" --set cluster.prefill_group="$x" \
				--set cluster.prefill_chunk="$k"
			metrics mixed ttft_s.mean | awk '{ printf "\t%.3f", $1 }'
		done
		echo
	done | { echo "nodes $chunks" | tr ' ' '\t' && cat; } |
		table "$(basename "$file"), as recorded: mean TTFT by chunk size"
}

prepare
for t in $tables; do
	case $t in
	alone | chunk | bytes | load | mixed) "table_$t" ;;
	*) echo "$0: $t: expected alone, chunk, bytes, load or mixed" >&2 && exit 2 ;;
	esac
done
finish
