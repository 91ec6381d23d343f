#!/bin/sh
# No mutable globals: several simulations fit in one process. Constant tables (also those with addresses) are fine.
. "$(dirname "$0")/tap.sh"

# mutable OBJECT...: each symbol in a writable section.
mutable()
{
	nm -A -f sysv "$@" 2>/dev/null | awk -F '|' '
		NF >= 7 {
			gsub(/[ \t]/, "", $7)
			split($1, at, /:/)
			sub(/^.*:/, "", $1)
			if ($7 ~ /^(\.data|\.bss|\.tdata|\.tbss|\.sdata|\.sbss|\*COM\*|COMMON)/ && $7 !~ /^\.data\.rel\.ro/)
				print at[1] ": " $1 " in " $7 " is a mutable global; expected const or a member of a struct"
		}'
}

object()
{
	printf '%s\n' "$1" >"$tap_dir/a.c"
	$MC_CC -O0 -fPIE -c -o "$tap_dir/a.o" "$tap_dir/a.c" && mutable "$tap_dir/a.o"
}

command -v nm >/dev/null || {
	skip 'no mutable globals' 'nm is not installed'
	tap_done
	exit
}
speaks 'a counter is found' 'counter' object 'int counter;'
speaks 'a static buffer in a function is found' 'buffer' object 'char *f(void) { static char buffer[9]; return buffer; }'
speaks 'an initialised variable is found' 'level' object 'int level = 3; int *f(void) { return &level; }'
silent 'a table of addresses passes' object 'extern const int a, b; const int *const table[] = {&a, &b, 0};'
objects=$(cd "$MC_BUILDDIR" && find src -name '*.o' 2>/dev/null | grep -v '^src/cli/' | sort)
if [ -z "$objects" ]; then
	not_ok 'no mutable globals' "no objects in $MC_BUILDDIR/src; expected the library to be built"
elif (cd "$MC_BUILDDIR" && nm $objects 2>/dev/null) | grep -Eq '__(asan|tsan|ubsan|gcov|llvm_profile)_'; then
	skip 'no mutable globals' 'instrumented build'
else
	cd "$MC_BUILDDIR" || exit 99
	silent 'no mutable globals' mutable $objects
fi
tap_done
