#!/bin/sh
# mooncake trace: figures on real and made-up traces, every bad trace with its place, and mistakes on the command line.
. "$(dirname "$0")/../scripts/tap.sh"
mooncake=$MC_BUILDDIR/mooncake
corpus=$MC_SRCDIR/tests/corpus/trace
spec=$MC_SRCDIR/traces/conversation-like.json
sample=$MC_SRCDIR/traces/sample.jsonl.zst
out=$tap_dir/out.jsonl

# refused NAME WORD RC COMMAND...: exits with RC, says WORD in one line on stderr and nothing on stdout.
refused()
{
	name=$1 word=$2 rc=$3
	shift 3
	"$@" >"$tap_dir/stdout" 2>"$tap_dir/stderr" </dev/null
	got=$?
	if [ $got -eq "$rc" ] && grep -qF -- "$word" "$tap_dir/stderr" && [ "$(wc -l <"$tap_dir/stderr")" -eq 1 ] &&
		[ ! -s "$tap_dir/stdout" ]; then
		ok "$name"
	else
		not_ok "$name" "exit $got, expected $rc and '$word': $(head -n 3 "$tap_dir/stderr")"
	fi
}

# lru FILE CAPACITIES: hits as "capacity,blocks,tokens".
lru() { "$mooncake" trace stat "$1" --capacities "$2" --format csv | sed 1d | cut -d, -f1-3; }

# pools FILE EVICT CAPACITIES: hits as "policy,capacity,blocks,tokens".
pools() { "$mooncake" trace stat "$1" --evict "$2" -c "$3" --format csv | sed 1d | cut -d, -f1-4; }

# Real traces, where they are; each figure was counted by another program, too.
data=${MOONCAKE_DATA-}
conversation=$data/mooncake/conversation_trace.jsonl.zst synthetic=$data/mooncake/synthetic_trace.jsonl.zst
[ -r "$conversation" ] || conversation=${conversation%.zst} synthetic=${synthetic%.zst}
if [ -n "$data" ] && [ -r "$conversation" ] && [ -r "$synthetic" ]; then
	speaks 'conversation, 10,000 blocks' '10000,60921,31174981' lru "$conversation" 10000,inf
	speaks 'conversation, infinite' 'inf,105710,54098411' lru "$conversation" 10000,inf
	speaks 'synthetic, infinite' 'inf,77953,39852661' lru "$synthetic" inf
	speaks 'conversation, the bound' 'belady,5000,97995,50149293' pools "$conversation" lru,belady 5000
	speaks 'conversation, a pool of lru' 'lru,10000,61046,31238981' pools "$conversation" belady,lru 10K
	speaks 'conversation, distinct blocks' '288,500 references to 182,790 distinct' "$mooncake" trace stat "$conversation"
	"$mooncake" trace convert "$conversation" | "$mooncake" trace stat - -f csv >"$tap_dir/a.csv"
	"$mooncake" trace stat "$conversation" -f csv >"$tap_dir/b.csv"
	silent 'converted, it is the same' cmp "$tap_dir/a.csv" "$tap_dir/b.csv"
else
	skip 'figures of the real traces' 'MOONCAKE_DATA has none'
fi

# The sample is what the spec makes, and all roads to it give the same.
"$mooncake" trace gen "$spec" --set duration=10min -o "$out.zst"
silent 'the sample is what its spec makes' cmp "$out.zst" "$sample"
"$mooncake" trace gen "$spec" --set duration=10min >"$out"
"$mooncake" trace convert "$sample" >"$tap_dir/plain"
silent 'plain and compressed hold the same' cmp "$out" "$tap_dir/plain"
"$mooncake" trace gen "$spec" --seed 2 --set duration=10min | cmp -s - "$out" && same=1 || same=0
[ $same = 0 ] && ok 'another seed, another trace' || not_ok 'another seed, another trace'
speaks 'stdin, compressed' '1,936 of 512-token blocks' sh -c '"$1" trace stat - <"$2"' sh "$mooncake" "$sample"
"$mooncake" trace stat "$sample" -c 1000,inf -f json >"$tap_dir/stat.json"
for key in fingerprint by_block by_token mean_of_requests capacity_blocks hit_blocks hit_tokens requests_per_instant_max \
	reuse_age_s hottest_blocks; do
	speaks "json has $key" "\"$key\"" cat "$tap_dir/stat.json"
