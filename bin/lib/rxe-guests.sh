# Runs a command in QEMU guests, one per host; sourced by bin/rxe, after rxe-image.sh.
# shellcheck shell=bash

# Writes what the guests read: the command, its folder, its environment.
write_run_folder() {
  cp "$ROOT"/bin/lib/rxe-guest-run.sh "$ROOT"/bin/lib/rxe-devices.sh "$RUN/"
  printf '%s\0' "$PWD" "$@" >"$RUN/command"
  printf '%s\0' "${CALLER_ENVIRONMENT[@]}" >"$RUN/environment"
  {
    printf 'hosts=%q share=%q\n' 1 "$SHARE"
    printf 'modules=%q\n' "$RXE_CACHE/kernel/lib/modules/$KERNEL_VERSION"
  } >"$RUN/settings"
  local host
  for ((host = 1; host <= 1; host++)); do touch "$RUN"/{out,err}."$host"; done
}

# Usage: shared_folder TAG PATH [OPTION]; prints the value of -virtfs. QEMU wants commas doubled.
shared_folder() { echo "local,mount_tag=$1,path=${2//,/,,},security_model=none,multidevs=remap${3:+,$3}"; }

# Usage: start_guest HOST; sets QEMU[HOST] to its process. The kernel kills the guest if this script dies.
start_guest() {
  local host=$1
  setpriv --pdeathsig KILL qemu-system-x86_64 -accel tcg,thread=multi -cpu max -smp "$CPUS" -m "$MEMORY" \
    -nodefaults -display none -no-reboot -serial "file:$RUN/console.$host" \
    -kernel "$KERNEL" -initrd "$INITRAMFS" -device virtio-rng-pci -nic none \
    -append "console=ttyS0 quiet panic=-1 mitigations=off rxe.host=$host" \
    -virtfs "$(shared_folder root / readonly=on)" \
    -virtfs "$(shared_folder run "$RUN")" \
    -virtfs "$(shared_folder share "$SHARE")" \
    </dev/null >"$RUN/qemu.$host" 2>&1 &
  QEMU[host]=$!
}

# Usage: follow HOST; copies the output of a host to ours while it is written, until its guest has ended.
follow() {
  tail -n +1 -s 0.1 -f --pid="${QEMU[$1]}" "$RUN/out.$1" 2>/dev/null &
  FOLLOWERS+=($!)
  tail -n +1 -s 0.1 -f --pid="${QEMU[$1]}" "$RUN/err.$1" >&2 2>/dev/null &
  FOLLOWERS+=($!)
}

# Ends what is still running of this run, and only that, and forgets its files.
end_guests() {
  trap '' INT TERM
  local pid
  for pid in "${QEMU[@]}" "${FOLLOWERS[@]}" $SLEEPER; do
    kill -KILL "$pid" 2>/dev/null || continue
    wait "$pid" 2>/dev/null || true
  done
  rm -rf "$RUN"
}

# Says what a guest that ended without a status had to say.
explain() {
  say "rxe: the guest ended before the command did; its last words:"
  tail -n 15 "$RUN/qemu.$1" "$RUN/console.$1" >&2 || true
}

# Usage: run_in_guests COMMAND [ARG...]; returns the exit code of host 1's command, or 124 past the deadline.
run_in_guests() {
  QEMU=() FOLLOWERS=() SLEEPER=
  RUN=$(mktemp -d)
  trap end_guests EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM
  write_run_folder "$@"
  start_guest 1
  follow 1
  sleep "$TIMEOUT" &
  SLEEPER=$!
  wait -n "${QEMU[1]}" "$SLEEPER" || true
  if ! kill -0 "$SLEEPER" 2>/dev/null; then
    say "rxe: still running after $TIMEOUT s, killed"
    return 124
  fi
  wait "${FOLLOWERS[@]}" || true
  [ -s "$RUN/status.1" ] && return "$(cat "$RUN/status.1")"
  explain 1
  return 70
}
