#!/bin/sh
# The lists in local.mk: sorted, every source file in exactly one of them, every module in its registry.
. "$(dirname "$0")/tap.sh"

# joined DIR: the rules and lists of every local.mk below it, one a line after its file and a tab; no comments.
joined()
{
	(cd "$1" && find src kernels calib tests -name local.mk 2>/dev/null | sort | xargs awk '
		{ sub(/#.*/, ""); gsub(/\t/, " ") }
		/\\$/ { sub(/\\$/, " "); text = text $0; next }
		{ if (text $0 != "") print FILENAME "\t" text $0; text = "" }')
}

# unlisted DIR: source files that no local.mk names, and names without a file.
unlisted()
{
	joined "$1" | awk -F '\t' '
		$2 ~ /^ *nodist_/ { next }
		{
			dir = $1
			sub(/\/local.mk$/, "", dir)
			n = split($2, word, " ")
			for (i = 1; i <= n; i++)
				if (sub(/^%D%/, dir, word[i])) {
					if (word[1] ~ /^(UNIT_TESTS|VERBS_TESTS|KERNEL_(HOST_)?TESTS|BENCHES)$/ && word[i] !~ /\./)
						word[i] = word[i] ".c"
					if (word[i] ~ /\.([ch]|cuh?|cc)$/ && word[i] !~ /_registry\.c$/)
						print word[i]
				}
		}' | sort -u >"$tap_dir/listed"
	(cd "$1" && find src kernels calib tests -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' -o -name '*.cc' 2>/dev/null) | grep -v '_registry\.c$' |
		sort -u >"$tap_dir/there"
	comm -13 "$tap_dir/listed" "$tap_dir/there" | sed 's/$/: is in no local.mk/'
	comm -23 "$tap_dir/listed" "$tap_dir/there" | sed 's/$/: is listed, but there is no such file/'
}

# unsorted DIR: lists that are not in order: sources, tests, modules (NAMES in capitals).
unsorted()
{
	joined "$1" | awk -F '\t' '
		$2 !~ /^(nodist_)?[A-Za-z_]+ *\+?= / { next }
		{
			n = split($2, word, " ")
			if (word[1] !~ /^(lib[a-z_]*_SOURCES|[A-Z]+_[A-Z_]+)$/ || word[1] ~ /^(EXTRA_DIST|BUILT_SOURCES|.*(LIBS|FLAGS|ENVIRONMENT|DRIVER|EXTENSIONS|COMPILER))$/)
				next
			for (i = 3; i <= n; i++) {
				key = word[i]
				if (key ~ /^\$/)
					key = ""
				if (word[1] ~ /_SOURCES$/)
					sub(/\.([ch]|cuh?|cc)$/, "", key)
				if (i > 3 && key < last) {
					print $1 ": " word[1] ": " word[i] " is out of order"
					break
				}
				last = key
			}
		}'
}

# unregistered DIR: modules that are defined and in no registry, or named and not defined.
unregistered()
{
	joined "$1" >"$tap_dir/joined"
	sed -n "s/\$(REGISTRY)/\t/; s/[\"']//g; s/ *>.*//; s/^\([^\t]*\)\t.*\t *[^ ]* struct /\1 /p" "$tap_dir/joined" |
		while read -r mk type table prefix list; do
			dir=${mk%/local.mk}
			var=$(echo "$list" | sed -n 's/^\$(\([A-Z_a-z]*\)).*/\1/p')
			[ -z "$var" ] || list=$(sed -n "s|^$mk\t$var *= *||p" "$tap_dir/joined" | sed "s|%D%|$dir|g")
			module="s/^const struct $type \($prefix[a-z0-9_]*\) *= *{.*/\1/p"
			(
				cd "$1" || exit 1
				for w in $list; do
					case $w in
					*.c) sed -n "$module" "$w" ;;
					*) echo "$prefix$(printf %s "$w" | tr - _)" ;;
					esac
				done | sort -u >"$tap_dir/named"
				# The name that users write is that of the symbol.
				find "$dir" -name '*.c' -exec awk -v define="^const struct $type $prefix[a-z0-9_]* *= *[{]" \
					-v prefix="$prefix" '
					$0 ~ define { wanted = $4; sub("^" prefix, "", wanted); gsub("_", "-", wanted) }
					wanted != "" && $1 == ".name" {
						if ($3 != "\"" wanted "\",")
							print FILENAME ":" FNR ": .name is " $3 " expected \"" wanted "\""
						wanted = ""
					}' {} +
				find "$dir" -name '*.c' -exec sed -n "$module" {} + | sort -u >"$tap_dir/defined"
			)
			comm -13 "$tap_dir/named" "$tap_dir/defined" | sed "s|.*|$mk: module & is not in the list of $table|"
			comm -23 "$tap_dir/named" "$tap_dir/defined" | sed "s|.*|$mk: $table lists &, which no file of $dir defines|"
		done
}

# room CHECK LOCAL_MK: a made-up room with two modules.
room()
{
	rm -rf "$tap_dir/tree"
	mkdir -p "$tap_dir/tree/src/kv"
	for m in fifo lru; do
		printf 'const struct mc_evictor mc_evictor_%s = {\n' $m >"$tap_dir/tree/src/kv/$m.c"
	done
	printf "$2" >"$tap_dir/tree/src/kv/local.mk"
	"$1" "$tap_dir/tree"
}
misnamed()
{
	room : ''
	printf 'const struct mc_evictor mc_evictor_fifo = {\n\t.name = "filo",\n' >"$tap_dir/tree/src/kv/fifo.c"
	printf "KV = fifo lru\n$rule" >"$tap_dir/tree/src/kv/local.mk"
	unregistered "$tap_dir/tree"
}
rule='\n%%D%%/r.c:\n\t$(REGISTRY) kv/evict.h "struct mc_evictor" mc_evictors mc_evictor_ $(KV) > $@\n'

speaks 'a file in no list is found' 'src/kv/lru.c: is in no' room unlisted 'KV = %%D%%/fifo.c\n'
speaks 'a listed file that is not there is found' 'no such file' room unlisted 'KV = %%D%%/fifo.c %%D%%/arc.c\n'
speaks 'a list out of order is found' 'out of order' room unsorted 'KV_X = %%D%%/lru.c %%D%%/fifo.c\n'
speaks 'a module in no registry is found' 'mc_evictor_lru is not in' room unregistered "KV = fifo\n$rule"
speaks 'a registered module that is not there is found' 'lists mc_evictor_arc' room unregistered "KV = arc fifo lru\n$rule"
silent 'names and files both do' room unregistered "KV = %%D%%/fifo.c lru\n$rule"
speaks 'a module of another name is found' 'expected "fifo"' misnamed
silent 'every source file is listed, every listed file exists' unlisted "$MC_SRCDIR"
silent 'lists are sorted' unsorted "$MC_SRCDIR"
silent 'every module is in its registry' unregistered "$MC_SRCDIR"
tap_done
