#!/bin/sh
# What the program can do is in the man pages and in the completion; the man pages are well formed.
. "$(dirname "$0")/tap.sh"

mooncake=$MC_BUILDDIR/mooncake
completion=$MC_SRCDIR/completion/mooncake.bash

# missing FILE WORD...: the words that the file does not have, man(7) escapes aside.
missing()
{
	file=$1
	shift
	sed 's/\\-/-/g; s/\\f[BIR]//g' "$file" >"$tap_dir/text"
	for w; do
		grep -Fqw -e "$w" "$tap_dir/text" || echo "${file#"$MC_SRCDIR/"}: says nothing of '$w'"
	done
}

# malformed: what groff complains of.
malformed() { for page in "$MC_SRCDIR"/man/*.[15]; do groff -man -ww -Tutf8 -z "$page"; done; }

# completions WORD...: what bash offers for the last word.
completions()
{
	PATH=$MC_BUILDDIR:$PATH bash --norc -c '
		. "$1"
		shift
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		compopt() { :; }
		_mooncake
		printf "%s\n" "${COMPREPLY[@]}"' complete "$completion" "$@"
}

commands=$("$mooncake" help 2>/dev/null | sed -n 's/^  \([a-z][a-z-]*\)  *.*/\1/p')
keys=$("$mooncake" help config 2>/dev/null | awk '$1 ~ /^[a-z_]+(\.[a-z0-9_]+)*$/ && $1 != "key" { print $1 }')
metrics=$("$mooncake" help metrics 2>/dev/null |
	awk '/^[a-z_]/ && $1 ~ /^[a-z_]+(\.[a-z0-9_]+)*$/ { sub(/.*\./, "", $1); print $1 }')

echo 'one two' >"$tap_dir/page"
speaks 'a missing word is found' "'three'" missing "$tap_dir/page" two three
if command -v groff >/dev/null; then silent 'man pages are well formed' malformed; else
	skip 'man pages are well formed' 'groff is not installed'
fi
# shellcheck disable=SC2086 # lists of words
if [ -n "$commands" ]; then
	silent 'every command is in the man page' missing "$MC_SRCDIR/man/mooncake.1" $commands
	silent 'every command is completed' missing "$completion" $commands
else
	skip 'every command is in the man page and completed' 'mooncake help lists none'
fi
if [ -n "$keys" ]; then
	silent 'every key of a scenario is in the man page' missing "$MC_SRCDIR/man/mooncake-scenario.5" $keys
else
	skip 'every key of a scenario is in the man page' 'mooncake help config lists none'
fi
if [ -n "$metrics" ]; then
	silent 'every metric is in the man page' missing "$MC_SRCDIR/man/mooncake-result.5" $metrics
else
	skip 'every metric is in the man page' 'mooncake help metrics lists none'
fi
if "$mooncake" run "$MC_SRCDIR/experiments/sample/scenario.json" -q --set trace.limit=5 \
	--out-dir "$tap_dir/csv" -o /dev/null 2>/dev/null; then
	columns=$(sed -s 1q "$tap_dir"/csv/*.csv | tr ',' '\n')
	# shellcheck disable=SC2086 # a list of words
	silent 'every column of the CSV files is in the man page' missing "$MC_SRCDIR/man/mooncake-result.5" $columns
else
	skip 'every column of the CSV files is in the man page' 'the sample does not run'
fi
if command -v bash >/dev/null; then
	speaks 'commands are completed' 'compare' completions mooncake com
	speaks 'options are completed' '--seeds' completions mooncake run --see
	speaks 'values of a key are completed' 'cluster.stream=after' completions mooncake run --set cluster.stream=a
	if [ -n "$keys" ]; then
		speaks 'keys are completed' 'conductor.policy=' completions mooncake run --set conductor.pol
	else
		skip 'keys are completed' 'mooncake help config lists none'
	fi
else
	skip 'completion' 'bash is not installed'
fi
tap_done
