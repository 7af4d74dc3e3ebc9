# SPDX-License-Identifier: Apache-2.0
# Class-data archives for executors and driver (bin/submit --cds); sourced after common.sh, with JAVA set.
# shellcheck shell=bash

# Usage: spark_submit ARGUMENT...; sets COMMAND to what spark-submit would run for these arguments.
spark_submit() {
  mapfile -d '' -t COMMAND < <("$JAVA" -XX:TieredStopAtLevel=1 -cp "$SPARK_HOME/jars/*" \
    org.apache.spark.launcher.Main org.apache.spark.deploy.SparkSubmit "$@")
  # A line with a lone NUL comes first.
  if [ -z "${COMMAND[0]}" ]; then
    COMMAND=("${COMMAND[@]:1}")
    COMMAND[0]=${COMMAND[0]#$'\n'}
  fi
}

# Dependencies of archives in addition to the jars; a JVM refuses archives of another one.
archives_of() { "$JAVA" -version 2>&1; echo "$SPARK_HOME"; }

# Usage: have_archives FOLDER; succeeds if it has archives of the jars as they are now.
have_archives() {
  [ -f "$1/driver.jsa" ] && [ -f "$1/executor.jsa" ] && [ "$(cat "$1/made-by" 2>/dev/null)" = "$(archives_of)" ] &&
    [ -z "$(find -L "$SPARK_HOME/RELEASE" "$SPARK_HOME/jars" "$(plugin_jar)" "$(module_jar harness)" -newer "$1/made-by" -print -quit)" ]
}

# Usage: will_write ARCHIVE; succeeds while there is a JVM that will write it.
will_write() {
  local process name
  for process in /proc/[0-9]*; do
    if read -r name 2>/dev/null <"$process/comm" && [ "$name" = java ] &&
      grep -qsF -- "-XX:ArchiveClassesAtExit=$1" "$process/cmdline"; then return 0; fi
  done
  return 1
}

# Usage: await_end_of ARCHIVE; waits up to two minutes until no process is left that is to write it: the executor does so as it
# ends, and the driver does not wait for that.
await_end_of() {
  local deadline=$((SECONDS + 120))
  while will_write "$1"; do
    [ $SECONDS -lt $deadline ] || return 1
    sleep 0.2
  done
}

# Usage: train_archives FOLDER; runs a small job whose driver and executor leave archives of the classes that they loaded.
train_archives() {
  local folder=$1 new log4j=-Dlog4j2.configurationFile=$SPARK_HOME/conf/log4j2.properties
  new=$(mktemp -d "$folder/new-XXXXXX")
  local jars
  jars=$(application_jars)
  spark_submit --master "local-cluster[1,1,1024]" --conf spark.ui.enabled=false \
    --conf "spark.driver.extraClassPath=$jars" --conf "spark.executor.extraClassPath=$jars" --conf spark.shuffle.manager=io.rdmashuffle.spark.RdmaShuffleManager \
    --conf "spark.driver.defaultJavaOptions=\"-XX:ArchiveClassesAtExit=$new/driver.jsa\" \"$log4j\"" \
    --conf "spark.executor.defaultJavaOptions=\"-XX:ArchiveClassesAtExit=$new/executor.jsa\" \"$log4j\"" \
    --class io.rdmashuffle.examples.GroupBy "$(module_jar demo)" 200000
  # Without the lock, which an executor that hangs would keep.
  if timeout 600 "${COMMAND[@]}" >"$folder/train.log" 2>&1 </dev/null 9>&- && await_end_of "$new/executor.jsa" &&
    [ -f "$new/driver.jsa" ] && [ -f "$new/executor.jsa" ]; then
    # Whoever has mapped an older one keeps it.
    mv -f "$new/driver.jsa" "$new/executor.jsa" "$folder"
    archives_of >"$folder/made-by"
  else
    say "no class-data archives could be made, so that the job starts without; see $folder/train.log"
  fi
  rm -rf "$new"
}

# Usage: make_archives FOLDER; makes archives in it unless it has some, and hides the home's conf folder from later
# processes: a JVM neither writes nor uses an archive with a folder of files in its class path.
make_archives() {
  local folder=$1
  mkdir -p "$folder/no-conf"
  export SPARK_CONF_DIR=$folder/no-conf
  have_archives "$folder" && return
  (
    # Of concurrent starts, one makes them.
    flock -w 900 9 || say "another process makes class-data archives in $folder, and does not end"
    have_archives "$folder" && exit
    say "making class-data archives in $folder (log: $folder/train.log)"
    train_archives "$folder"
  ) 9>"$folder/lock"
}
