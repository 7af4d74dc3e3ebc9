# SPDX-License-Identifier: Apache-2.0
# Sourced by the scripts of bin/: finds the repository and Java, and builds missing parts, for one Spark version.
# shellcheck shell=bash

ROOT=$(CDPATH="" cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd -P)

say() { printf '%s\n' "$*" >&2; }
die() { say "$(basename "$0"): $*"; exit 1; }

# Profiles of the root pom say what each line is.
mapfile -t LINES_OF_SPARK < <(sed -n 's:.*<id>spark-\(.*\)</id>.*:\1:p' "$ROOT/pom.xml")
DEFAULT_LINE=$(sed -n 's:.*<spark.line>\(.*\)</spark.line>.*:\1:p' "$ROOT/pom.xml")

# Usage: use_line LINE; selects the Spark version of later commands.
use_line() {
  LINE=$1
  [[ " ${LINES_OF_SPARK[*]} " == *" $LINE "* ]] || {
    say "$(basename "$0"): unknown Spark version '$LINE'; -Dspark.line is one of: ${LINES_OF_SPARK[*]}"
    exit 2
  }
  SPARK_HOME=$ROOT/integration-tests/harness/target/spark-home-$LINE SPARK_SCALA_VERSION=2.13
  [[ $LINE != *_* ]] || SPARK_SCALA_VERSION=${LINE#*_}
  export SPARK_HOME SPARK_SCALA_VERSION SPARK_LOCAL_IP=127.0.0.1
  # For the repository's own JVMs.
  OURS_JAVA=("-Drdmashuffle.root=$ROOT" "-Dspark.line=$LINE")
}

# Usage: take_line "$@"; set -- "${ARGUMENTS[@]}"; takes -Dspark.line=LINE out of the arguments of a command and uses that line.
take_line() {
  local argument
  ARGUMENTS=()
  for argument in "$@"; do
    case $argument in
      -Dspark.line=*) use_line "${argument#-Dspark.line=}" ;;
      *) ARGUMENTS+=("$argument") ;;
    esac
  done
}
use_line "$DEFAULT_LINE"

# Sets JAVA to a Java 17 or newer: of JAVA_HOME if that is set, else of the path.
find_java() {
  JAVA=${JAVA_HOME:+$JAVA_HOME/bin/}java
  command -v "$JAVA" >/dev/null || die "no java: install a JDK 17, or set JAVA_HOME to one"
  local version
  version=$("$JAVA" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p;T;q')
  [ "${version:-0}" -ge 17 ] || die "JDK 17 or newer is needed, $JAVA is version ${version:-unknown}; set JAVA_HOME"
}

# Usage: module_jar MODULE; prints the jar of a module of integration-tests, nothing if there is none.
module_jar() { compgen -G "$ROOT/integration-tests/$1/target/rdma-shuffle-$1-*.jar" | head -n 1; }

# Prints the jar that users get, nothing if there is none; a release has jars of sources and Javadoc beside it.
plugin_jar() { compgen -G "$ROOT/plugin/target/rdma-shuffle-spark-*.jar" | grep -vE -- '-(sources|javadoc)\.jar$' | head -n 1; }

# Usage: application_jars [MODULE...]; prints the class path that an application adds to Spark's jars: the plugin, the harness, and modules
# of integration-tests. Spark's home has none of them, as a user's has not.
application_jars() {
  local module path
  path=$(plugin_jar):$(module_jar harness)
  for module in "$@"; do
    path+=:$(module_jar "$module")
  done
  echo "$path"
}

# Usage: modules_of MODULE; prints a module of integration-tests and those of them that it needs.
modules_of() {
  case $1 in
    harness) echo harness ;;
    benchmarks | yarn) echo harness demo "$1" ;;
    *) echo harness "$1" ;;
  esac
}

# Usage: sum_of PATH...; prints a checksum of all files at and below the paths, names included.
sum_of() {
  (cd "$ROOT" && find "${@#"$ROOT"/}" -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d ' ' -f 1)
}

