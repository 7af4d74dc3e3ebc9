#!/bin/busybox sh
# SPDX-License-Identifier: Apache-2.0
# First process of a guest of bin/rxe: loads the modules, makes the host's file system its own (read only, changes
# stay in memory), hands over to rxe-guest-run.sh and powers off. Runs in the initramfs, where busybox is all there is.
# shellcheck shell=sh disable=SC3045

power_off() {
  sync
  echo o >/root/proc/sysrq-trigger || echo o >/proc/sysrq-trigger
  sleep 60
}
trap power_off EXIT
set -e

/bin/busybox --install -s /bin
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
for module in /modules/*.ko; do
  insmod "$module" || echo "cannot load $module"
done

nine_p=trans=virtio,version=9p2000.L,msize=512000
mount -t 9p -o "$nine_p,cache=loose,ro" root /lower
mount -t tmpfs memory /changes
mkdir /changes/upper /changes/work
mount -t overlay -o lowerdir=/lower,upperdir=/changes/upper,workdir=/changes/work overlay /root

for dir in proc sys dev; do
  mount --move "/$dir" "/root/$dir"
done
ln -s /proc/self/fd /root/dev/fd
for n in 0:stdin 1:stdout 2:stderr; do ln -s "fd/${n%:*}" "/root/dev/${n#*:}"; done
mkdir -p /root/dev/shm /root/dev/pts /root/run/rxe
mount -t tmpfs -o mode=1777 shm /root/dev/shm
mount -t devpts -o mode=620,ptmxmode=666 devpts /root/dev/pts
mount -t 9p -o "$nine_p,cache=none" run /root/run/rxe

ulimit -l unlimited
ulimit -H -n 524288
# Queues are mapped: three mappings for each connection of a process.
echo 1000000 >/root/proc/sys/vm/max_map_count

# The kernel asks for modules from out here: `tc qdisc ... netem` works without a modprobe of its own.
mkdir /sbin
printf '#!/bin/sh\nexec chroot /root /sbin/modprobe "$@"\n' >/sbin/modprobe
chmod 755 /sbin/modprobe
chroot /root /bin/bash /run/rxe/rxe-guest-run.sh || echo "rxe-guest-run.sh failed: $?"
