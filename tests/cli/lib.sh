# Shared by the scripts of run, compare and config: source it after tap.sh.
mooncake=$MC_BUILDDIR/mooncake
out=$tap_dir/out.json

# refused NAME WORD RC COMMAND...: exits with RC, says WORD on stderr and nothing on stdout, and leaves no $out.
refused()
{
	name=$1 word=$2 rc=$3
	shift 3
	rm -f "$out"
	"$@" >"$tap_dir/stdout" 2>"$tap_dir/stderr" </dev/null
	got=$?
	if [ $got -eq "$rc" ] && grep -qF -- "$word" "$tap_dir/stderr" && [ ! -s "$tap_dir/stdout" ] && [ ! -e "$out" ]; then
		ok "$name"
	else
		not_ok "$name" "exit $got, expected $rc and '$word': $(cat "$tap_dir/stderr")"
	fi
}

# passes NAME COMMAND...: exits with 0.
passes()
{
	name=$1
	shift
	if said=$("$@" 2>&1); then ok "$name"; else not_ok "$name" "exit $?: $said"; fi
}

# A trace of 60 requests: ten conversations that grow, three requests at one instant.
awk 'BEGIN {
	for (i = 0; i < 60; i++) {
		session = i % 10
		turn = int(i / 10) + 1
		ids = ""
		for (b = 0; b < 4 * turn; b++)
			ids = ids (b ? ", " : "") 1000 * (session + 1) + b
		printf "{\"timestamp\": %d, \"input_length\": %d, \"output_length\": %d, \"hash_ids\": [%s]}\n",
			int(i / 3) * 3000, 2048 * turn - session, 1 + i % 40, ids
	}
}' >"$tap_dir/trace.jsonl"
scenario=$tap_dir/scenario.json
echo '{"trace": {"path": "trace.jsonl"}, "cluster": {"prefill": 2, "decode": 2}, "run": {"sample": "1s"}}' >"$scenario"

# Was the program built with sanitizers?
sanitized() { nm "$mooncake" 2>/dev/null | grep -q '__[at]san_init'; }
