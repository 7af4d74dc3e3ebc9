# SPDX-License-Identifier: Apache-2.0
# A YARN cluster of this host; sourced after common.sh.
# shellcheck shell=bash

# The Spark version whose Hadoop the daemons are of, which serve clients of older ones.
YARN_LINE=4.2

# Usage: need_yarn_jars; fetches Hadoop's daemons and Spark's client of YARN for this line, once. Fails if Maven cannot get them.
need_yarn_jars() {
  local pom=$ROOT/integration-tests/yarn/hadoop/pom.xml log=$ROOT/target/yarn-jars-$LINE.log
  YARN_JARS=$ROOT/integration-tests/yarn/target/yarn-jars-$LINE
  [ ! "$YARN_JARS/complete" -nt "$pom" ] || return 0
  need_maven
  mkdir -p "$ROOT/target"
  rm -rf "$YARN_JARS"
  say "fetching YARN (log: $log)"
  mvn -B -ntp -f "$pom" "-Dspark.line=$LINE" dependency:copy-dependencies >"$log" 2>&1 || {
    last_errors "$log" 10
    return 1
  }
  touch "$YARN_JARS/complete"
}
