# SPDX-License-Identifier: Apache-2.0
# Another rdma-core than this machine's: packages of another suite of the Debian mirror that apt uses here, unpacked and not
# installed. Sourced by bin/rxe-test, after common.sh and rxe-image.sh.
# shellcheck shell=bash

# What headers and layouts in Java were written from.
WRITTEN_FROM=44
NEEDED_LIBRARIES=(libc6 libnl-3-200 libnl-route-3-200)

# Usage: suite_apt FOLDER COMMAND...; runs apt-get or apt-cache with sources and state of their own in FOLDER.
suite_apt() {
  local folder=$1 command=$2
  shift 2
  "$command" -q -o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=/dev/null \
    -o Dir::State="$folder/state" -o Dir::State::status="$folder/status" -o Dir::Cache="$folder/cache" "$@"
}

# Usage: newer FILE; succeeds if a downloaded package is newer than the one that is installed.
newer() {
  local installed
  installed=$(dpkg-query -W -f='${Version}' "$(dpkg-deb -f "$1" Package)" 2>/dev/null || true)
  dpkg --compare-versions "$(dpkg-deb -f "$1" Version)" gt "$installed"
}

# Usage: unpack_suite SUITE FOLDER; libraries, providers and headers of rdma-core, and libraries
# that they need, as far as those are newer than this machine's: its other programs need them too.
unpack_suite() {
  local suite=$1 folder=$2 mirror cm deb
  # shellcheck disable=SC2016
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(COMPONENT) $(LABEL)' 'Created-By: Packages' |
    sed -n 's/ main Debian$//p;T;q')
  [ -n "$mirror" ] || die "apt has no Debian mirror here"
  mkdir -p "$folder"/apt/{state/lists/partial,cache/archives/partial} "$folder/debs" "$folder/files"
  : >"$folder/apt/status"
  echo "deb $mirror $suite main" >"$folder/apt/sources.list"
  suite_apt "$folder/apt" apt-get update
  # The name changed when time_t did.
  cm=$(suite_apt "$folder/apt" apt-cache pkgnames librdmacm1 | sort | tail -n 1)
  (cd "$folder/debs" && suite_apt "$folder/apt" apt-get download libibverbs1 "$cm" ibverbs-providers libibverbs-dev \
    librdmacm-dev "${NEEDED_LIBRARIES[@]}")
  for deb in "$folder"/debs/*.deb; do
    [[ " ${NEEDED_LIBRARIES[*]} " != *" $(dpkg-deb -f "$deb" Package) "* ]] || newer "$deb" || continue
    dpkg -x "$deb" "$folder/files"
  done
  dpkg-deb -f "$folder"/debs/libibverbs1_*.deb Version >"$folder/version"
}

# Usage: need_suite SUITE; downloads once. Sets SUITE_FILES to the folder and SUITE_VERSION to the version of rdma-core.
need_suite() {
  local folder=$RXE_CACHE/rdma-core-$1 log=$RXE_CACHE/rdma-core-$1.log
  if [ ! -f "$folder/version" ]; then
    say "downloading rdma-core of $1 (log: $log)"
    rm -rf "$folder.part"
    mkdir -p "$RXE_CACHE"
    (unpack_suite "$1" "$folder.part") >"$log" 2>&1 || { tail -n 5 "$log" >&2; die "cannot get rdma-core of $1; see $log"; }
    rm -rf "$folder" "$folder.part/debs" "$folder.part/apt"
    mv "$folder.part" "$folder"
  fi
  # shellcheck disable=SC2034
  SUITE_FILES=$folder/files SUITE_VERSION=$(<"$folder/version")
}

# Succeeds if the suite's headers are older than the headers of the layouts.
suite_is_older() { dpkg --compare-versions "$SUITE_VERSION" lt "$WRITTEN_FROM"; }
