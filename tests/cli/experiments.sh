#!/bin/sh
# The sweeps of experiments/ in their small form, on the trace that comes with the source: they run, their tables are
# whole, and what they show at any size holds.
. "$(dirname "$0")/../scripts/tap.sh"
. "$(dirname "$0")/lib.sh"
if sanitized; then
	skip "sweeps of experiments" "built with sanitizers, which every command has run under elsewhere"
	tap_done
	exit
fi
unset MOONCAKE_DATA
sample=$MC_SRCDIR/traces/sample.jsonl.zst

# experiment NAME ARGUMENT...: its run.sh, small; tables in $tap_dir/NAME.
experiment()
{
	of=$1
	shift
	sh "$MC_SRCDIR/experiments/$of/run.sh" --small --mooncake "$mooncake" "$@"
}

# tables NAME COUNT: it runs in silence and prints that many tables.
tables()
{
	experiment "$1" --trace "$sample" >"$tap_dir/$1" 2>"$tap_dir/stderr"
	rc=$?
	n=$(grep -c '^[^ ]' "$tap_dir/$1")
	if [ $rc -eq 0 ] && [ "$n" -eq "$2" ] && [ ! -s "$tap_dir/stderr" ]; then
		ok "$1: $2 tables"
	else
		not_ok "$1: $2 tables" "exit $rc, $n tables: $(cat "$tap_dir/stderr")"
	fi
}

# holds NAME FILE TITLE PROGRAM: an awk program over the lines of a table below its headings says nothing, and there are some.
holds()
{
	silent "$1" awk -v title="$3" "
		/^[^ ]/ { inside = index(\$0, title) == 1; heading = 1; next }
		!inside || NF == 0 { next }
		heading { heading = 0; next }
		{ lines++ }
		$4
		END { if (!lines) print \"no such table\" }" "$tap_dir/$2"
}

tables groups 6
holds "groups: the simulated time is the closed form's" groups "One prompt alone" \
	'($4 - $7) * ($4 - $7) > (0.001 + 1e-4 * $7) ^ 2 { print }'
holds "groups: the longer the prompt, the better" groups "One prompt alone" \
	'$2 == nodes && $5 <= gain { print } { nodes = $2; gain = $5 }'
holds "groups: bytes of a token" groups "Bytes and time" '$2 != 327680 || $3 != 16384 * ($1 - 1) || $4 != 16384 { print }'
holds "groups: long prompts gain at every load, prompts of one chunk do not" groups "TTFT of prompts" \
	'$1 == "32k" ? $NF != "-" : $NF == "-" { print }'
holds "groups: the longest prompts gain, the shortest wait longer" groups "sample.jsonl.zst: TTFT" \
	'$2 > 1 && ($9 >= long || $5 <= short || $14 <= bytes) { print } { long = $9; short = $5; bytes = $14 }'
tables roles 2
holds "roles: the rate that a split carries grows with its prefill nodes" roles "sample.jsonl.zst: highest" \
	'/change/ { next } $NF <= rate { print } { rate = $NF }'
holds "roles: where the mix changes, nodes that change serve more than any split" roles "A mix" \
	'/change/ { if ($(NF - 5) < most + 20) print; next } { most = $(NF - 5) > most ? $(NF - 5) : most }'
holds "roles: what it costs" roles "A mix" '/change/ { if (had != "" && $(NF - 5) >= had) print; had = $(NF - 5) }'
tables sizing 7
holds "sizing: more DRAM, more hits, less time" sizing "DRAM" '$3 < hits || (gpu && $5 > gpu) { print } { hits = $3; gpu = $5 }'
holds "sizing: no policy beats the bound" sizing "Eviction" '$4 == "(bound)" { bound = $5; next } { most = $4 > most ? $4 : most }
	END { if (bound < most) print bound, most }'
holds "sizing: a faster network hides more" sizing "Usable" '$3 == kind && $5 >= handover { print } { kind = $3; handover = $5 }'
holds "sizing: a high threshold fetches less" sizing "Balancing" '$2 == "1e9" && ($5 >= fetched || $3 >= hits) { print } { fetched = $5; hits = $3 }'
tables overload 5
holds "overload: where decode does not limit all rules refuse alike" overload "Rules by rate" \
	'$1 != "8P+8D" || $3 == "none" { next } refused && $4 != refused { print } { refused = $4 }'
holds "overload: early rejection wastes less than the baseline" overload "Rules by rate" \
	'$1 != "10P+2D" { next } $3 == "baseline" { wasted = $8 + 0 } $3 == "early" && $8 + 0 >= wasted { print }'

tables stale 2
holds "stale: who knows all at once counts on nothing that is gone" stale "Policies" '$2 == "0s" && ($4 != 0 || $9 != 0) { print }'
holds "stale: random looks at nothing" stale "Policies" '$1 == "random" { if (ttft && $5 != ttft) print; ttft = $5 }'
holds "stale: with little DRAM a late view counts on what is gone" stale "KVCache-centric, where" \
	'$2 == "750K" && $6 == "60s" && $8 < 100 { print }'
tables policies 7
holds "policies: of what is too much for all, most is in time where what is lost waits" policies "Effective requests, first half: %" \
	'$9 < 50 || $13 < 50 { print }'
holds "policies: the same work in less engine time" policies "What users" '$3 == "kvcache-centric" { gpu = $8 } $3 == "frugal" && $8 >= gpu { print }'

refused "a table that there is none of" "expected one of dram" 2 experiment sizing --trace "$sample" nothing
refused "an option that there is none of" "--fast" 2 experiment groups --fast
refused "no trace" "MOONCAKE_DATA" 2 experiment groups mixed
awk 'BEGIN {
	printf "{\"timestamp\": 0, \"input_length\": 1300480, \"output_length\": 2, \"hash_ids\": [1"
	for (i = 2; i <= 2540; i++)
		printf ", %d", i
	print "]}"
}' >"$tap_dir/long.jsonl"
refused "a prompt outside the trusted range is no result" "outside_trust" 1 experiment groups --trace "$tap_dir/long.jsonl" mixed
tap_done
