#!/bin/sh
# libvirtd.sh FOLDER CACHE BUSYBOX: a libvirtd of the lab in FOLDER. It runs as the first process of new
# namespaces (mounts, network, processes): this machine's own libvirt is not touched, and the guests
# reach only the bridge. It ends when its standard input is closed, which also happens when the test is
# killed. The kernel then ends libvirtd and every guest.
set -eu
folder=$1 cache=$2 busybox=$3

# The folders that libvirtd is compiled to use.
for pair in etc:/etc/libvirt lib:/var/lib/libvirt log:/var/log/libvirt run:/run/libvirt; do
  mkdir -p "$folder/${pair%%:*}" "${pair#*:}"
  mount --bind "$folder/${pair%%:*}" "${pair#*:}"
done
# Shared by all labs: libvirtd asks QEMU once for what it can do, which takes ten seconds.
mkdir -p "$cache" /var/cache/libvirt
mount --bind "$cache" /var/cache/libvirt

# libvirtd looks up its compiled-in user, although qemu.conf names root.
for database in passwd group; do
  getent "$database" libvirt-qemu >/dev/null && continue
  cp "/etc/$database" "$folder/$database"
  case $database in
    passwd) echo 'libvirt-qemu:x:64055:64055::/nonexistent:/usr/sbin/nologin' ;;
    group) echo 'libvirt-qemu:x:64055:' ;;
  esac >>"$folder/$database"
  mount --bind "$folder/$database" "/etc/$database"
done

# The guests are emulated on every machine. With a usable /dev/kvm libvirtd would also ask QEMU again at
# most starts. Libvirt takes a device for unusable when it cannot write to it, hence read-only.
if [ -e /dev/kvm ]; then
  : >"$folder/no-kvm"
  mount --bind "$folder/no-kvm" /dev/kvm
  mount -o remount,bind,ro /dev/kvm
fi

# The interfaces of the new network.
mount -t sysfs sysfs /sys
"$busybox" ip link set lo up
"$busybox" ip link add lab0 type bridge
"$busybox" ip address add 10.0.2.2/24 dev lab0
"$busybox" ip link set lab0 up

# A background job's standard input is /dev/null: the pipe gets another number.
exec 3<&0
libvirtd --config "$folder/libvirtd.conf" --pid-file "$folder/libvirtd.pid" </dev/null 3<&- &
libvirtd=$!
{ cat <&3 >/dev/null; kill -KILL "$libvirtd"; } &
exec 3<&-
# Also reaps the guests' processes, whose ends libvirtd waits for.
wait "$libvirtd"
