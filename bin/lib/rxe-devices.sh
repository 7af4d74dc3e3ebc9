# Makes soft-RoCE devices on pairs of virtual interfaces; sourced by bin/rxe and, in a guest, by rxe-guest-run.sh.
# shellcheck shell=bash

# Usage: wait_active DEVICE; a port takes a moment to come up after its interface does.
wait_active() {
  local state=/sys/class/infiniband/$1/ports/1/state i
  for ((i = 0; i < 100; i++)); do
    case $(cat "$state" 2>/dev/null) in *ACTIVE) return 0 ;; esac
    sleep 0.1
  done
  echo "$1: the port is not active after 10 s" >&2
  return 1
}

# Usage: make_rail N; device rxeN on its own veth pair with the address 10.77.N.1.
make_rail() {
  local near=veth$((2 * $1)) far=veth$((2 * $1 + 1))
  ip link add "$near" type veth peer name "$far" || return
  if ip address add "10.77.$1.1/24" dev "$near" && ip link set "$far" up && ip link set "$near" up &&
    rdma link add "rxe$1" type rxe netdev "$near" && wait_active "rxe$1"; then return 0; fi
  ip link delete "$near"
  return 1
}

make_rails() {
  make_rail 0 || return
  make_rail 1 || { remove_rail 0; return 1; }
}

# Deleting one end of the pair deletes the other, and the device with it.
remove_rail() { ip link delete "veth$((2 * $1))" || true; }
remove_rails() { remove_rail 1; remove_rail 0; }
