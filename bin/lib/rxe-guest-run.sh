# Runs in a guest of bin/rxe, in a file system like the host's: network and devices, then the command.
# Everything comes from and goes to /run/rxe, a folder of the host that all guests of a run see.
# shellcheck shell=bash
set -euo pipefail
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
cd /run/rxe
# This run's number of hosts, shared folder and modules; the number of this host is in the kernel's arguments.
hosts="" share="" modules=""
# shellcheck source=/dev/null
. ./settings
# shellcheck source=rxe-devices.sh
. ./rxe-devices.sh
host=$(sed -n 's/.*rxe\.host=\([0-9]*\).*/\1/p' /proc/cmdline)

name_hosts() {
  local i
  hostname "host$host"
  echo "127.0.0.1 localhost"
  for ((i = 1; i <= hosts; i++)); do echo "10.77.0.$i host$i"; done
}

# Only caller's folder and the modules are shared beyond the read-only file system.
mount_folders() {
  mkdir -p "$share" "/lib/modules/$(uname -r)"
  mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000,cache=mmap share "$share"
  mount --bind "$modules" "/lib/modules/$(uname -r)"
}

# The command has pipes, as it would behind bin/rxe on the host: a file would be truncated by `>/dev/stderr`.
run_command() {
  local status=0 out err i
  local -a variables arguments
  mapfile -d '' -t variables <environment
  mapfile -d '' -t arguments <"command"
  exec 3> >(exec cat >>"out.$host"); out=$!
  exec 4> >(exec cat >>"err.$host"); err=$!
  # shellcheck disable=SC2016
  setsid --wait env -i "${variables[@]}" RXE_HOST="$host" RXE_HOSTS="$hosts" RXE_SHARE="$share" \
    bash -c 'cd "$1" && shift && exec "$@"' rxe "${arguments[@]}" <"/dev/null" >&3 2>&4 3>&- 4>&- || status=$?
  exec 3>&- 4>&-
  # A process that the command left behind may hold the pipes; it gets two seconds.
  for ((i = 0; i < 20; i++)); do
    kill -0 "$out" 2>/dev/null || kill -0 "$err" 2>/dev/null || break
    sleep 0.1
  done
  echo "$status" >"status.$host.part"
  mv "status.$host.part" "status.$host"
}

name_hosts >/etc/hosts
ip link set lo up
mount_folders
make_rails
run_command
