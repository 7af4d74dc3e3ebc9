#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Usage: rxe-standalone.sh JAVA JARS FOLDER COMMAND...; run by bin/rxe --hosts on every host at once.
# Host 1 runs a standalone master and then COMMAND, the driver; every other host runs a worker until host 1 is done.
# RXE_LINK, if set, shapes this host's link, in words of tc-netem(8); RXE_WORKER_MEMORY is what a worker has (1g).
set -euo pipefail
JAVA=$1 JARS=$2 FOLDER=$3
shift 3
export SPARK_LOCAL_IP=10.77.0.$RXE_HOST SPARK_CONF_DIR=$FOLDER/no-conf SPARK_WORKER_DIR=/tmp/spark-work
mapfile -t options < <(printf '%s\n' "$@" | grep -E '^(-XX:|-Xshare|--add-opens|-Dlog4j2|-Djdk|-Dio.netty)')

if [ -n "${RXE_LINK:-}" ]; then
  read -ra link <<<"$RXE_LINK"
  tc qdisc add dev eth0 root netem "${link[@]}"
fi
if [ "$RXE_HOST" = 1 ]; then
  "$JAVA" "${options[@]}" -Dspark.worker.timeout=600 -cp "$JARS" org.apache.spark.deploy.master.Master \
    --host "$SPARK_LOCAL_IP" --port 7077 --webui-port 0 &
  exec "$@"
fi
until (exec 3<>/dev/tcp/10.77.0.1/7077) 2>/dev/null; do
  sleep 1
done
exec "$JAVA" "${options[@]}" -cp "$JARS" org.apache.spark.deploy.worker.Worker \
  --host "$SPARK_LOCAL_IP" --cores 1 --memory "${RXE_WORKER_MEMORY:-1g}" --webui-port 0 spark://10.77.0.1:7077
