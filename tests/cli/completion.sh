#!/bin/sh
# What bash offers is what the program takes.
. "$(dirname "$0")/../scripts/tap.sh"

export MC_SRCDIR
command -v bash >/dev/null || {
	skip "completion" "there is no bash"
	tap_done
	exit
}

# offered WORD...: what completes the last word.
offered()
{
	PATH=$MC_BUILDDIR:$PATH bash --norc -c '
		source "$MC_SRCDIR/completion/mooncake.bash"
		compopt() { :; }
		COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
		_mooncake
		printf "%s\n" "${COMPREPLY[@]}"' bash "$@" 2>&1
}

for command in run compare capacity trace config list fit; do
	offered mooncake $command -- | sed 's/ *$//' | sort -u >"$tap_dir/offered"
	{
		echo --help
		"$MC_BUILDDIR/mooncake" $command --help | grep -oE -- '--[a-z][a-z-]+'
	} | sort -u >"$tap_dir/taken"
	silent "options of $command" diff "$tap_dir/taken" "$tap_dir/offered"
done
offered mooncake run x.json --set hardware= | sort >"$tap_dir/offered"
(cd "$MC_SRCDIR/calib/profiles" && printf 'hardware=%s\n' *.json) | sed 's/\.json$//' | sort >"$tap_dir/taken"
silent "profiles" diff "$tap_dir/taken" "$tap_dir/offered"
offered mooncake run x.json --set kv.evict= >"$tap_dir/offered"
silent "evictors, without their heading" sh -c '! grep -v "^kv.evict=[a-z0-9-]*$" "$1"' sh "$tap_dir/offered"
offered mooncake trace stat x --evict lru,be >"$tap_dir/offered"
silent "the last name of a list" sh -c 'echo lru,belady | diff - "$1"' sh "$tap_dir/offered"
for key in conductor.policy conductor.admission conductor.length_predictor conductor.decode_policy clients.mode clients.jitter \
	cluster.batching roles.policy; do
	offered mooncake run x.json --set $key= | sort >"$tap_dir/offered"
	"$MC_BUILDDIR/mooncake" config check "$MC_SRCDIR/experiments/sample/scenario.json" --set $key=- 2>&1 |
		sed 's/.*expected one of //; s/, /\n/g' | sed "s/^/$key=/" | sort >"$tap_dir/taken"
	silent "values of $key" diff "$tap_dir/taken" "$tap_dir/offered"
done
offered mooncake calib '' | sed 's/ *$//' >"$tap_dir/offered"
speaks "what can be measured" "disk" cat "$tap_dir/offered"
offered mooncake calib disk --no >"$tap_dir/offered"
silent "and its options" sh -c 'echo --no-write | diff - "$1"' sh "$tap_dir/offered"
offered mooncake run x.json --set conductor.pol >"$tap_dir/offered"
speaks "keys" "conductor.policy=" cat "$tap_dir/offered"
tap_done
