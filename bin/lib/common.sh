# Sourced by the scripts of bin/: finds the repository and Java, and builds what is missing.
# shellcheck shell=bash

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)
TARGET=$ROOT/integration-tests/target
SPARK_HOME=$TARGET/spark-home
export SPARK_HOME SPARK_SCALA_VERSION=2.13 SPARK_LOCAL_IP=127.0.0.1

say() { printf '%s\n' "$*" >&2; }
die() { say "$(basename "$0"): $*"; exit 1; }

# Sets JAVA to a Java 17 or newer: of JAVA_HOME if that is set, else of the path.
find_java() {
  JAVA=${JAVA_HOME:+$JAVA_HOME/bin/}java
  command -v "$JAVA" >/dev/null || die "no java: install a JDK 17, or set JAVA_HOME to one"
  local version
  version=$("$JAVA" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p;T;q')
  [ "${version:-0}" -ge 17 ] || die "JDK 17 or newer is needed, $JAVA is version ${version:-unknown}; set JAVA_HOME"
}

# Succeeds if an artifact is missing or a source is newer than the last complete build.
must_build() {
  local stamp=$SPARK_HOME/RELEASE
  [ -f "$stamp" ] || return 0
  compgen -G "$ROOT/plugin/target/rdma-shuffle-spark-*.jar" >/dev/null || return 0
  compgen -G "$TARGET/integration-tests-*.jar" >/dev/null || return 0
  # A jar of the local Maven repository may have gone since.
  [ -z "$(find -L "$SPARK_HOME/jars" -type l -print -quit)" ] || return 0
  [ -n "$(find "$ROOT/pom.xml" "$ROOT"/*/pom.xml "$ROOT"/*/src/main "$ROOT/.mvn" -newer "$stamp" -print -quit)" ]
}

# Builds the jars and the Spark home if they are missing or older than the sources.
build_if_needed() {
  must_build || return 0
  command -v mvn >/dev/null || die "no mvn: install Maven 3.8.7 or newer"
  local log=$ROOT/target/build.log started=$SECONDS
  mkdir -p "$ROOT/target"
  say "building (mvn package, without tests, log: $log)"
  (cd "$ROOT" && mvn -B -ntp -Dmaven.test.skip=true -Dspotless.check.skip=true -Dcheckstyle.skip=true package) >"$log" 2>&1 || {
    grep -E '^\[(ERROR|WARNING)\]' "$log" | tail -n 30 >&2
    die "the build failed; see $log"
  }
  say "built in $((SECONDS - started)) s"
}

# The jar of this repository's demo and examples.
tests_jar() { compgen -G "$TARGET/integration-tests-*.jar" | head -n 1; }
