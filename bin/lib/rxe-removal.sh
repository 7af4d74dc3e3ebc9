#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: rxe-removal.sh EXECUTORS COMMAND...; runs a Spark job on the two devices of bin/rxe. Meanwhile it removes them in
# turn, one at a time, and adds each again after 2 s.
# Starts when all executors listen on both. Prints the number of removals, and fails if the job does, if a device could
# not be removed and added, or if none was.
set -euo pipefail
executors=$1
shift
kind=${RXE_DEVICE:-rxe}

for number in 0 1; do
  [ -e "/sys/class/infiniband/$kind$number" ] || {
    echo "skipped: $kind$number is not here, and no other device is removed"
    echo "0 passed, 0 failed, 1 skipped"
    exit 0
  }
done

listening() { rdma resource show cm_id | grep -c 'LISTEN' || true; }

# Usage: within SECONDS COMMAND...; rdma waits until everything on the device is closed.
within() {
  timeout "$@" || { echo "FAILED ${*:2}: exit code $?"; return 1; }
}

"$@" &
job=$!
trap 'kill "$job" 2>/dev/null || true' EXIT
until [ "$(listening)" -ge $((2 * executors)) ] || ! kill -0 "$job" 2>/dev/null; do
  sleep 0.5
done
removed=0 failed=0
while kill -0 "$job" 2>/dev/null; do
  number=$((removed % 2)) netdev=veth$((removed % 2 * 2))
  within 60 rdma link delete "$kind$number" || failed=1
  sleep 2
  within 60 rdma link add "$kind$number" type "$kind" netdev "$netdev" || failed=1
  [ "$failed" = 0 ] || break
  removed=$((removed + 1))
  # Until both are used again, or the job is over.
  until [ "$(listening)" -ge $((2 * executors)) ] || ! kill -0 "$job" 2>/dev/null; do
    sleep 0.5
  done
  sleep 2
done
code=0
wait "$job" || code=$?
trap - EXIT
echo "devices removed and added again: $removed times"
[ "$removed" -gt 0 ] || { echo "FAILED the job was over before a device was removed"; failed=1; }
[ "$failed" = 0 ] || exit 1
exit "$code"