# Usage: must_build MODULE; succeeds if a jar that a module of integration-tests needs is missing, or if its sources are not those of the
# module's last build: by checksum, since a copied checkout has new file times, or by time where only Maven has built it.
must_build() {
  local module=$1 built=$ROOT/integration-tests/$1/target/built jar needed
  local sources=("$ROOT/pom.xml" "$ROOT/.mvn" "$ROOT/integration-tests/pom.xml")
  [ -n "$(plugin_jar)" ] || return 0
  for needed in $(modules_of "$module"); do
    [ -n "$(module_jar "$needed")" ] || return 0
    sources+=("$ROOT/integration-tests/$needed/pom.xml" "$ROOT/integration-tests/$needed/src/main")
  done
  for needed in native-verbs plugin/link-check plugin/since-4.1 plugin; do
    sources+=("$ROOT/$needed/pom.xml" "$ROOT/$needed/src/main")
  done
  SOURCES_SUM=$(sum_of "${sources[@]}")
  jar=$(module_jar "$module")
  if [ -s "$built" ] && [ "$(cat "$built")" = "$SOURCES_SUM" ]; then
    return 1
  fi
  [ -z "$(find "${sources[@]}" -newer "$jar" -print -quit)" ] || return 0
  echo "$SOURCES_SUM" >"$built"
  return 1
}

# Succeeds if the home of this line is missing or made of other sources, or if a jar of it has gone from the local Maven
# repository since.
must_make_home() {
  local release=$SPARK_HOME/RELEASE harness=$ROOT/integration-tests/harness
  local sources=("$ROOT/pom.xml" "$ROOT/integration-tests/pom.xml" "$harness/home/pom.xml" "$harness/src/main/resources"
    "$harness/src/main/java/io/rdmashuffle/harness/SparkHome.java")
  [ -f "$release" ] && [ -z "$(find -L "$SPARK_HOME/jars" -type l -print -quit)" ] || return 0
  HOME_SUM=$(sum_of "${sources[@]}")
  if [ -s "$SPARK_HOME/made-of" ] && [ "$(cat "$SPARK_HOME/made-of")" = "$HOME_SUM" ]; then
    return 1
  fi
  [ -z "$(find "${sources[@]}" -newer "$release" -print -quit)" ] || return 0
  echo "$HOME_SUM" >"$SPARK_HOME/made-of"
  return 1
}

# Usage: last_errors LOG LINES; prints the last of Maven's errors, if there are any.
last_errors() { grep -E '^\[(ERROR|WARNING)\]' "$1" | tail -n "$2" >&2 || true; }

need_maven() { command -v mvn >/dev/null || die "no mvn: install Maven 3.8.7 or newer"; }

# Makes the Spark home of this line, if need be, of jars that Maven fetches; harness is built.
need_home() {
  must_make_home || return 0
  local log=$ROOT/target/home-$LINE.log started=$SECONDS
  need_maven
  mkdir -p "$ROOT/target"
  say "fetching Spark $LINE (log: $log)"
  mvn -B -ntp -f "$ROOT/integration-tests/harness/home/pom.xml" "-Dspark.line=$LINE" dependency:build-classpath \
    >"$log" 2>&1 || {
    last_errors "$log" 10
    die "Maven could not get Spark $LINE; see $log"
  }
  "$JAVA" -XX:TieredStopAtLevel=1 -cp "$(module_jar harness)" io.rdmashuffle.harness.SparkHome "$ROOT" "$LINE"
  must_make_home || true
  say "made $SPARK_HOME in $((SECONDS - started)) s"
}

# Usage: build_if_needed MODULE; builds a module of integration-tests, its dependencies, and the Spark home of this
# version, if they are missing or older than their sources.
build_if_needed() {
  build_module_if_needed "$1"
  need_home
}

build_module_if_needed() {
  local module=$1 log=$ROOT/target/build.log started=$SECONDS
  must_build "$module" || return 0
  need_maven
  mkdir -p "$ROOT/target"
  say "building (mvn package, without tests, log: $log)"
  (cd "$ROOT" && mvn -B -ntp -pl "integration-tests/$module" -am -Dmaven.test.skip=true \
    -Dspotless.check.skip=true -Dcheckstyle.skip=true package) >"$log" 2>&1 || {
    last_errors "$log" 30
    die "the build failed; see $log"
  }
  must_build "$module" || true
  echo "$SOURCES_SUM" >"$ROOT/integration-tests/$module/target/built"
  say "built in $((SECONDS - started)) s"
}
