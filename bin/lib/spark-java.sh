# SPDX-License-Identifier: Apache-2.0
# Options of Spark's JVMs for a fast start; sourced after common.sh.
# shellcheck shell=bash

# In an emulated machine the second compiler costs more than it brings.
LEAN_JAVA=(-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Xshare:auto)
mapfile -t SPARK_JAVA < <(sed -n '/<spark.jvm.options>/,/<\/spark.jvm.options>/p' "$ROOT/pom.xml" |
  sed 's/<[^>]*>//g' | tr -s ' ' '\n' | sed '/^$/d')

# An emulated machine may pause for seconds; on a real one the defaults suffice.
PATIENT=(-Dspark.shuffle.rdma.fabric.verbs.connectTimeout=30s -Dspark.shuffle.rdma.fabric.verbs.ackTimeout=18
  -Dspark.shuffle.rdma.fabric.readTimeout=100s -Dspark.shuffle.rdma.registry.timeout=60s)

# Usage: build_with_tests_if_needed MODULE; as build_if_needed, and the test classes of that module, native-verbs and plugin.
build_with_tests_if_needed() {
  build_tests_if_needed "$1"
  need_home
}

build_tests_if_needed() {
  local module=$1 folder stamp=$ROOT/integration-tests/$1/target/built-tests listed=$ROOT/plugin/target/test-classpath.txt
  local tests=() missing=false sum
  for folder in native-verbs plugin "integration-tests/$module"; do
    [ -d "$ROOT/$folder/target/test-classes" ] || missing=true
    tests+=("$ROOT/$folder/src/test")
  done
  [ -f "$listed" ] || missing=true
  sum=$(sum_of "${tests[@]}")
  if ! "$missing" && ! must_build "$module"; then
    if [ -s "$stamp" ] && [ "$(cat "$stamp")" = "$sum" ]; then
      return 0
    fi
    if [ -z "$(find "${tests[@]}" -newer "$listed" -name '*.java' -print -quit)" ]; then
      echo "$sum" >"$stamp"
      return 0
    fi
  fi
  build_module_if_needed "$module"
  say "building the tests"
  (cd "$ROOT" && mvn -B -ntp -q -pl "integration-tests/$module" -am -DskipTests \
    -Dspotless.check.skip=true -Dcheckstyle.skip=true package) \
    >"$ROOT/target/build.log" 2>&1 || die "the build failed; see $ROOT/target/build.log"
  echo "$sum" >"$stamp"
}

# Usage: device_jobs MASTER FOLDER ARGUMENT...; sets JOBS to the command of DeviceJobs, with the archives of FOLDER.
# The class path has no folders, as class-data archives want it; what Spark would read of a conf folder is named instead.
device_jobs() {
  local master=$1 folder=$2 tests
  tests=$(application_jars cluster)
  shift 2
  SPARK_JARS=$(find "$SPARK_HOME/jars" -name '*.jar' | LC_ALL=C sort | paste -sd :)
  local log4j=-Dlog4j2.configurationFile=$SPARK_HOME/conf/log4j2.properties
  JOBS=(env "SPARK_CONF_DIR=$folder/no-conf" "$JAVA" -Xmx1g "${LEAN_JAVA[@]}" "${DRIVER_ARCHIVE[@]}" "${SPARK_JAVA[@]}"
    "$log4j" "${OURS_JAVA[@]}" "-Dspark.master=$master" -Dspark.ui.enabled=false
    -Dspark.sql.shuffle.partitions=4 -Dspark.sql.autoBroadcastJoinThreshold=-1
    -Dspark.network.timeout=600s -Dspark.executor.heartbeatInterval=60s "${PATIENT[@]}"
    "-Dspark.sql.warehouse.dir=/tmp/warehouse" "-Dspark.executor.extraClassPath=$tests"
    "-Dspark.executor.extraJavaOptions=${LEAN_JAVA[*]} \"$EXECUTOR_ARCHIVE\" \"$log4j\""
    -cp "$SPARK_JARS:$tests" io.rdmashuffle.it.device.DeviceJobs "$@")
}

# Usage: train FOLDER [ARGUMENT...]; runs the jobs here with sort shuffle, for the right results and for archives of loaded classes.
train() {
  local folder=$1 stamp=$1/trained
  shift
  DRIVER_ARCHIVE=(-XX:SharedArchiveFile="$folder/driver.jsa") EXECUTOR_ARCHIVE=-XX:SharedArchiveFile=$folder/executor.jsa
  # Archives are of these very jars.
  if [ -f "$stamp" ] && [ -z "$(find -L "$SPARK_HOME/RELEASE" "$SPARK_HOME/jars" "$(plugin_jar)" "$(module_jar harness)" "$(module_jar cluster)" -newer "$stamp" -print -quit)" ]; then
    return 0
  fi
  say "running the jobs with sort shuffle, for their results and for archives of classes"
  rm -f "$folder"/*.jsa "$stamp"
  mkdir -p "$folder/no-conf"
  local DRIVER_ARCHIVE=(-XX:ArchiveClassesAtExit="$folder/driver.jsa")
  local EXECUTOR_ARCHIVE=-XX:ArchiveClassesAtExit=$folder/executor.jsa
  device_jobs "local-cluster[1,1,1024]" "$folder" --fabric sort --executors 1 --save "$folder/expected.properties" "$@"
  "${JOBS[@]}" >"$folder/train.log" 2>&1 </dev/null ||
    { tail -n 20 "$folder/train.log" >&2; die "the jobs failed with sort shuffle; see $folder/train.log"; }
  touch "$stamp"
}
