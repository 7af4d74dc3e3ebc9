# SPDX-License-Identifier: Apache-2.0
# A standalone cluster of a Master and two Workers, from a Spark home that lacks the plugin; sourced after common.sh and spark-java.sh.
# shellcheck shell=bash

DAEMONS=()
# Ends the daemons of this script.
stop_daemons() {
  local pid
  for pid in "${DAEMONS[@]}"; do kill "$pid" 2>/dev/null || true; done
  for pid in "${DAEMONS[@]}"; do wait "$pid" 2>/dev/null || true; done
  DAEMONS=()
}
trap stop_daemons EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# Usage: daemon LOG CLASS ARGUMENT...; starts a daemon of Spark in the background.
daemon() {
  local log=$1
  shift
  SPARK_DAEMON_JAVA_OPTS="-XX:TieredStopAtLevel=1 -XX:+UseSerialGC" SPARK_DAEMON_MEMORY=512m \
    "$SPARK_HOME/bin/spark-class" "$@" >"$log" 2>&1 </dev/null &
  DAEMONS+=($!)
}

# Usage: await LOG PATTERN; waits up to 90 s until a log has a line, and prints what the first group of the pattern matched.
await() {
  local deadline=$((SECONDS + 90)) found=""
  while [ -z "$found" ]; do
    [ $SECONDS -lt $deadline ] || { say "$(basename "$0"): no '$2' in $1 within 90 s"; return 1; }
    found=$(sed -nE "s#.*$2.*#\\1#p" "$1" 2>/dev/null | tail -n 1)
    [ -n "$found" ] || sleep 0.2
  done
  echo "$found"
}

# Usage: log_info CONF; has Spark log as it does by default.
log_info() {
  sed 's/^rootLogger.level.*/rootLogger.level = info/' "$SPARK_HOME/conf/log4j2.properties" >"$1/log4j2.properties"
}

# Usage: start_cluster FOLDER [SETTING...]; starts a Master and two Workers with the settings in their spark-defaults.conf, and sets MASTER
# and CLUSTER. Executors have their local directories in FOLDER/local.
start_cluster() {
  local folder=$1 worker
  shift
  mkdir -p "$folder/conf" "$folder/local"
  log_info "$folder/conf"
  printf '%s\n' "$@" >"$folder/conf/spark-defaults.conf"
  export SPARK_CONF_DIR=$folder/conf
  daemon "$folder/master.log" org.apache.spark.deploy.master.Master --host 127.0.0.1 --port 0 --webui-port 0
  MASTER=$(await "$folder/master.log" '(spark://127\.0\.0\.1:[0-9]+)') || return 1
  for worker in 1 2; do
    SPARK_LOCAL_DIRS=$folder/local daemon "$folder/worker$worker.log" org.apache.spark.deploy.worker.Worker --host 127.0.0.1 \
      --webui-port 0 --cores 2 --memory 2g --work-dir "$folder/work$worker" "$MASTER"
  done
  for worker in 1 2; do
    await "$folder/worker$worker.log" '(Successfully registered with master)' >/dev/null || return 1
  done
  CLUSTER=$folder
}
