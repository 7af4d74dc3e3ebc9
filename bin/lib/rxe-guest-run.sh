# SPDX-License-Identifier: Apache-2.0
# Runs in a guest of bin/rxe, in a file system like the host's: network and devices, then the command.
# Everything comes from and goes to /run/rxe, a folder of the host that all guests of a run see.
# shellcheck shell=bash
set -euo pipefail
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
cd /run/rxe
# This run's number of hosts, shared folder and modules; the number of this host is in the kernel's arguments.
hosts="" share="" modules=""
DEVICE=rxe
# shellcheck source=/dev/null
. ./settings
# shellcheck source=rxe-devices.sh
. ./rxe-devices.sh
[[ $(</proc/cmdline) =~ rxe\.host=([0-9]+) ]]
host=${BASH_REMATCH[1]}

name_hosts() {
  local i
  echo "host$host" >/proc/sys/kernel/hostname
  echo "127.0.0.1 localhost"
  for ((i = 1; i <= hosts; i++)); do echo "10.77.0.$i host$i"; done
}

# Only the caller's folder and the modules are shared beyond the read-only file system. Its files are not cached: what
# one host writes the others must see.
mount_folders() {
  local modules_here=/lib/modules/${modules##*/}
  mkdir -p "$share" "$modules_here"
  mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=mmap share "$share"
  mount --bind "$modules" "$modules_here"
}

# Returns when every host of the run reaches every other one; fails after two minutes.
meet() {
  local i deadline=$((SECONDS + 120))
  for ((i = 1; i <= hosts; i++)); do
    until busybox ping -q -c 1 -w 1 "10.77.0.$i" >/dev/null; do ((SECONDS < deadline)) || return; done
  done
  : >"ready.$host"
  for ((i = 1; i <= hosts; i++)); do
    until [ -e "ready.$i" ]; do
      ((SECONDS < deadline)) || return
      sleep 0.2
    done
  done
}

# Usage: await PID; returns the exit code of the command that leads this process group. The commands of the other hosts
# end, without an exit code of their own, when that of host 1 has.
await() {
  local i
  if [ "$host" != 1 ]; then
    while kill -0 "$1" 2>/dev/null; do
      if [ -e status.1 ]; then
        ended=true
        kill -TERM -- "-$1" 2>/dev/null || true
        for ((i = 0; i < 20; i++)); do kill -0 "$1" 2>/dev/null && sleep 0.1; done
        kill -KILL -- "-$1" 2>/dev/null || true
      fi
      sleep 0.5
    done
  fi
  wait "$1"
}

# Usage: tell_when_late PID; once the run is past its deadline, prints what this guest is at: the stacks of each Java
# process, where threads wait in the kernel, and the kernel's last messages. Ends with process PID.
tell_when_late() {
  local exe thread
  until [ -e late ]; do
    kill -0 "$1" 2>/dev/null || return 0
    sleep 5
  done
  for exe in /proc/[0-9]*/exe; do
    [[ $(readlink "$exe") != */java ]] || kill -QUIT "$(basename "${exe%/exe}")" || true
  done
  for thread in /proc/[0-9]*/task/[0-9]*; do
    grep -q '^State:.*D (' "$thread/status" 2>/dev/null || continue
    echo "rxe: host $host: in the kernel: $(tr '\0' ' ' <"$thread/../../cmdline" | cut -c1-80): $(<"$thread/comm")"
    cat "$thread/stack" 2>/dev/null || true
  done
  dmesg | tail -n 20
  # Java writes its stacks itself, and an emulated machine is slow.
  sleep 8
  : >"told.$host"
}

# The command has pipes, as it would behind bin/rxe on the host: a file would be truncated by `>/dev/stderr`.
run_command() {
  local status=0 ended=false out err i command
  local -a variables arguments
  mapfile -d '' -t variables <environment
  mapfile -d '' -t arguments <"command"
  exec 3> >(exec cat >>"out.$host"); out=$!
  exec 4> >(exec cat >>"err.$host"); err=$!
  # shellcheck disable=SC2016
  setsid env -i --default-signal=INT,QUIT "${variables[@]}" RXE_HOST="$host" RXE_HOSTS="$hosts" RXE_SHARE="$share" \
    RXE_DEVICE="$DEVICE" bash -c 'cd "$1" && shift && exec "$@"' rxe "${arguments[@]}" </dev/null >&3 2>&4 3>&- 4>&- &
  command=$!
  tell_when_late "$command" >>"err.$host" 2>&1 3>&- 4>&- &
  await "$command" || status=$?
  exec 3>&- 4>&-
  # A process that the command left behind may hold the pipes; it gets two seconds.
  for ((i = 0; i < 20; i++)); do
    kill -0 "$out" 2>/dev/null || kill -0 "$err" 2>/dev/null || break
    sleep 0.1
  done
  "$ended" && return
  echo "$status" >"status.$host.part"
  mv "status.$host.part" "status.$host"
}

name_hosts >/etc/hosts
ip link set lo up
mount_folders
[ "$DEVICE" = rxe ] || modprobe "$DEVICE"
if [ "$hosts" = 1 ]; then
  make_rails
else
  make_port "$host"
  meet
fi
run_command
# The others may still talk to this host, until host 1 is done.
until [ -e status.1 ]; do sleep 0.5; done
