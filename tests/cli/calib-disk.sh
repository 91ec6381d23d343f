#!/bin/sh
# mooncake-calib disk: a small file on the disk that the build is on; what it can't measure, it says; it leaves no file.
. "$(dirname "$0")/../scripts/tap.sh"
calib=$MC_BUILDDIR/mooncake-calib
mooncake=$MC_BUILDDIR/mooncake
mkdir "$tap_dir/disk"

# disk ARGUMENT...: samples go to $tap_dir/samples.
disk() { "$calib" disk "$tap_dir/disk" --samples "$tap_dir/samples" --size 16MiB "$@"; }

# refused NAME WORD RC COMMAND...: exits with RC, says WORD on stderr and nothing on stdout.
refused()
{
	name=$1 word=$2 rc=$3
	shift 3
	"$@" >"$tap_dir/stdout" 2>"$tap_dir/stderr" </dev/null
	got=$?
	if [ $got -eq "$rc" ] && grep -qF -- "$word" "$tap_dir/stderr" && [ ! -s "$tap_dir/stdout" ]; then
		ok "$name"
	else
		not_ok "$name" "exit $got, expected $rc and '$word': $(cat "$tap_dir/stderr")"
	fi
}

refused "no folder given" "operands" 2 "$calib" disk
refused "a folder that is not there" "none: cannot be looked at" 2 "$calib" disk "$tap_dir/none" -s "$tap_dir/samples"
refused "a file" "is no folder" 2 "$calib" disk "$0" -s "$tap_dir/samples"
refused "a size out of range" "--size" 2 disk --size 1KiB
refused "a profile of nothing" "--hardware" 2 disk -o "$tap_dir/p.json"
touch "$tap_dir/x"
refused "nowhere to put samples" "x/y cannot be made" 1 "$calib" disk "$tap_dir/disk" -z 16MiB -s "$tap_dir/x/y"

disk --budget 0.5s >"$tap_dir/stdout" 2>"$tap_dir/stderr"
rc=$?
if [ $rc -eq 77 ]; then
	skip "measuring" "$(cat "$tap_dir/stderr")"
	tap_done
	exit
fi
silent "it measures" [ $rc -eq 0 ]
speaks "what was measured is told" "read     4 KiB     1 " cat "$tap_dir/stdout"
silent "the file is gone" ls -A "$tap_dir/disk"
samples=$tap_dir/samples/disk.csv
speaks "the disk is named" "# device: " sed 2q "$samples"
grep '^disk_' "$samples" >"$tap_dir/first"
points=$(wc -l <"$tap_dir/first")
speaks "a second run goes on from there" ", $points were there" disk --budget 0.1s -q
grep '^disk_' "$samples" | head -n "$points" >"$tap_dir/kept"
silent "and keeps them" cmp "$tap_dir/first" "$tap_dir/kept"
disk --fresh --no-write --budget 0.2s >"$tap_dir/stdout" 2>&1
speaks "a fresh one does not" " 0 were there" cat "$tap_dir/stdout"
silent "reads alone" sh -c '! grep "^disk_write" "$1"' sh "$samples"
sed 's/^# device: .*/# device: another/' "$samples" >"$tap_dir/other" && cp "$tap_dir/other" "$samples"
refused "samples of another disk" "device: the samples are of 'another'" 2 disk --budget 0.1s

# Ctrl-C. (A shell's background commands ignore SIGINT; TERM is the same.)
"$calib" disk "$tap_dir/disk" -s "$tap_dir/cut" -z 16MiB --budget 5s >"$tap_dir/stdout" 2>"$tap_dir/stderr" &
pid=$!
i=0
until grep -qs "^disk_" "$tap_dir/cut/disk.csv" || [ $i -ge 200 ]; do
	i=$((i + 1))
	sleep 0.05
done
kill -TERM $pid
wait $pid
rc=$?
silent "interrupted: 130" [ $rc -eq 130 ]
speaks "interrupted: told" "interrupted; what was measured is kept" cat "$tap_dir/stderr"
speaks "interrupted: kept" "disk_" cat "$tap_dir/cut/disk.csv"
silent "interrupted: the file is gone" ls -A "$tap_dir/disk"

# File systems of our own, as root.
# within TYPE OPTIONS COMMAND...: runs it where $tap_dir/disk is such a file system.
within()
{
	type=$1 options=$2
	shift 2
	unshare -m sh -c 'mount -t "$1" -o "$2" none "$3" || exit 99; shift 3; exec "$@"' sh "$type" "$options" "$tap_dir/disk" "$@"
}
if within tmpfs size=1m true 2>/dev/null; then
	refused "a full disk" "are free" 1 within tmpfs size=1m "$calib" disk "$tap_dir/disk" -s "$tap_dir/full"
	refused "a disk without O_DIRECT" "has no O_DIRECT" 77 within ramfs rw "$calib" disk "$tap_dir/disk" -s "$tap_dir/full"
	refused "a disk that cannot be written" "no file can be made there" 1 within tmpfs ro "$calib" disk "$tap_dir/disk" -s "$tap_dir/full"
	silent "refused before anything is written" [ ! -e "$tap_dir/full" ]
	speaks "the file is half of what is free, at most" "instead of 1.07 GB" within tmpfs size=40m \
		"$calib" disk "$tap_dir/disk" -z 1GiB -b 0.1s -s "$tap_dir/memory"
	speaks "memory is no disk" "is memory, no disk" within tmpfs size=40m \
		"$calib" disk "$tap_dir/disk" -z 16MiB -b 0.1s -s "$tap_dir/memory" --fresh
else
	skip "a full disk, one without O_DIRECT, one that is read only" "needs root"
fi
tap_done
