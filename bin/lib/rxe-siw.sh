# SPDX-License-Identifier: Apache-2.0
# Builds siw, the kernel's software iWARP, which Debian's kernels of this line leave out, for the guest's kernel.
# Sourced by bin/rxe, after rxe-image.sh.
# shellcheck shell=bash

SIW_PACKAGES=(gcc make patch xz-utils libc6-dev)
SIW_PATCH=$ROOT/bin/lib/siw.patch

# Usage: unpack_packages FOLDER PACKAGE...; downloads packages and unpacks them there; nothing is installed.
unpack_packages() {
  local folder=$1 deb
  shift
  (cd "$folder" && apt-get download -qq "$@" && for deb in ./*.deb; do dpkg -x "$deb" . && rm "$deb"; done) \
    >"$RXE_CACHE/apt.log" 2>&1 ||
    { tail -n 5 "$RXE_CACHE/apt.log" >&2; unavailable "cannot download $*; see $RXE_CACHE/apt.log. For a newer kernel: rm -r $RXE_CACHE"; }
}

# Usage: mend_siw SOURCE; a newer kernel may not need it any more, or look different.
mend_siw() {
  if patch -s -f -p1 --dry-run -d "$1" <"$SIW_PATCH" >"$RXE_CACHE/siw.log" 2>&1; then
    patch -s -p1 -d "$1" <"$SIW_PATCH"
  else
    say "rxe: $SIW_PATCH does not apply, so siw is built as it is; see docs/testing.md"
  fi
}

# Puts siw.ko among the modules of the guest's kernel, once. The headers name the folders of installed packages.
need_siw() {
  local version line part=$RXE_CACHE/siw.part headers link module
  version=$(ls "$RXE_CACHE/kernel/lib/modules")
  module=$RXE_CACHE/kernel/lib/modules/$version/extra/siw.ko
  [ "$module" -nt "$SIW_PATCH" ] && return
  line=$(cut -d . -f 1,2 <<<"$version")
  need_packages "${SIW_PACKAGES[@]}"
  say "rxe: building siw for $version"
  rm -rf "$part"
  mkdir -p "$part"
  unpack_packages "$part" "linux-headers-$version" "linux-headers-${version%-*}-common" "linux-kbuild-$line" \
    "linux-source-$line"
  tar -C "$part" -xJf "$part/usr/src/linux-source-$line.tar.xz" "linux-source-$line/drivers/infiniband/sw/siw"
  mend_siw "$part/linux-source-$line"
  headers=$part/usr/src/linux-headers-$version
  sed -i "s:/usr/src/:$part/usr/src/:g" "$headers/Makefile"
  for link in scripts tools; do
    ln -sfn "$part/usr/lib/linux-kbuild-$line/$link" "$headers/$link"
    ln -sfn "$part/usr/lib/linux-kbuild-$line/$link" "$part/usr/src/linux-headers-${version%-*}-common/$link"
  done
  make -C "$headers" M="$part/linux-source-$line/drivers/infiniband/sw/siw" CONFIG_RDMA_SIW=m modules \
    >"$RXE_CACHE/siw.log" 2>&1 ||
    { tail -n 5 "$RXE_CACHE/siw.log" >&2; unavailable "siw does not build; see $RXE_CACHE/siw.log"; }
  mkdir -p "${module%/*}"
  cp "$part/linux-source-$line/drivers/infiniband/sw/siw/siw.ko" "$module"
  depmod -b "$RXE_CACHE/kernel" "$version"
  rm -rf "$part"
}
