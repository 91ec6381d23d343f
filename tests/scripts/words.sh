#!/bin/sh
# The tree speaks only of itself: no folders of the machine it was written on, no package hosts, no working notes.
. "$(dirname "$0")/tap.sh"

# files DIR: what is kept in the tree, relative to DIR; build products and this test left out.
files()
{
	(
		cd "$1" || exit 1
		if [ -e .git ] && git ls-files >"$tap_dir/files" 2>/dev/null && [ -s "$tap_dir/files" ]; then
			cat "$tap_dir/files"
		else
			find . -type f | sed 's|^\./||' |
				grep -Ev '^(build[^/]*|m4|autom4te\.cache|mooncake-sim-[^/]*|\.git)/|(^|/)(Makefile(\.in)?|config\..*|configure~?|aclocal\.m4|stamp-h1)$|\.(o|a|log|trs|Po)$' |
				grep -Ev '^build-aux/(ar-lib|compile|config\..*|depcomp|install-sh|missing|tap-driver\.sh|test-driver)$'
		fi | grep -vx 'tests/scripts/words\.sh' | sort
	)
}

# grep_tree DIR PATTERN [EXCEPT]: lines with the pattern, each with its place, but not in the file EXCEPT.
grep_tree()
{
	files "$1" | grep -vxF -e "${3-.}" >"$tap_dir/list"
	(cd "$1" && tr '\n' '\0' <"$tap_dir/list" | xargs -0 grep -InHE -e "$2" -- /dev/null) || :
}

home='(^|[^A-Za-z0-9_.}%])/(work|root|home)(/|[^-A-Za-z0-9_/]|$)'
beside='(^|[^A-Za-z0-9_])shared/'
hosts='(deb|security|ftp)[a-z.]*\.debian\.org|archive\.ubuntu\.com|registry\.npmjs|pypi\.org|pythonhosted\.org|static\.crates\.io|proxy\.golang\.org|conda\.anaconda'
notes='DESIGN\.md|RECIPES\.md|SYSTEM\.md|PROVENANCE\.md|issues? (show|list|#?[0-9])|(this|previous|earlier|next|parallel) (session|helper)s? (of|will|did|has|work)|[Bb]rief\.md|as an AI|language model wrote'
unfinished='(^|[^A-Za-z])(TO''DO|FIX''ME|X''XX|HA''CK|TB''D|not (yet )?implemented)([^A-Za-z]|$)'

text()
{
	rm -rf "$tap_dir/tree"
	mkdir -p "$tap_dir/tree"
	printf '%s\n' "$1" >"$tap_dir/tree/a.txt"
	grep_tree "$tap_dir/tree" "$2"
}

speaks 'a folder of the machine is found' 'a.txt:1:' text 'cd /work/x' "$home"
speaks 'a folder beside the tree is found' 'a.txt:1:' text 'see ../shared/x' "$beside"
speaks 'a package host is found' 'a.txt:1:' text 'http://deb.debian.org/debian' "$hosts"
speaks 'an unfinished place is found' 'a.txt:1:' text '/* TO''DO: more */' "$unfinished"
silent 'plain words pass' text 'sessions of several turns share a prefix; net/work is no folder' \
	"$home|$beside|$hosts|$notes|$unfinished"
silent 'no folders of one machine' grep_tree "$MC_SRCDIR" "$home"
silent 'no folders beside the tree' grep_tree "$MC_SRCDIR" "$beside" .ci/run
silent 'no package hosts' grep_tree "$MC_SRCDIR" "$hosts"
silent 'no working notes' grep_tree "$MC_SRCDIR" "$notes"
silent 'nothing unfinished' grep_tree "$MC_SRCDIR" "$unfinished"
tap_done