done
speaks 'infinity in json' '"capacity_blocks": "inf"' cat "$tap_dir/stat.json"
"$mooncake" trace stat "$sample" -c 100,inf -e all -f json >"$tap_dir/pools.json"
for name in $("$mooncake" list evictors | awk '/^  / { print $1 }'); do
	speaks "json has the pools of $name" "\"evict\": \"$name\"" cat "$tap_dir/pools.json"
done
speaks 'without a limit all policies are one' 'one' sh -c '"$1" trace stat "$2" -f csv -c inf -e all |
	awk -F, "NR > 1 { seen[\$3, \$4] = 1 } END { n = 0; for (s in seen) n++; print (n == 1 && NR > 2 ? \"one\" : n) }"' \
	sh "$mooncake" "$sample"
speaks 'the bound is the most' 'belady' sh -c '"$1" trace stat "$2" -f csv -c 500 -e all | sed 1d | sort -t, -k3,3nr |
	head -n 1' sh "$mooncake" "$sample"
speaks 'csv by policy' 'evict,capacity_blocks,hit_blocks,hit_tokens,block_ratio,token_ratio' \
	"$mooncake" trace stat "$sample" -e lru -f csv
speaks 'text by policy' '  sieve ' "$mooncake" trace stat "$sample" -e lru,sieve
speaks 'the bound is said to be one' 'belady needs the future' "$mooncake" trace stat "$sample" -e belady
"$mooncake" trace stat "$sample" -e lru >"$tap_dir/text"
silent 'only where it is there' sh -c '! grep "needs the future" "$1"' sh "$tap_dir/text"
"$mooncake" trace stat "$sample" >"$tap_dir/plain.txt"
silent 'without policies nothing changes' sh -c 'sed "/^one pool evicting/,/^$/d" "$1" | diff - "$2"' sh "$tap_dir/text" \
	"$tap_dir/plain.txt"
# Ids that name contents: what hits is the same prefix.
printf '{"timestamp": %d, "input_length": %d, "output_length": 1, "hash_ids": %s}\n' 0 1024 '[1, 2]' 1 1024 '[2, 1]' \
	2 1536 '[3, 1, 2]' 3 1024 '[1, 2]' 4 1536 '[3, 1, 4]' >"$tap_dir/unchained"
speaks 'ids that are not chained' 'lru,inf,4,2048' pools "$tap_dir/unchained" lru inf
speaks 'head' '126' "$mooncake" trace head "$sample" -n 100
speaks 'start and limit' '5 of 512-token' "$mooncake" trace stat "$sample" --start 60s --limit 5
speaks 'rate' '298.500 s' "$mooncake" trace stat "$sample" --rate 2
speaks 'smaller blocks' '90' sh -c '"$1" trace head "$2" --kv-block-tokens 256 -n 100' sh "$mooncake" "$sample"
"$mooncake" trace convert "$sample" --spread-ticks --kv-block-tokens 1024 -o "$out"
speaks 'converted, spread and merged' '1,936 instants' "$mooncake" trace stat "$out" --block-tokens 1024
head -n 1 "$tap_dir/plain" >"$tap_dir/one"
speaks 'one request' '1 of 512-token' "$mooncake" trace stat "$tap_dir/one"
speaks 'the spec explains itself' 'system.zipf' "$mooncake" trace gen --help-spec

# Every bad trace: its place, what is wrong, exit 2, and not a word on stdout.
while IFS='|' read -r file text; do
	refused "bad trace $file" "$file" 2 "$mooncake" trace stat "$corpus/$file"
	case $(cat "$tap_dir/stderr") in
	*"$text"*) ok "$file says why" ;;
	*) not_ok "$file says why" "expected '$text', got: $(cat "$tap_dir/stderr")" ;;
	esac
