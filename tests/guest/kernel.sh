#!/bin/sh
# kernel.sh FOLDER [fetch]: a kernel with Soft-RoCE and an initramfs that runs one command, into FOLDER (vmlinuz, initrd), for
# run.sh; does nothing if they are there. Taken from, in this order: $MC_GUEST_KERNEL (a folder with boot/ and lib/modules/);
# this host; with "fetch", Debian's package of it (70 MB), unpacked, not installed. Exits 77, saying why, where that won't do.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
out=$(cd "$1" && pwd)
# In the order of loading. What a kernel doesn't have as a module it has built in, or the guest's init will say so.
modules='virtio_ring virtio virtio_pci_modern_dev virtio_pci_legacy_dev virtio_pci failover net_failover virtio_net
netfs fscache 9pnet 9pnet_virtio 9p overlay crc32_generic crc32_pclmul udp_tunnel ip6_udp_tunnel
ib_core ib_uverbs rdma_rxe sch_netem'

skip() { echo "kernel.sh: $*"; exit 77; }

# has ROOT: prints the newest version there that has the kernel and Soft-RoCE.
has()
{
	for k in "$1"/boot/vmlinuz-*; do
		[ -r "$k" ] || continue
		v=${k##*/vmlinuz-}
		for m in "$1/lib/modules/$v"/kernel/drivers/infiniband/sw/rxe/rdma_rxe.ko*; do
			[ ! -r "$m" ] || echo "$v"
		done
	done | sort -V | tail -n 1
}

busybox=$(command -v busybox) || skip 'busybox is not installed (Debian: busybox-static)'
! ldd "$busybox" >/dev/null 2>&1 || skip "$busybox needs shared libraries; expected a static one (Debian: busybox-static)"
command -v cpio >/dev/null || skip 'cpio is not installed'
[ ! -s "$out/vmlinuz" ] || [ ! -s "$out/initrd" ] || [ "$out/initrd" -ot "$here/init" ] || exit 0

root=${MC_GUEST_KERNEL:-/}
version=$(has "$root")
work=$out/new.$$
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/tree/lib/modules" "$work/tree/bin" "$work/deb"
if [ -z "$version" ] && [ -z "${MC_GUEST_KERNEL:-}" ]; then
	[ "${2:-}" = fetch ] || skip 'no kernel with Soft-RoCE on this host; `make guest-kernel` fetches one'
	command -v apt-get >/dev/null || skip 'no kernel with Soft-RoCE on this host, nor apt-get; set MC_GUEST_KERNEL'
	p=$(apt-cache depends --important linux-image-amd64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
	[ -n "$p" ] || skip 'apt-cache knows no linux-image-amd64'
	echo "kernel.sh: fetching $p" >&2
	(cd "$work/deb" && apt-get -q download "$p" >/dev/null 2>"$work/log") || skip "apt-get download $p: $(tail -n 1 "$work/log")"
	names=$(for m in $modules; do printf ' */%s.ko* */%s.ko*' "$m" "$(echo "$m" | tr _ -)"; done)
	# tar complains of names that are not there; what has come is looked at below.
	dpkg-deb --fsys-tarfile "$work"/deb/*.deb | (set -f; tar -x -C "$work/deb" --wildcards './boot/vmlinuz-*' $names 2>/dev/null) || :
	root=$work/deb
	version=$(has "$root")
fi
[ -n "$version" ] || skip "no kernel with Soft-RoCE under $root"

cp "$root/boot/vmlinuz-$version" "$work/vmlinuz"
n=100
for m in $modules; do
	f=$(find "$root/lib/modules/$version" -name "$m.ko*" -o -name "$(echo "$m" | tr _ -).ko*" | head -n 1)
	n=$((n + 1))
	case $f in
	'') ;;
	*.xz) xz -dc "$f" >"$work/tree/lib/modules/$n-$m.ko" ;;
	*.zst) zstd -q -dc "$f" >"$work/tree/lib/modules/$n-$m.ko" ;;
	*.gz) gzip -dc "$f" >"$work/tree/lib/modules/$n-$m.ko" ;;
	*) cp "$f" "$work/tree/lib/modules/$n-$m.ko" ;;
	esac
done
cp "$busybox" "$work/tree/bin/busybox"
cp "$here/init" "$work/tree/init"
chmod 755 "$work/tree/init"
(cd "$work/tree" && find . | cpio -o -H newc 2>/dev/null) | gzip -1 >"$work/initrd"
mv "$work/vmlinuz" "$work/initrd" "$out"
