#!/bin/sh
# Compiles the native step for ARM as well, runs it in an emulator and compares it with this machine.
# Needs Debian's g++-aarch64-linux-gnu and qemu-user-static.
set -eu
here=$(CDPATH= cd -- "$(dirname -- "$0")" && pwd)
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
options="-std=c++17 -O3 -pthread -ffp-contract=off -fno-math-errno -Wall -Wextra -Wno-psabi"
options="$options -I$here/../../engine/native/source"
g++ $options "$here/check.cpp" -o "$out/here"
"$out/here" > "$out/wanted"
arm() {
    aarch64-linux-gnu-g++ $options "$@" "$here/check.cpp" -o "$out/arm"
    qemu-aarch64-static -L /usr/aarch64-linux-gnu "$out/arm" | diff "$out/wanted" -
}
arm -march=armv8.2-a+dotprod
arm -march=armv8-a
echo "The same bits on all of them."
