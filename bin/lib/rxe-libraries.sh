#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: rxe-libraries.sh LIBRARIES LOGS COMMAND...; run by bin/rxe. Runs COMMAND, a job of two executors, once with each of the
# doctored libraries that rxe-lesser.sh has made in LIBRARIES, and checks what executors warn of. Copies of their logs go to LOGS.
# RXE_CASES, if set, names some of the cases, apart by commas.
set -euo pipefail
LIBRARIES=$1 LOGS=$2
shift 2
COMMAND=("$@")
passed=0 failed=0
mkdir -p "$LOGS"

# Usage: check WHAT COMMAND...; counts whether a command succeeds.
check() {
  local what=$1
  shift
  if "$@"; then
    passed=$((passed + 1))
    echo "passed $what"
  else
    failed=$((failed + 1))
    echo "FAILED $what"
  fi
}

# Usage: whole_lines LOG; prints a log without a last line that was cut off when the process was killed.
whole_lines() { if [ -n "$(tail -c 1 "$1")" ]; then head -n -1 "$1"; else cat "$1"; fi; }

# Usage: warnings LOG; prints a process's warnings, except Spark's usual ones, and its warnings when a cluster is
# stopped, where a worker may end before its executors do.
warnings() {
  whole_lines "$1" | grep -E '^[0-9:.]+ (WARN|ERROR|FATAL) ' | grep -v ' WARN NativeCodeLoader: ' |
    grep -vE ' ERROR (CoarseGrainedExecutorBackend: RECEIVED SIGNAL TERM$|WorkerWatcher: Lost connection to worker )' || true
}

# Usage: warns_only LOG PATTERN; succeeds if a process warned once, of this, or, without a pattern, of nothing.
warns_only() {
  local found
  found=$(warnings "$1")
  if [ -z "$2" ] && [ -z "$found" ]; then return 0; fi
  [ -n "$2" ] && [ "$(wc -l <<<"$found")" = 1 ] && grep -qE "$2" <<<"$found" && return
  printf 'warnings of %s, of which "%s" was expected:\n%s\n' "$1" "$2" "$found"
  return 1
}

# Prints the logs of all executors that were ever started from this Spark home. Their times cannot be compared: the clock of a QEMU
# guest without enough CPU time falls behind the host's.
executor_logs() { [ ! -d "$SPARK_HOME/work" ] || find "$SPARK_HOME/work" -path '*/app-*/stderr' | sort; }

# Usage: run_case NAME FOLDER LACKS WARNING ARGUMENT...; the job with the libraries of FOLDER before the machine's own.
run_case() {
  local name=$1 folder=$LIBRARIES/$2 lacks=$3 warning=$4 log=$LOGS/$1.log status=0 executor before
  shift 4
  [[ -z ${RXE_CASES:-} || ,$RXE_CASES, == *,$name,* ]] || return 0
  echo "-- $name"
  before=$(executor_logs)
  env LD_LIBRARY_PATH="$folder" RXE_LACKS="$lacks" "${COMMAND[@]}" "$@" >"$log" 2>&1 </dev/null || status=$?
  grep -E '^(passed|FAILED|bytes by path) ' "$log" || tail -n 20 "$log"
  check "$name: the job" [ "$status" = 0 ]
  mapfile -t executors < <(comm -13 <(echo "$before") <(executor_logs))
  check "$name: logs of two executors" [ ${#executors[@]} = 2 ]
  for executor in "${executors[@]}"; do
    cp "$executor" "$LOGS/$name-$(basename "$(dirname "$executor")").log"
    check "$name: what executor $(basename "$(dirname "$executor")") warns of" warns_only "$executor" "$warning"
  done
}

# Usage: over_the_fabric NAME FOLDER LACKS WARNING ARGUMENT...
over_the_fabric() { run_case "$@" --fabric verbs --libraries "$LIBRARIES/$2"; }

# The library of these two has no _ibv_query_gid_table either.
over_the_fabric no-srq-no-atomics lesser srq,atomics ""
over_the_fabric no-odp lesser odp "does not support on-demand paging, so the pool is pinned \(spark.shuffle.rdma.fabric.verbs.onDemandPaging\)" \
  --conf spark.shuffle.rdma.fabric.verbs.onDemandPaging=true
run_case no-function no-establish "" "RDMA is not used: .*lacks rdma_establish; install rdma-core 23 or newer" \
  --fabric verbs --path netty
run_case no-libraries none "" "RDMA is not used: .*cannot be loaded; install rdma-core" --fabric auto --path shm
echo "$passed passed, $failed failed, 0 skipped"
[ "$failed" = 0 ]
