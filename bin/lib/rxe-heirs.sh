#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: rxe-heirs.sh JAVA COMMAND...; runs a Spark job in a local cluster on two hosts that share a network and its RDMA
# device, but no memory: executors with even numbers are on one, those with odd numbers on the other.
# The job's executors must be started with the java of the JAVA_HOME that is written to /tmp/hosts.
set -euo pipefail
java=$1
shift

memories=()
for host in 0 1; do
  # A mount namespace lives as long as a process in it.
  unshare --mount --propagation private bash -c 'mount -t tmpfs -o size=1g "$0" /dev/shm && exec sleep 7200' "host$host" &
  memories+=("$!")
done
trap 'kill "${memories[@]}" 2>/dev/null || true' EXIT
for memory in "${memories[@]}"; do
  until grep -q '^host[01] /dev/shm ' "/proc/$memory/mounts"; do
    kill -0 "$memory" || { echo "FAILED cannot mount a /dev/shm"; exit 1; }
    sleep 0.1
  done
done

mkdir -p /tmp/hosts/bin
cat >/tmp/hosts/bin/java <<END
#!/usr/bin/env bash
memories=(${memories[*]}) id=0
for ((i = 1; i <= \$#; i++)); do
  [ "\${!i}" != --executor-id ] || { next=\$((i + 1)); id=\${!next}; }
done
# Entering a mount namespace leaves the working directory, and the root of a chroot.
exec nsenter --target "\${memories[id % 2]}" --mount --root bash -c 'cd "\$0" && exec "\$@"' "\$PWD" "$java" "\$@"
END
chmod +x /tmp/hosts/bin/java
"$@"
