# SPDX-License-Identifier: Apache-2.0
# Runs a command in QEMU guests, one per host; sourced by bin/rxe, after rxe-image.sh.
# shellcheck shell=bash

# Kernel arguments that spare the emulation work that has no use here.
FASTER="mitigations=off nokaslr cryptomgr.notests audit=0 apparmor=0 no_timer_check"

# Usage: write_run_folder COMMAND [ARG...]; what the guests read: the command, its folder, its environment.
write_run_folder() {
  local host
  cp "$ROOT"/bin/lib/rxe-guest-run.sh "$ROOT"/bin/lib/rxe-devices.sh "$RUN/"
  printf '%s\0' "$PWD" "$@" >"$RUN/command"
  printf '%s\0' "${CALLER_ENVIRONMENT[@]}" >"$RUN/environment"
  printf 'hosts=%q share=%q DEVICE=%q modules=%q\n' "$HOSTS" "$SHARE" "$DEVICE" \
    "$RXE_CACHE/kernel/lib/modules/$KERNEL_VERSION" >"$RUN/settings"
  for ((host = 1; host <= HOSTS; host++)); do touch "$RUN"/{out,err}."$host"; done
}

# Usage: folder TAG PATH [OPTION]; prints the value of -virtfs. QEMU wants commas doubled.
folder() { echo "local,mount_tag=$1,path=${2//,/,,},security_model=none,multidevs=remap${3:+,$3}"; }

# Usage: network HOST; sets NETWORK to QEMU's arguments. Host 1 has the hub; each other host has a wire to it.
network() {
  local wire=stream,addr.type=unix,addr.path=${RUN//,/,,}/wire host
  if [ "$1" = 1 ]; then
    NETWORK=(-netdev "hubport,id=card,hubid=0")
    for ((host = 2; host <= HOSTS; host++)); do
      NETWORK+=(-netdev "$wire.$host,id=wire$host,server=on" -netdev "hubport,id=port$host,hubid=0,netdev=wire$host")
    done
  else
    NETWORK=(-netdev "$wire.$1,id=card,server=off")
    until [ -S "$RUN/wire.$1" ]; do
      kill -0 "${QEMU[1]}" 2>/dev/null || return 0
      sleep 0.05
    done
  fi
  NETWORK+=(-device "virtio-net-pci,netdev=card,mac=52:54:00:77:00:0$1")
}

# Usage: bound COMMAND [ARG...]; the kernel kills the command if its parent dies, even by a signal that runs no trap.
bound() { exec setpriv --pdeathsig KILL "$@"; }

# Usage: start_guest HOST; sets QEMU[HOST] to its process.
start_guest() {
  NETWORK=(-nic none)
  [ "$HOSTS" = 1 ] || network "$1"
  bound qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp "$CPUS" -m "$MEMORY" \
    -nodefaults -display none -no-reboot -serial "file:$RUN/console.$1" \
    -kernel "$KERNEL" -initrd "$INITRAMFS" -append "console=ttyS0 quiet panic=-1 $FASTER rxe.host=$1" \
    -virtfs "$(folder root / readonly=on)" -virtfs "$(folder run "$RUN")" -virtfs "$(folder share "$SHARE")" \
    -device virtio-rng-pci "${NETWORK[@]}" </dev/null >"$RUN/qemu.$1" 2>&1 &
  QEMU[$1]=$!
}

# Usage: follow FILE HOST; prints what a guest writes there, while it does, the lines of hosts other than 1 marked.
follow() {
  local tail=(tail -n +1 -s 0.1 -f --pid="${QEMU[$2]}" "$1.$2")
  if [ "$2" = 1 ]; then
    bound "${tail[@]}" 2>/dev/null &
  else
    bound sed -u "s/^/[host$2] /" < <(bound "${tail[@]}" 2>/dev/null) &
  fi
  FOLLOWERS+=($!)
}

# Ends the remaining processes of this run, and only these, and removes its files.
end_guests() {
  trap '' INT TERM
  local pid
  for pid in "${QEMU[@]}" "${FOLLOWERS[@]}" $SLEEPER; do
    kill -KILL "$pid" 2>/dev/null || continue
    wait "$pid" 2>/dev/null || true
  done
  rm -rf "$RUN"
}

# Usage: explain HOST; prints the last output of a guest that ended without an exit code.
explain() {
  say "rxe: the guest of host $1 ended before its command did; its last words:"
  tail -q -n 15 "$RUN/qemu.$1" "$RUN/console.$1" >&2 || true
}

running() { kill -0 "$1" 2>/dev/null; }

# Makes the guests print their threads, for half a minute at most.
let_guests_tell() {
  local host i
  touch "$RUN/late"
  for ((i = 0; i < 300; i++)); do
    for host in "${!QEMU[@]}"; do
      [ -e "$RUN/told.$host" ] || ! running "${QEMU[$host]}" || { sleep 0.1; continue 2; }
    done
    break
  done
  sleep 0.5 # for tail(1)
}

# Waits for the end of host 1's command. Fails if it is past the deadline, or a guest has died.
await_first_host() {
  local host
  while [ ! -s "$RUN/status.1" ]; do
    wait -n "${QEMU[@]}" "$SLEEPER" "${FOLLOWERS[0]}" || true
    if ! running "$SLEEPER"; then
      let_guests_tell
      say "rxe: still running after $TIMEOUT s, killed"
      return 124
    fi
    # The output is not read any more, as behind `| head`: what a pipe would tell the command by SIGPIPE.
    running "${FOLLOWERS[0]}" || ! running "${QEMU[1]}" || return 141
    for host in "${!QEMU[@]}"; do
      running "${QEMU[$host]}" || [ -s "$RUN/status.1" ] || { explain "$host"; return 70; }
    done
  done
}

# Gives the other guests time to end by themselves, so that what their commands said last is not lost.
await_other_hosts() {
  local guest i
  for guest in "${QEMU[@]}"; do
    for ((i = 0; i < 100; i++)); do
      running "$guest" || break
      sleep 0.1
    done
  done
  wait "${FOLLOWERS[@]}" || true
}

# Says which of the other hosts' commands failed by themselves.
report_other_hosts() {
  local host status
  for ((host = 2; host <= HOSTS; host++)); do
    status=$(cat "$RUN/status.$host" 2>/dev/null) || continue
    [ "$status" = 0 ] || say "rxe: the command of host $host ended with exit code $status"
  done
}

# Usage: run_in_guests COMMAND [ARG...]; returns the exit code of host 1's command, or 124 past the deadline.
run_in_guests() {
  local host status=0
  QEMU=() FOLLOWERS=() SLEEPER=
  RUN=$(mktemp -d)
  trap end_guests EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  write_run_folder "$@"
  bound sleep "$TIMEOUT" &
  SLEEPER=$!
  for ((host = 1; host <= HOSTS; host++)); do
    start_guest "$host"
    follow "$RUN/out" "$host"
    follow "$RUN/err" "$host" >&2
  done
  await_first_host || status=$?
  if [ "$status" = 0 ]; then
    await_other_hosts
    status=$(cat "$RUN/status.1")
  fi
  report_other_hosts
  return "$status"
}
