# SPDX-License-Identifier: Apache-2.0
# Makes software devices of the kind DEVICE, rxe or siw; sourced by bin/rxe and, in a guest, by rxe-guest-run.sh.
# shellcheck shell=bash

# Enough for RDMA's largest path MTU, 4096, and headers; half as fast again as the 1024 that fit into 1500.
FRAME_BYTES=4500

# Usage: wait_active DEVICE; a port takes a moment to come up after its interface does.
wait_active() {
  local state i
  for ((i = 0; i < 100; i++)); do
    read -r state <"/sys/class/infiniband/$1/ports/1/state" && [[ $state = *ACTIVE ]] && return
    sleep 0.1
  done
  echo "$1: the port is not active after 10 s" >&2
  return 1
}

# Usage: add_device NUMBER INTERFACE
add_device() { rdma link add "$DEVICE$1" type "$DEVICE" netdev "$2"; }

# Two devices, so that there are two rails: rxe0 on veth0 at 10.77.0.1, rxe1 on veth2 at 10.77.1.1.
make_rails() {
  compgen -G "/sys/class/net/veth[0-3]" >/dev/null && return 1
  ip -batch - <<END && add_device 0 veth0 && add_device 1 veth2 &&
link add veth0 mtu $FRAME_BYTES type veth peer name veth1 mtu $FRAME_BYTES
link add veth2 mtu $FRAME_BYTES type veth peer name veth3 mtu $FRAME_BYTES
address add 10.77.0.1/24 dev veth0
address add 10.77.1.1/24 dev veth2
link set veth1 up
link set veth3 up
link set veth0 up
link set veth2 up
END
    wait_active "${DEVICE}0" && wait_active "${DEVICE}1" && return
  remove_rails
  return 1
}

# One end of a pair takes the other and the device with it.
remove_rails() {
  ip link delete veth0 2>/dev/null || true
  ip link delete veth2 2>/dev/null || true
}

# Usage: make_port HOST; the one device of a host among several: rxe0 on the virtual network's card at 10.77.0.HOST.
make_port() {
  ip -batch - <<END && add_device 0 eth0 && wait_active "${DEVICE}0"
link set eth0 mtu $FRAME_BYTES
address add 10.77.0.$1/24 dev eth0
link set eth0 up
END
}
