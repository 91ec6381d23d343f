#!/bin/sh
# Every file under version control is in the tarball, so nobody builds less than the developers do. Skipped in a tarball, which
# has no history.
. "$(dirname "$0")/tap.sh"

[ -e "$MC_SRCDIR/.git" ] && command -v git >/dev/null || { echo '1..0 # SKIP no history to compare with'; exit 0; }

# missing FILE...: those of them that the list of packed files doesn't have.
missing() { printf '%s\n' "$@" | sort | comm -23 - "$tap_dir/packed"; }

make -s -C "$MC_BUILDDIR" list-dist | sort -u >"$tap_dir/packed"
files=$(cd "$MC_SRCDIR" && git ls-files) && [ -n "$files" ] || not_ok 'git lists the files'
silent 'every file is in the tarball' missing $(echo "$files" | grep -v '^[.]gitignore$')
speaks 'a file that is missing is named' no-such-file missing README no-such-file
tap_done
