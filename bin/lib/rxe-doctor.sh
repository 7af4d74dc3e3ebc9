#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: rxe-doctor.sh JAR JAVA [OPTION...]; run by bin/rxe. Runs the jar's doctor on the two devices of bin/rxe, healthy and
# in every state that keeps executors from using them, and checks exit codes, findings and remedies.
# It has its own mounts, so that small or closed file systems do not affect other processes.
set -euo pipefail
if [ "${RXE_DOCTOR:-}" != here ]; then
  RXE_DOCTOR=here exec unshare --mount --propagation private "$0" "$@"
fi
unset RXE_DOCTOR
JAR=$1
shift
DEVICE=${RXE_DEVICE:-rxe}
# shellcheck source=rxe-devices.sh
. "$(dirname "${BASH_SOURCE[0]}")/rxe-devices.sh"
DOCTOR=("$@" -jar "$JAR" doctor)
passed=0 failed=0

for number in 0 1; do
  [ -e "/sys/class/infiniband/$DEVICE$number" ] || {
    echo "skipped: $DEVICE$number is not here, and no other device is removed"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
  }
done

# Usage: expect NAME EXIT_CODE STATUS CHECK MESSAGE REMEDY COMMAND...; runs a command and looks for one finding; patterns are
# those of grep -E, an empty one is not looked for.
expect() {
  local name=$1 code=$2 finding="^$3 +$4 .*$5" remedy=$6 got=0 output
  shift 6
  output=$("$@" 2>&1 </dev/null) || got=$?
  if [ "$got" = "$code" ] && grep -qE "$finding" <<<"$output" &&
    { [ -z "$remedy" ] || grep -A 9 -E "$finding" <<<"$output" | grep -qE "$remedy"; }; then
    passed=$((passed + 1))
    echo "passed $name: $(grep -m 1 -E "$finding" <<<"$output")"
  else
    failed=$((failed + 1))
    printf 'FAILED %s: exit code %s of %s, finding "%s", remedy "%s" in:\n%s\n' "$name" "$got" "$code" "$finding" "$remedy" "$output"
  fi
}

# Root has every capability; without this one the limit of locked memory holds.
UNPRIVILEGED=(setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock)
NOBODY=(setpriv --reuid=65534 --regid=65534 --clear-groups)

expect healthy 0 ok loopback-read "${DEVICE}1:1 .*brings the right bytes; 4 KiB take [0-9.]+ us" "" \
  "${DOCTOR[@]}" --conf spark.shuffle.manager=io.rdmashuffle.spark.RdmaShuffleManager \
  --conf "spark.shuffle.rdma.fabric.verbs.devices=${DEVICE}0,${DEVICE}1"
expect peer 0 ok peer "10.77.0.1 answers over ${DEVICE}0:1" "" "${DOCTOR[@]}" --peer 10.77.0.1
expect memlock 1 warn locked-memory "RLIMIT_MEMLOCK of this process is 8192 KiB, CAP_IPC_LOCK is not effective" \
  "LimitMEMLOCK=infinity" "${UNPRIVILEGED[@]}" prlimit --memlock=8388608 "${DOCTOR[@]}"
expect peer-unreachable 1 warn peer "10.77.0.99 does not answer over ${DEVICE}0:1" "UDP port 4791" "${DOCTOR[@]}" --peer 10.77.0.99

mount -t tmpfs -o mode=1777,size=64m shm /dev/shm
expect small-shm 1 warn pool-directory "64.0 MiB are free in /dev/shm" "pool.maxSize to at most 64m" "${DOCTOR[@]}"
mount -o remount,size=50% /dev/shm
chmod 755 /dev/shm
expect shm-permission 1 warn pool-directory "AccessDenied" "chmod 1777 /dev/shm" "${NOBODY[@]}" "${DOCTOR[@]}"
chmod 1777 /dev/shm
nodes=$(mktemp -d)
mount -t tmpfs nodes "$nodes"
cp -a /dev/infiniband/. "$nodes"
mount --bind "$nodes" /dev/infiniband
umount "$nodes"
rmdir "$nodes"
chmod 600 /dev/infiniband/*
expect device-permission 1 warn ports "" "allow this user to open /dev/infiniband" "${NOBODY[@]}" "${DOCTOR[@]}"
umount /dev/infiniband

for number in 0 2; do ip address flush dev "veth$number"; done
expect no-address 1 warn ports "has no IP address" "ip addr add ADDRESS/PREFIX dev veth[02]" "${DOCTOR[@]}"
# The other ends, so that there is no carrier; siw does not look at that.
ends="1 3"
[ "$DEVICE" != siw ] || ends="0 2"
for number in $ends; do ip link set "veth$number" down; done
expect port-down 1 warn ports "is not active" "ip link set veth[02] up" "${DOCTOR[@]}"
remove_rails
expect no-device 1 warn ports "this machine has no RDMA device" "none without an RDMA card" "${DOCTOR[@]}"
make_rails
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
