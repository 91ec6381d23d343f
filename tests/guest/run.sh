#!/bin/sh
# run.sh [-n NICS] [-m MIB] [-t SECONDS] [-c FOLDER] [-h HOST] [-j SOCKET PEER] COMMAND: run a shell command in a guest under qemu, which
# sees this host's files as they are, may write in the current folder (all else it forgets), is root, and has NICS (default 2)
# network interfaces with a Soft-RoCE device each. Its output is printed, its exit code returned. 77: what it takes is
# missing; 124: over the time limit (default 60); 125: the guest ended otherwise, with its console on stderr.
#   -c  where kernel.sh left the kernel (default: tests/guest/kernel below the current folder)
#   -h  number of this host (default 1), the last part of its addresses 10.77.NIC.HOST
#   -j  the first interface is joined to that of another guest, by a Unix socket of each
# One guest's interfaces are joined in pairs: eth0 to eth1, eth2 to eth3.
set -eu
nics=2 memory=512 limit=60 cache= host=1 socket= peer=
while [ $# -gt 1 ]; do
	case $1 in
	-n) nics=$2 ;;
	-m) memory=$2 ;;
	-t) limit=$2 ;;
	-c) cache=$2 ;;
	-h) host=$2 ;;
	-j) socket=$2 peer=$3; shift ;;
	*) break ;;
	esac
	shift 2
done
[ $# -eq 1 ] || { sed -n 's/^# \{0,1\}//p' "$0" >&2; exit 2; }
qemu=$(command -v qemu-system-x86_64) || { echo 'run.sh: qemu-system-x86_64 is not installed (Debian: qemu-system-x86)'; exit 77; }
command -v rdma >/dev/null || { echo 'run.sh: rdma is not installed (Debian: iproute2)'; exit 77; }
cache=${cache:-$PWD/tests/guest/kernel}
[ -s "$cache/vmlinuz" ] && [ -s "$cache/initrd" ] || { echo "run.sh: no kernel in $cache"; exit 77; }

case $PWD in
*[!A-Za-z0-9_./-]*) echo "run.sh: the current folder's name has a character that the guest's command line can't hold"; exit 77 ;;
esac

work=$(mktemp -d "$PWD/guest.XXXXXX")
child=
trap '[ -z "$child" ] || kill "$child" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 125' HUP INT TERM
printf '%s\n' "$1" >"$work/command"

set --
i=0
while [ "$i" -lt "$nics" ]; do
	a=$work/nic$i b=$work/nic$((i ^ 1))
	[ "$i" -gt 0 ] || [ -z "$socket" ] || a=$socket b=$peer
	set -- "$@" -netdev "dgram,id=n$i,local.type=unix,local.path=$a,remote.type=unix,remote.path=$b" \
		-device "virtio-net-pci,netdev=n$i,romfile=,host_mtu=4500,mac=52:54:00:00:0$host:0$i"
	i=$((i + 1))
done
# Always emulated: a /dev/kvm may be there and not work.
"$qemu" -accel tcg,thread=multi -M q35 -cpu max -smp 2 -m "$memory" -nodefaults -no-user-config -display none -no-reboot \
	-serial "file:$work/console" -kernel "$cache/vmlinuz" -initrd "$cache/initrd" \
	-append "console=ttyS0 quiet panic=-1 mitigations=off nokaslr work=$PWD run=${work##*/} host=$host" \
	-fsdev local,id=root,path=/,security_model=none,readonly=on,multidevs=remap -device virtio-9p-pci,fsdev=root,mount_tag=root \
	-fsdev local,id=work,path="$PWD",security_model=none,multidevs=remap -device virtio-9p-pci,fsdev=work,mount_tag=work \
	"$@" </dev/null >"$work/qemu" 2>&1 &
child=$!
until=$(($(date +%s) + limit))
late=
while kill -0 "$child" 2>/dev/null && [ -z "$late" ]; do
	sleep 0.1
	[ "$(date +%s)" -lt "$until" ] || late=1
done
if [ -n "$late" ]; then
	kill "$child" 2>/dev/null
	status=124
	echo "run.sh: over $limit s" >&2
fi
wait "$child" 2>/dev/null || :
child=
[ ! -f "$work/output" ] || cat "$work/output"
[ -z "${status:-}" ] || exit "$status"
[ -f "$work/status" ] || { cat "$work/qemu" "$work/console" >&2; exit 125; }
exit "$(cat "$work/status")"
