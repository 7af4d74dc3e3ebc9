# SPDX-License-Identifier: Apache-2.0
# Runs a command on this machine, with its RDMA device or with software devices made for the run. Sourced by bin/rxe.
# shellcheck shell=bash

MADE_RAILS=false LOADED_MODULE=""

# Succeeds if this machine has an RDMA device, or has now: root may make one where the kernel has rdma_rxe, or siw.
have_device() {
  local module=siw
  if [ "$DEVICE" = rxe ]; then
    module=rdma_rxe
    compgen -G "/sys/class/infiniband/*" >/dev/null && return
  fi
  [ "$(id -u)" = 0 ] && command -v modprobe ip rdma >/dev/null || return
  [ -d "/sys/module/$module" ] || LOADED_MODULE=$module
  trap remove_device EXIT
  ! command -v dpkg-query >/dev/null || need_packages "${TOOL_PACKAGES[@]}"
  if modprobe -q -a "$module" rdma_ucm ib_uverbs && make_rails 2>/dev/null; then
    MADE_RAILS=true
    return
  fi
  remove_device
  trap - EXIT
  return 1
}

# Takes away what have_device made, and nothing that was here before.
remove_device() {
  ! "$MADE_RAILS" || remove_rails
  [ -z "$LOADED_MODULE" ] || modprobe -q -r "$LOADED_MODULE" 2>/dev/null || true
  MADE_RAILS=false LOADED_MODULE=""
}

# Usage: stop_here PID; ends the timeout(1) of that process, which ends the command and its children.
stop_here() {
  kill -TERM "$1" 2>/dev/null || true
  wait "$1" || true
}

# Usage: run_here COMMAND [ARG...]; returns the command's exit code, or 124 past the deadline.
run_here() {
  local status=0 command
  ulimit -l unlimited 2>/dev/null || true
  env -i --default-signal=INT,QUIT "${CALLER_ENVIRONMENT[@]}" RXE_HOST=1 RXE_HOSTS=1 RXE_SHARE="$SHARE" \
    RXE_DEVICE="$DEVICE" timeout --kill-after=5 "$TIMEOUT" "$@" </dev/null &
  command=$!
  trap 'stop_here "$command"; exit 129' HUP
  trap 'stop_here "$command"; exit 130' INT
  trap 'stop_here "$command"; exit 143' TERM
  wait "$command" || status=$?
  [ "$status" != 124 ] || say "rxe: still running after $TIMEOUT s, killed"
  return "$status"
}
