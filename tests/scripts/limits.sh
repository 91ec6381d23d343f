#!/bin/sh
# Sizes that keep a room livable, and what nothing below cli/ may do.
. "$(dirname "$0")/tap.sh"

sources() { (cd "$1" && find src kernels calib tests -type f "(" -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cc' -o -name '*.sh' ")" 2>/dev/null | sort); }

# long_files DIR: files over 500 lines, lines over 110 columns (a tab is 8).
long_files()
{
	(cd "$1" && sources . | xargs awk '
		function finish() { if (n > 500) print file ":" n ": " n " lines; expected at most 500" }
		FNR == 1 { finish(); file = FILENAME; code = file ~ /\.([ch]|cuh?|cc)$/ }
		{ n = FNR }
		code && length($0) > 80 {
			line = $0
			while ((at = index(line, "\t")) > 0)
				line = substr(line, 1, at - 1) substr("        ", 1, 8 - (at - 1) % 8) substr(line, at + 1)
			if (length(line) > 110)
				print FILENAME ":" FNR ": " length(line) " columns; expected at most 110"
		}
		END { finish() }')
}

# long_functions DIR: functions over 60 lines, from { in the first column to } there.
long_functions()
{
	(cd "$1" && sources . | grep '\.\([ch]\|cuh*\|cc\)$' | xargs awk '
		FNR == 1 { start = 0 }
		/^[a-z_].*\(/ { name = $0 }
		/^\{/ { start = FNR }
		/^\}/ && start {
			if (FNR - start + 1 > 60)
				print FILENAME ":" start ": " FNR - start + 1 " lines; expected at most 60: " name
			start = 0
		}')
}

# many_parameters DIR: declarations and definitions with more than 5 parameters (... is none).
many_parameters()
{
	(cd "$1" && sources . | grep '^src/.*\.[ch]$\|^kernels/.*\.[ch]$\|^calib/.*\.[ch]$' | xargs awk '
		FNR == 1 { depth = paren = comment = skipping = 0; statement = ""; inside = 0 }
		# Comments, preprocessor lines and literals say nothing here.
		comment { if (!sub(/^.*\*\//, "")) next; comment = 0 }
		skipping || /^[ \t]*#/ { skipping = /\\$/; next }
		{
			gsub(/\\./, "")
			gsub(/"[^"]*"/, "0")
			gsub(/\047[^\047]*\047/, "0")
			gsub(/\/\*([^*]|\*[^\/])*\*\//, "")
			sub(/\/\/.*/, "")
			if (sub(/\/\*.*/, ""))
				comment = 1
			scan($0 " ")
		}
		function scan(line,    i, c) {
			# Nothing but braces matters within a function or an initialiser.
			for (i = 1; i <= length(line); i++) {
				c = substr(line, i, 1)
				if (c == "{" && !paren) {
					if (depth == inside && statement ~ /(^|[ \t])(struct|union)[^()=]*$/)
						inside++
					depth++
					statement = ""
				} else if (c == "}" && !paren) {
					depth--
					if (depth < inside)
						inside = depth
					statement = ""
				} else if (depth != inside)
					continue
				else if (c == ";" && !paren)
					statement = ""
				else {
					statement = statement c
					if (c == "(" && ++paren == 1) {
						count = 1
						where = FNR
						group = ""
					} else if (c == ")" && --paren == 0) {
						if (group ~ /\.\.\.[ \t]*$/)
							count--
						if (count > 5)
							print FILENAME ":" where ": " count " parameters; expected at most 5: " statement
					} else if (c == "," && paren == 1)
						count++
					group = group c
				}
			}
		}')
}

# loud DIR: what only cli/ may do (leave the process, print to the caller), and out/ in part. The one exception is
# base/vec.c, which gives up when memory has run out. (abort() is an assertion.)
loud()
{
	(
		cd "$1" || exit 1
		calls='(^|[^A-Za-z0-9_>.])'
		grep -nE "$calls(exit|_exit|_Exit|quick_exit|perror|err|errx|warn|warnx) ?\(" /dev/null \
			$(sources . | grep '^src/' | grep -v '^src/cli/\|^src/base/vec\.c$')
		grep -nE "$calls(printf|vprintf|puts|putchar) ?\(|[( ]std(out|err)[,)]" /dev/null \
			$(sources . | grep '^src/' | grep -v '^src/\(cli\|out\)/\|^src/base/vec\.c$')
		:
	) | grep -v ':[0-9]*:[	 ]*\(/\*\| \*\|//\)' || :
}

# source TEXT CHECK: a made-up tree with one file.
source_file()
{
	rm -rf "$tap_dir/tree"
	mkdir -p "$tap_dir/tree/src/kv"
	printf '%s\n' "$1" >"$tap_dir/tree/src/kv/a.c"
	"$2" "$tap_dir/tree"
}
lines() { awk -v n="$1" 'BEGIN { for (i = 0; i < n; i++) print "\tx++;" }'; }

speaks 'a long file is found' '501 lines' source_file "$(lines 501)" long_files
speaks 'a long line is found' '111 columns' source_file "$(printf '\t%0103d' 1)" long_files
speaks 'a long function is found' '61 lines' source_file "$(printf 'int f(void)\n{\n'; lines 59; echo '}')" long_functions
silent 'a function of 60 lines passes' source_file "$(printf 'int f(void)\n{\n'; lines 58; echo '}')" long_functions
speaks 'six parameters are found' '6 parameters' source_file 'int f(int a, int b, int c, int d, int e, int g);' many_parameters
speaks 'six parameters in a table of functions are found' '6 parameters' \
	source_file 'struct a {
	int (*f)(int a, int b, int c, int d, int e, int g);
};' many_parameters
silent 'calls, formats and strings are no parameters' source_file 'int f(int a, ...) /* (a, b, c, d, e, f) */
	__attribute__((format(printf, 1, 2)));
static const int t[] = {1, 2, 3, 4, 5, 6, 7};
int g(void)
{
	return f(1, 2, 3, 4, 5, 6, "(,,,,,,", 7);
}' many_parameters
speaks 'leaving the process is found' 'a.c:2' source_file '#include <stdlib.h>
void f(void) { exit(1); }' loud
speaks 'printing is found' 'a.c:1' source_file 'void f(void) { fputs("a", stderr); }' loud
silent 'files have at most 500 lines of 110 columns' long_files "$MC_SRCDIR"
silent 'functions have at most 60 lines' long_functions "$MC_SRCDIR"
silent 'functions have at most 5 parameters' many_parameters "$MC_SRCDIR"
silent 'nothing below cli/ leaves the process or prints' loud "$MC_SRCDIR"
tap_done
