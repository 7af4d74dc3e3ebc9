# SPDX-License-Identifier: Apache-2.0
# Makes doctored copies of the libraries of rdma-core: sourced by bin/rxe-test, after common.sh.
# shellcheck shell=bash

# Usage: library_file SONAME; prints the file of a library of this machine.
library_file() { ldconfig -p | sed -n "s/^\t$1 (libc6,[^)]*) => //p" | head -n 1; }

# Usage: rename_function FILE FUNCTION COPY; copies a library without a function: its name is another one of that length.
rename_function() {
  mkdir -p "$(dirname "$3")"
  LC_ALL=C sed "s/\\x00$2\\x00/\\x00${2%?}0\\x00/g" "$1" >"$3"
  local symbols
  symbols=$(readelf --dyn-syms -W "$3") || die "cannot read $3"
  [[ $symbols != *" $2@"* ]] || die "cannot take $2 out of $1"
}

# Usage: build_lesser_verbs FILE FOLDER; the real library under another name, and lesser-verbs.c under its own. It
# exports all symbol versions of the real one, which programs are linked against.
build_lesser_verbs() {
  local file=$1 folder=$2 version before=""
  mkdir -p "$folder"
  LC_ALL=C sed 's/\x00libibverbs\.so\.1\x00/\x00libibverbz.so.1\x00/g' "$file" >"$folder/libibverbz.so.1"
  while read -r version; do
    case $version in
      IBVERBS_1.1) echo "$version { global: ibv_query_device; ibv_open_device; ibv_create_srq; ibv_reg_mr; local: *; }$before;" ;;
      *) echo "$version { }$before;" ;;
    esac
    before=" $version"
  done < <(readelf -V "$file" | sed -n 's/.*Rev: 1 .*Name: \(IBVERBS_.*\)/\1/p') >"$folder/versions"
  gcc -O2 -Wall -shared -fPIC -DREAL_LIBRARY="\"$folder/libibverbz.so.1\"" -o "$folder/libibverbs.so.1" \
    "$ROOT/bin/lib/lesser-verbs.c" -Wl,-soname,libibverbs.so.1 "-Wl,--version-script=$folder/versions" \
    -Wl,--no-as-needed "$folder/libibverbz.so.1" "-Wl,-rpath,$folder" || die "cannot build $ROOT/bin/lib/lesser-verbs.c"
}

# Usage: make_lesser_libraries FOLDER; one folder in it for each kind.
make_lesser_libraries() {
  local folder=$1 verbs cm
  verbs=$(library_file libibverbs.so.1) cm=$(library_file librdmacm.so.1)
  rm -rf "$folder"
  rename_function "$verbs" _ibv_query_gid_table "$folder/no-gid-table/libibverbs.so.1"
  rename_function "$cm" rdma_establish "$folder/no-establish/librdmacm.so.1"
  build_lesser_verbs "$folder/no-gid-table/libibverbs.so.1" "$folder/lesser"
  # What the loader finds first and refuses.
  mkdir -p "$folder/none"
  : >"$folder/none/libibverbs.so.1"
}
