# TAP for the shell tests: source it, call ok/not_ok/skip or `check`, end with `tap_done`.
# MC_SRCDIR and MC_BUILDDIR come from `make check`; by hand, the defaults are the tree and the current folder.
: "${MC_SRCDIR:=$(cd "$(dirname "$0")/../.." && pwd)}" "${MC_BUILDDIR:=$PWD}" "${MC_CC:=cc}"
export LC_ALL=C
tap_n=0 tap_bad=0
tap_dir=$(mktemp -d "$MC_BUILDDIR/tap.XXXXXX") || exit 99
trap 'rm -rf "$tap_dir"' EXIT
trap 'exit 99' HUP INT TERM

ok() { tap_n=$((tap_n + 1)); echo "ok $tap_n - $1"; }
skip() { tap_n=$((tap_n + 1)); echo "ok $tap_n - $1 # SKIP $2"; }

# not_ok NAME [WHAT]: what and where go to the log as comments.
not_ok()
{
	tap_n=$((tap_n + 1)) tap_bad=$((tap_bad + 1))
	echo "not ok $tap_n - $1"
	[ $# -lt 2 ] || printf '%s\n' "$2" | sed 's/^/# /'
}

# silent NAME COMMAND...: passes when the command succeeds and says nothing; what it says are the breaches.
silent()
{
	name=$1
	shift
	if said=$("$@" 2>&1) && [ -z "$said" ]; then ok "$name"; else not_ok "$name" "${said:-$* failed}"; fi
}

# speaks NAME WORD COMMAND...: passes when the output has WORD; shows that a check is able to fail.
speaks()
{
	name=$1 word=$2
	shift 2
	said=$("$@" 2>&1)
	case $said in
	*"$word"*) ok "$name" ;;
	*) not_ok "$name" "expected a line with '$word', got: $said" ;;
	esac
}

# The commands of the program; empty until it has any.
have_command() { "$MC_BUILDDIR/mooncake" help 2>/dev/null | grep -Eq "^ *(mooncake )?$1( |\$)"; }

# Under `make check` the lines say it all (a status would count as one more failure).
tap_done()
{
	echo "1..$tap_n"
	[ "$tap_bad" -eq 0 ] || [ -n "${MC_TAP-}" ]
}
