#!/bin/sh
# mooncake calib runs mooncake-calib: beside itself, else in PATH; its arguments and exit code are that program's.
. "$(dirname "$0")/../scripts/tap.sh"
mkdir "$tap_dir/here" "$tap_dir/path" "$tap_dir/folder" "$tap_dir/folder/mooncake-calib"
ln "$MC_BUILDDIR/mooncake" "$tap_dir/here/mooncake" 2>/dev/null || cp "$MC_BUILDDIR/mooncake" "$tap_dir/here/mooncake"
mooncake=$tap_dir/here/mooncake

# made FOLDER: a mooncake-calib that says where it is and what it was given, and exits with 41.
made()
{
	cat >"$tap_dir/$1/mooncake-calib" <<-END
		#!/bin/sh
		echo "$1"
		for a; do echo "<\$a>"; done
		exit 41
	END
	chmod +x "$tap_dir/$1/mooncake-calib"
}

# calib ARGUMENT...: with a PATH of its own; what it prints, then its exit code.
calib()
{
	PATH=$tap_dir/folder:$tap_dir/path "$mooncake" calib "$@" 2>&1
	echo "exit $?"
}

speaks "it is missing: told" "calib: there is no mooncake-calib beside this program, nor in PATH" calib disk .
speaks "it is missing: exit 1" "exit 1" calib disk .
made path
calib disk '' 'a  b' -o "it's" --help >"$tap_dir/got"
printf '%s\n' path '<disk>' '<>' '<a  b>' '<-o>' "<it's>" '<--help>' 'exit 41' >"$tap_dir/want"
silent "found in PATH, arguments and exit code passed through" diff "$tap_dir/want" "$tap_dir/got"
made here
speaks "the one beside comes first" "here" calib
chmod -x "$tap_dir/here/mooncake-calib"
speaks "one that cannot be run is none" "path" calib
printf '#!/nonexistent/sh\n' >"$tap_dir/path/mooncake-calib"
speaks "no interpreter: told" "cannot be run" calib
speaks "mooncake help lists it" "  calib " "$mooncake" help
speaks "help of it needs no such program" "mooncake calib --help" "$mooncake" help calib
speaks "so is its own help" "usage: mooncake-calib" "$MC_BUILDDIR/mooncake" calib --help
tap_done
