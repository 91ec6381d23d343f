#!/bin/sh
# Every header compiles alone, twice in one file, and has an include guard that no other header uses.
. "$(dirname "$0")/tap.sh"

# compiles DIR: print what the compiler says of each header below DIR/src and DIR/kernels.
compiles()
{
	find "$1/src" "$1/kernels" "$1/calib" -name '*.h' 2>/dev/null | sort >"$tap_dir/headers"
	while read -r h; do
		printf '#include "%s"\n#include "%s"\n' "$h" "$h" >"$tap_dir/alone.c"
		# shellcheck disable=SC2086 # the flags are words
		$MC_CC -std=gnu11 -Wall -Wextra -Wstrict-prototypes -Werror -fsyntax-only \
			-I"$1/src" -I"$1" -I"$MC_BUILDDIR" $MC_PKG_CFLAGS "$tap_dir/alone.c" 2>&1 |
			sed "s|^|${h#"$1"/}: |" | head -n 20
	done <"$tap_dir/headers"
}

# guards DIR: print each header without a guard of its own.
guards()
{
	find "$1/src" "$1/kernels" "$1/calib" "$1/tests" -name '*.h' 2>/dev/null | sort | xargs awk -v cut="$1/" '
	function finish() {
		if (file == "")
			return
		if (guard == "")
			print file ": no include guard (#ifndef MC_..._H, #define, as the first directives)"
		else if (guard in seen)
			print file ": guard " guard " is already that of " seen[guard]
		seen[guard] = file
	}
	FNR == 1 { finish(); file = substr(FILENAME, length(cut) + 1); guard = ""; wanted = ""; at = 0 }
	/^#/ {
		if (++at == 1 && $1 == "#ifndef" && $2 ~ /^MC_[A-Z0-9_]+_H$/)
			wanted = $2
		else if (at == 2 && $1 == "#define" && $2 == wanted)
			guard = wanted
	}
	END { finish() }'
}

header()
{
	rm -rf "$tap_dir/tree"
	mkdir -p "$tap_dir/tree/src/base"
	printf "$2" >"$tap_dir/tree/src/base/a.h"
	"$1" "$tap_dir/tree"
}

speaks 'a header that needs another is found' 'base/a.h' header compiles 'int f(size_t n);\n'
speaks 'a header that may not be read twice is found' 'base/a.h' header compiles 'struct a { int b; };\n'
speaks 'a missing guard is found' 'no include guard' header guards '#include <stdio.h>\n'
silent 'each header compiles alone' compiles "$MC_SRCDIR"
silent 'each header has a guard of its own' guards "$MC_SRCDIR"
tap_done