done <"$corpus/expected"
speaks 'unusual but right' '18446744073709551615' "$mooncake" trace convert "$corpus/valid.jsonl"
speaks 'a bad record can be skipped' 'warning: ' "$mooncake" trace head "$corpus/negative.jsonl" --max-bad 1

# Mistakes of the hand.
refused 'no such trace' 'none.jsonl: cannot open' 2 "$mooncake" trace stat none.jsonl
refused 'a folder' 'is a directory' 2 "$mooncake" trace stat "$tap_dir"
refused 'no trace' 'expected one trace' 2 "$mooncake" trace stat
refused 'two traces' "unexpected argument" 2 "$mooncake" trace stat "$sample" "$sample"
refused 'unknown part' 'did you mean stat' 2 "$mooncake" trace stats "$sample"
refused 'unknown option' "did you mean '--capacities'" 2 "$mooncake" trace stat "$sample" --capacity 5
refused 'unknown letter' "unknown option '-x'" 2 "$mooncake" trace stat -x "$sample"
refused 'a value is missing' 'needs a value' 2 "$mooncake" trace stat "$sample" --capacities
refused 'no capacity' '0 is no capacity' 2 "$mooncake" trace stat "$sample" -c 1000,0
refused 'no number' '--capacities' 2 "$mooncake" trace stat "$sample" -c many
refused 'unknown policy' "no eviction policy 'lur', did you mean lru" 2 "$mooncake" trace stat "$sample" -e fifo,lur
refused 'no policy' '--evict' 2 "$mooncake" trace stat "$sample" -e ''
refused 'unknown format' 'expected one of text, json, csv' 2 "$mooncake" trace stat "$sample" -f xml
refused 'unknown trace format' 'no trace format' 2 "$mooncake" trace stat "$sample" -T parquet
refused 'rate 0' '--rate' 2 "$mooncake" trace stat "$sample" --rate 0
refused 'wrong block size' 'hash_ids: has' 2 "$mooncake" trace stat "$sample" --block-tokens 256
refused 'blocks that do not fit' 'expected a divisor or a multiple' 2 "$mooncake" trace stat "$sample" --kv-block-tokens 300
refused 'start after the end' 'start: skips all' 2 "$mooncake" trace stat "$sample" --start 1h
refused 'no spec' 'expected one spec' 2 "$mooncake" trace gen
refused 'unknown key of a spec' 'scales' 2 "$mooncake" trace gen "$spec" --set scales=2
refused 'impossible spec' 'conversation-like.json: output.max:' 2 "$mooncake" trace gen "$spec" --set context_tokens=1000
refused 'a trace is no spec' 'sample' 2 "$mooncake" trace gen "$sample"

# Nowhere to write: exit 1, told once, and no half file.
if [ -c /dev/full ]; then
	for part in 'stat -f json' head convert; do
		# shellcheck disable=SC2086 # words
		"$mooncake" trace $part "$sample" >/dev/full 2>"$tap_dir/stderr"
		rc=$?
		if [ $rc -eq 1 ] && [ "$(wc -l <"$tap_dir/stderr")" -eq 1 ] && grep -q 'No space' "$tap_dir/stderr"; then
			ok "full disk: $part"
		else
			not_ok "full disk: $part" "exit $rc: $(cat "$tap_dir/stderr")"
		fi
	done
else
	skip 'full disk' 'no /dev/full'
fi
refused 'no such folder' 'none/x.jsonl' 1 "$mooncake" trace gen "$spec" -o "$tap_dir/none/x.jsonl"
if { "$mooncake" trace gen "$spec" 2>"$tap_dir/stderr"; echo $? >"$tap_dir/rc"; } | head -n 1 >/dev/null &&
	[ "$(cat "$tap_dir/rc")" = 1 ] && grep -q 'Broken pipe' "$tap_dir/stderr"; then
	ok 'a reader that goes away'
else
	not_ok 'a reader that goes away' "exit $(cat "$tap_dir/rc"): $(cat "$tap_dir/stderr")"
fi
"$mooncake" trace convert "$corpus/cut-line.jsonl" -o "$tap_dir/never" 2>/dev/null
[ ! -e "$tap_dir/never" ] && ok 'no file from a bad trace' || not_ok 'no file from a bad trace'
tap_done
