#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: rxe-over.sh FOLDER COMMAND...; run by bin/rxe, as root. Runs COMMAND with the rdma-core of FOLDER, which rxe-suite.sh has
# unpacked, in place of this machine's, in mounts of its own: nothing is changed for others, and what the command writes to the
# root file system is forgotten.
set -euo pipefail
if [ -z "${RXE_OVER:-}" ]; then
  RXE_OVER=$(mktemp -d /dev/shm/rxe-over.XXXXXX)
  export RXE_OVER
  trap 'rmdir "$RXE_OVER"' EXIT
  status=0
  unshare --mount --propagation private "$0" "$@" || status=$?
  exit "$status"
fi
WORK=$RXE_OVER
unset RXE_OVER
FOLDER=$1
shift
mount -t tmpfs over "$WORK"
mkdir "$WORK"/{changes,work,root}
mount -t overlay -o "lowerdir=/,upperdir=$WORK/changes,workdir=$WORK/work" over "$WORK/root"
# Among the headers below rdma are the kernel's, which stay.
rm -rf "$WORK/root/etc/libibverbs.d" "$WORK"/root/usr/lib/*/libibverbs "$WORK"/root/usr/lib/*/lib{ibverbs,rdmacm}.so* \
  "$WORK/root/usr/include/infiniband"
cp -a --remove-destination "$FOLDER/." "$WORK/root"
bound=()
while read -r target; do
  [[ $target != / && $target != /dev/shm/rxe-over.* ]] || continue
  for parent in "${bound[@]}"; do [[ $target != "$parent"/* ]] || continue 2; done
  mount --rbind "$target" "$WORK/root$target"
  bound+=("$target")
done < <(awk '{ print $5 }' /proc/self/mountinfo | sort -u)
# shellcheck disable=SC2016
exec chroot "$WORK/root" /bin/bash -c 'cd "$1" && shift && exec "$@"' over "$PWD" "$@"
