# SPDX-License-Identifier: Apache-2.0
# What bin/rxe needs: packages, a kernel with soft-RoCE, an initramfs. Sourced by bin/rxe, after common.sh.
# shellcheck shell=bash

RXE_CACHE=${RXE_CACHE:-$ROOT/target/rxe}
TOOL_PACKAGES=(rdma-core ibverbs-providers ibverbs-utils perftest libibverbs-dev librdmacm-dev rdmacm-utils gcc
  gcc-aarch64-linux-gnu libc6-dev-arm64-cross)
GUEST_PACKAGES=(qemu-system-x86 busybox-static cpio kmod iproute2 xz-utils)
# Loaded in this order, each after its dependencies; rdma_rxe asks for crc32 by name, so depmod does not know.
GUEST_MODULES=(virtio_pci virtio_rng 9pnet_virtio 9p overlay veth virtio_net crc32_generic rdma_rxe ib_uverbs rdma_ucm)

# Exit code of "something that must be installed is not" (EX_UNAVAILABLE of sysexits.h).
unavailable() { say "rxe: $*"; exit 69; }

# Usage: need_packages PACKAGE...; installs missing packages, or prints the command.
need_packages() {
  command -v dpkg-query >/dev/null || unavailable "a guest needs a Debian host (dpkg, apt-get)"
  local installed missing
  installed=$(dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p' || true)
  mapfile -t missing < <(printf '%s\n' "$@" | grep -vxF "$installed")
  [ ${#missing[@]} -gt 0 ] || return 0
  [ "$(id -u)" = 0 ] ||
    unavailable "packages are missing; run: sudo apt-get install --no-install-recommends ${missing[*]}"
  say "rxe: installing ${missing[*]}"
  local install=(apt-get install -y -qq --no-install-recommends "${missing[@]}")
  local log=$RXE_CACHE/apt.log
  mkdir -p "$RXE_CACHE"
  export DEBIAN_FRONTEND=noninteractive
  "${install[@]}" </dev/null >"$log" 2>&1 ||
    { apt-get update -qq && "${install[@]}"; } </dev/null >"$log" 2>&1 ||
    { tail -n 5 "$log" >&2; unavailable "apt-get failed; see $log"; }
}

# Name of the newest kernel package. The cloud kernels have no soft-RoCE.
kernel_package() { apt-cache depends linux-image-amd64 2>/dev/null | sed -n 's/.*Depends: \(linux-image-[0-9]\)/\1/p;T;q'; }

# Usage: unpack_kernel VMLINUZ VMLINUX; QEMU boots either, but emulated, unpacking takes 7 s of every run.
unpack_kernel() {
  local position
  while read -r position; do
    tail -c "+$((position + 1))" "$1" | xz -dc >"$2" 2>/dev/null || true
    [ "$(head -c 4 "$2")" != $'\x7fELF' ] || return 0
  done < <(LC_ALL=C grep -abo $'\xfd7zXZ' "$1" | cut -d : -f 1)
  cp "$1" "$2"
}

# Downloads a kernel and unpacks it into the cache, once; nothing is installed.
need_kernel() {
  local package part=$RXE_CACHE/kernel.part
  [ -f "$RXE_CACHE/kernel/boot/vmlinux" ] && return
  package=$(kernel_package)
  if [ -z "$package" ] && [ "$(id -u)" = 0 ]; then
    apt-get update -qq >&2
    package=$(kernel_package)
  fi
  [ -n "$package" ] || unavailable "apt knows no linux-image-amd64; run: sudo apt-get update"
  say "rxe: downloading $package"
  rm -rf "$part"
  mkdir -p "$part"
  (cd "$part" && apt-get download -qq "$package" && dpkg -x ./*.deb . && rm ./*.deb) >"$RXE_CACHE/apt.log" 2>&1 ||
    { tail -n 5 "$RXE_CACHE/apt.log" >&2; unavailable "cannot download $package; see $RXE_CACHE/apt.log"; }
  depmod -b "$part" "$(ls "$part/lib/modules")"
  unpack_kernel "$part"/boot/vmlinuz-* "$part/boot/vmlinux"
  rm -rf "$RXE_CACHE/kernel"
  mv "$part" "$RXE_CACHE/kernel"
}

# Prints the files of the guest's modules, each after those it depends on.
module_files() {
  local module
  for module in "${GUEST_MODULES[@]}"; do
    modprobe -d "$RXE_CACHE/kernel" -S "$KERNEL_VERSION" --show-depends "$module"
  done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }'
}

# Builds the initramfs anew if its init, this file or the kernel is newer.
need_initramfs() {
  local init=$ROOT/bin/lib/rxe-guest-init.sh file n=100 tree=$RXE_CACHE/initramfs.part
  INITRAMFS=$RXE_CACHE/initramfs-$KERNEL_VERSION
  [ "$INITRAMFS" -nt "$init" ] && [ "$INITRAMFS" -nt "${BASH_SOURCE[0]}" ] && [ "$INITRAMFS" -nt "$RXE_CACHE/kernel" ] &&
    return
  rm -rf "$tree"
  mkdir -p "$tree"/{bin,proc,sys,dev,lower,changes,root,modules}
  cp "$(command -v busybox)" "$tree/bin/busybox"
  cp "$init" "$tree/init"
  chmod 755 "$tree/init"
  while read -r file; do
    case $file in
      *.xz) xz -dc "$file" >"$tree/modules/$n-$(basename "$file" .xz)" ;;
      *) cp "$file" "$tree/modules/$n-$(basename "$file")" ;;
    esac
    n=$((n + 1))
  done < <(module_files)
  (cd "$tree" && find . | cpio -o -H newc --quiet) >"$INITRAMFS.part"
  rm -rf "$tree"
  mv "$INITRAMFS.part" "$INITRAMFS"
}

# Sets KERNEL, KERNEL_VERSION, INITRAMFS. Two runs at once take turns.
need_image() {
  mkdir -p "$RXE_CACHE"
  local lock
  exec {lock}>"$RXE_CACHE/lock"
  flock "$lock"
  need_packages "${GUEST_PACKAGES[@]}" "${TOOL_PACKAGES[@]}"
  need_kernel
  [ "$DEVICE" != siw ] || need_siw
  KERNEL_VERSION=$(ls "$RXE_CACHE/kernel/lib/modules")
  # shellcheck disable=SC2034
  KERNEL=$RXE_CACHE/kernel/boot/vmlinux
  need_initramfs
  exec {lock}>&-
}
