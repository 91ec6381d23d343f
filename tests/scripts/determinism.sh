#!/bin/sh
# The same bytes for one seed: run twice, with and without address randomisation, with other compilers and levels.
# MC_LIGHT=1 leaves out what has to be compiled anew.
. "$(dirname "$0")/tap.sh"

scenario=$MC_SRCDIR/experiments/sample/scenario.json
mooncake=$MC_BUILDDIR/mooncake

# everything PROGRAM DIR: all that a run writes, into DIR: result, tables, what goes to stdout as text.
everything()
{
	mkdir -p "$2" || return
	"$1" run "$scenario" --format json --out-dir "$2/files" >"$2/result.json" 2>"$2.err" &&
		"$1" run "$scenario" >"$2/result.txt" 2>"$2.err"
}

# same NAME DIR COMMAND...: passes when the command fills DIR with the same bytes as the first run.
same()
{
	name=$1 dir=$2
	shift 2
	if ! "$@"; then
		not_ok "$name" "$* failed: $(tail -n 5 "$dir.err" 2>/dev/null)"
	elif ! differs=$(diff -r "$tap_dir/first" "$dir" 2>&1); then
		not_ok "$name" "differs from the first run (expected the same bytes): $(echo "$differs" | head -n 10)"
	else
		ok "$name"
	fi
}

# compile COMPILER LEVEL PROGRAM: the whole program in one invocation.
compile()
{
	files=$(while read -r f; do
		case $f in *.c) if [ -f "$MC_BUILDDIR/$f" ]; then echo "$MC_BUILDDIR/$f"; else echo "$MC_SRCDIR/$f"; fi ;; esac
	done <"$MC_BUILDDIR/tests/scripts/sources.txt")
	# shellcheck disable=SC2086 # flags and files are words
	$1 $MC_CFLAGS $2 -DHAVE_CONFIG_H -DMC_PROFILE_DIR='"none"' -I"$MC_BUILDDIR" -I"$MC_BUILDDIR/src" \
		-I"$MC_SRCDIR/src" $MC_PKG_CFLAGS -o "$3" $files $MC_PKG_LIBS >"$3.log" 2>&1
}

# rebuilt COMPILER LEVEL: compile, then run; all output goes to the first run's twin.
rebuilt()
{
	compile "$1" "$2" "$tap_dir/$1$2" || {
		head -n 20 "$tap_dir/$1$2.log" >"$tap_dir/by$1$2.err"
		return 1
	}
	everything "$tap_dir/$1$2" "$tap_dir/by$1$2"
}

reason=
[ -x "$mooncake" ] && have_command run || reason='the command run is not there'
[ -f "$scenario" ] || reason="${scenario#"$MC_SRCDIR/"} is not there"
if [ -n "$reason" ]; then
	skip 'the same bytes for one seed' "$reason"
	tap_done
	exit
fi

if everything "$mooncake" "$tap_dir/first"; then
	ok 'the sample runs'
else
	not_ok 'the sample runs' "$(cat "$tap_dir/first.err")"
	tap_done
	exit
fi
"$mooncake" run "$scenario" --seed 2 --format json >"$tap_dir/other.json" 2>/dev/null
if cmp -s "$tap_dir/first/result.json" "$tap_dir/other.json"; then
	not_ok 'another seed shows in the result' 'seeds 1 and 2 gave the same bytes'
else
	ok 'another seed shows in the result'
fi
same 'a second run' "$tap_dir/second" everything "$mooncake" "$tap_dir/second"

# Without randomised addresses, where this may be switched off (the first run had them where they are on).
if setarch "$(uname -m)" -R true 2>/dev/null; then
	still() { setarch "$(uname -m)" -R "$mooncake" "$@"; }
	same 'a run without address randomisation' "$tap_dir/still" everything still "$tap_dir/still"
else
	skip 'a run without address randomisation' 'setarch -R is not allowed here'
fi

# Beside the build itself, most often gcc -O2: each compiler and each level once.
for by in 'gcc -O0' 'clang -O2'; do
	cc=${by% *} level=${by#* }
	if [ "${MC_LIGHT-0}" = 1 ]; then
		skip "$by" 'MC_LIGHT is set'
	elif ! command -v $cc >/dev/null; then
		skip "$by" "$cc is not installed"
	else
		same "$by" "$tap_dir/by$cc$level" rebuilt $cc $level
	fi
done
tap_done
