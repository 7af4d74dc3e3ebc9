# SPDX-License-Identifier: Apache-2.0
# Two hosts for the executors of a local cluster, as network namespaces on a bridge. Each has its own /dev/shm and local directories, so executors
# share no byte; the driver stays outside. Sourced; needs ROOT and JAVA. Sources: ip-netns(8), veth(4), nsenter(1), unshare(1).
# shellcheck shell=bash

HOST_BRIDGE=rsb$$
HOST_NETWORK=10.79.$((RANDOM % 250 + 1))

# Usage: make_hosts [GBITS]; with links of this bandwidth to each host.
make_hosts() {
  local link=${1:-} host home=$ROOT/target/bench-hosts/$$
  [ "$(id -u)" = 0 ] || die "--hosts makes network namespaces, which takes root"
  command -v ip >/dev/null || die "no ip: install iproute2"
  trap remove_hosts EXIT
  ip link add "$HOST_BRIDGE" type bridge
  ip addr add "$HOST_NETWORK.1/24" dev "$HOST_BRIDGE"
  ip link set "$HOST_BRIDGE" up
  for host in 0 1; do
    ip netns add "$HOST_BRIDGE-$host"
    ip link add "${HOST_BRIDGE}v$host" type veth peer name eth0 netns "$HOST_BRIDGE-$host"
    ip link set "${HOST_BRIDGE}v$host" master "$HOST_BRIDGE" up
    [ -z "$link" ] || tc qdisc add dev "${HOST_BRIDGE}v$host" root tbf rate "${link}gbit" burst 1mb latency 100ms
    ip -n "$HOST_BRIDGE-$host" addr add "$HOST_NETWORK.$((10 + host))/24" dev eth0
    ip -n "$HOST_BRIDGE-$host" link set eth0 up
    ip -n "$HOST_BRIDGE-$host" link set lo up
  done
  mkdir -p "$home/bin"
  cat >"$home/bin/java" <<END
#!/usr/bin/env bash
# Starts an executor on its host; the worker, which stays outside, is not to be watched from there.
set -euo pipefail
arguments=() id=0
while [ \$# -gt 0 ]; do
  case \$1 in
    --executor-id) id=\$2; arguments+=("\$1" "\$2"); shift 2 ;;
    --hostname | --bind-address) arguments+=("\$1" @ADDRESS@); shift 2 ;;
    --worker-url) shift 2 ;;
    *) arguments+=("\$1"); shift ;;
  esac
done
export EXECUTOR_HOST=\$((id % 2))
for i in "\${!arguments[@]}"; do
  [ "\${arguments[i]}" != @ADDRESS@ ] || arguments[i]=$HOST_NETWORK.\$((10 + EXECUTOR_HOST))
done
exec nsenter --net="/run/netns/$HOST_BRIDGE-\$EXECUTOR_HOST" unshare --mount --propagation private "$home/bin/apart" "\${arguments[@]}"
END
  cat >"$home/bin/apart" <<END
#!/usr/bin/env bash
# Starts an executor that sees neither shared memory nor local directories of the other host.
set -euo pipefail
mount -t tmpfs tmpfs /dev/shm
IFS=: read -ra folders <<<"\${SPARK_EXECUTOR_DIRS:-}"
for folder in "\${folders[@]}"; do
  own=\$(dirname "\$folder")/host-\$EXECUTOR_HOST
  mkdir -p "\$own"
  mount --bind "\$own" "\$(dirname "\$folder")"
  mkdir -p "\$folder"
done
exec "$JAVA" "\$@"
END
  chmod +x "$home"/bin/*
  HOSTS_CONF=(--conf "spark.executorEnv.JAVA_HOME=$home" --conf "spark.driver.host=$HOST_NETWORK.1"
    --conf "spark.driver.bindAddress=$HOST_NETWORK.1")
}

# Removes links first: a namespace remains for minutes while the kernel retries unsent data.
remove_hosts() {
  local host
  for host in 0 1; do
    ip link del "${HOST_BRIDGE}v$host" 2>/dev/null || true
    ip netns del "$HOST_BRIDGE-$host" 2>/dev/null || true
  done
  ip link del "$HOST_BRIDGE" 2>/dev/null || true
  rm -rf "$ROOT/target/bench-hosts/$$"
}
