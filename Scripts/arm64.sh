#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the library for arm64 with Swift 6.2.3, and runs README's example, the tests of P1 to P25
# and `stress` there, in qemu-user where this machine is no arm64. Debian's unstable distribution
# has this compiler for both processors; its packages are unpacked into a folder, and nothing is
# installed.
#
# usage: Scripts/arm64.sh [STRESS-ARGUMENT…]
#   Arguments go to `stress`. Without any, it runs the smoke profile: every scenario but two.
# Left out are tests that start a process, which the emulator cannot do for an arm64 program.
# It needs apt-get, qemu-user, root (for chroot), 7 GB of disk, and 1.3 GB of downloads the first
# time. ARM64_FOLDER names the folder (.build/debian). It is not part of .ci/run.
# Exit codes: 0 all passed, 1 not, 2 it cannot run here.

set -euo pipefail

checkout="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
folder="${ARM64_FOLDER:-$checkout/.build/debian}"
root="$folder/amd64"
# As the compiler sees them.
readonly sdk=/arm64 sources=/src out=/out

cannot() {
    echo "arm64.sh: cannot run: $1" >&2
    exit 2
}

[ "$(uname -m)" = x86_64 ] || cannot "this script compiles on x86-64; on arm64 itself use swift build"
[ "$(id -u)" = 0 ] || cannot "chroot needs root"
command -v apt-get >/dev/null || cannot "no apt-get"
command -v qemu-aarch64 >/dev/null || "$checkout/Scripts/install.sh" qemu-user

# --- The compiler ---------------------------------------------------------------------------------

# packages ARCHITECTURE PACKAGE…: downloads them with all that they depend on, and unpacks them.
packages() {
    local architecture="$1" target="$2" package
    shift 2
    rm -f "$folder"/archives/*.deb
    apt-get install -y -qq --download-only "${@/%/:$architecture}" >/dev/null
    for package in "$folder"/archives/*_{"$architecture",all}.deb; do
        [ ! -e "$package" ] || dpkg-deb --fsys-tarfile "$package" | tar -C "$target" -x --keep-directory-symlink
    done
    rm -f "$folder"/archives/*.deb
}

# prepare: a root for the compiler, and inside it one for arm64.
prepare() {
    local name target
    mkdir -p "$folder"/{lists/partial,archives/partial,etc}
    cat >"$folder/etc/sid.sources" <<END
Types: deb
URIs: http://deb.debian.org/debian
Suites: sid
Components: main
Architectures: amd64 arm64
Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg
END
    : >"$folder/status"
    cat >"$folder/apt.conf" <<END
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$folder/etc";
Dir::State::lists "$folder/lists";
Dir::State::status "$folder/status";
Dir::Cache "$folder";
Dir::Cache::archives "$folder/archives";
APT::Architecture "amd64";
APT::Architectures { "amd64"; "arm64"; };
APT::Sandbox::User "root";
APT::Install-Recommends "false";
Acquire::Languages "none";
END
    export APT_CONFIG="$folder/apt.conf"
    apt-get update -qq
    rm -rf "$root"
    for target in "$root" "$root$sdk"; do
        mkdir -p "$target"/usr/{bin,sbin,lib,lib64}
        for name in bin sbin lib lib64; do ln -s "usr/$name" "$target/$name"; done
    done
    mkdir -p "$root"/{proc,dev,tmp}
    packages amd64 "$root" swiftlang libc6-dev libstdc++-15-dev
    packages arm64 "$root$sdk" libc6-dev libstdc++-15-dev liburcu-dev libswiftlang
    # The modules for arm64; the compiler itself is not needed.
    (cd "$folder/archives" && apt-get download -qq swiftlang:arm64 && dpkg-deb --fsys-tarfile swiftlang_*_arm64.deb |
        tar -C "$root$sdk" -x --keep-directory-symlink && rm swiftlang_*_arm64.deb)
    unset APT_CONFIG
    touch "$folder/complete"
}

[ -e "$folder/complete" ] || prepare

# --- Compiling ------------------------------------------------------------------------------------

mount -t proc proc "$root/proc" || cannot "no /proc for the compiler"
trap 'umount "$root/proc"' EXIT
rm -rf "$root$sources" "$root$out"
mkdir -p "$root$sources" "$root$out"
argument_parser="$checkout/.build/checkouts/swift-argument-parser"
[ -d "$argument_parser" ] || swift package --package-path "$checkout" resolve
cp -r "$checkout/Sources" "$checkout/Tests" "$argument_parser/Sources/ArgumentParser" "$argument_parser/Sources/ArgumentParserToolInfo" "$root$sources"

# Names without spaces, which lists of files here cannot have.
find "$root$sources" -depth -name '* *' -execdir bash -c 'mv "$1" "${1// /_}"' _ {} \;

files() { (cd "$root" && find ".$1" -name "*.$2" | sed 's/^\.//'); }
headers=(-I "$sources/Sources/CPlatform/include" -I "$sources/Sources/CURCU/Shims/include" -I "$sources/Tests/HeapSize/include")

# c SOURCE…: objects in $out
c() {
    local file
    for file in "$@"; do
        chroot "$root" /usr/libexec/swift/bin/clang --target=aarch64-linux-gnu --sysroot="$sdk" -O2 -std=gnu11 -Wall -Wextra -Werror \
            -ftls-model=initial-exec "${headers[@]}" -c "$file" -o "$out/$(basename "$file" .c).c.o"
    done
}

# compile OPTION…
compile() {
    chroot "$root" /usr/bin/swiftc -D LibURCU -target aarch64-unknown-linux-gnu -sdk "$sdk" -resource-dir "$sdk/usr/lib/swift" \
        -swift-version 6 -module-cache-path /tmp/modules -I "$out" "${headers[@]}" -Xclang-linker -fuse-ld=lld "$@"
}
strict=(-strict-memory-safety -enable-upcoming-feature ExistentialAny -package-name concurrentobserve)

# module NAME FOLDER OPTION…: a library, as one object.
module() {
    local name="$1" from="$2"
    shift 2
    compile "$@" -O -wmo -parse-as-library -module-name "$name" -emit-module -emit-module-path "$out/$name.swiftmodule" \
        -c $(files "$from" swift) -o "$out/$name.o"
    echo "arm64.sh: $name compiled after $SECONDS s"
}

# program NAME SOURCE OBJECT…
program() {
    local name="$1"
    shift
    compile -O -wmo -module-name "$name" "$@" $(files "$out" c.o) "$out"/ConcurrentObserve{Platform,}.o \
        -lurcu-bp -lurcu-common -o "$out/$name"
    echo "arm64.sh: $name linked after $SECONDS s"
}

# The macros of swift-testing are the compiler's, which runs here.
testing=(-load-plugin-library /usr/lib/swift/host/plugins/libTestingMacros.so)

# without_processes FILE…: takes out the functions that start a process.
without_processes() {
    local file
    for file in "$@"; do
        awk '!inside && /^    (@Test|((private|static) )*func )/ { inside = 1; text = "" }
            inside {
                text = text $0 "\n"
                if (/^    }$/ || /^    ((private|static) )*func .*}$/) {
                    if (text !~ /processExitsWith|inChild|expectTrap/) printf "%s", text
                    inside = 0
                }
                next
            }
            { print }' "$file" >"$root$out/edited"
        mv "$root$out/edited" "$file"
    done
}

# run PROGRAM ARGUMENT…
run() {
    local name="$1"
    shift
    qemu-aarch64 -L "$root$sdk" -E LD_LIBRARY_PATH=/usr/lib/swift/linux:/usr/lib/aarch64-linux-gnu "$root$out/$name" "$@"
}

c $(files "$sources/Sources/CPlatform" c) "$sources/Sources/CURCU/Shims/CURCU.c" "$sources/Tests/HeapSize/HeapSize.c"
# The room Platform is a module of its own.
mv "$root$sources/Sources/ConcurrentObserve/Platform" "$root$sources/Sources/Platform"
module ConcurrentObservePlatform "$sources/Sources/Platform" "${strict[@]}"
module ConcurrentObserve "$sources/Sources/ConcurrentObserve" "${strict[@]}"

awk '/^<!-- example -->/ { found = 1; next } found && /^```swift/ { inside = 1; next } inside && /^```/ { exit } inside' \
    "$checkout/README.md" >"$root$sources/main.swift"
awk '/^It prints:/ { found = 1 } found && /^```text/ { inside = 1; next } inside && /^```/ { exit } inside' \
    "$checkout/README.md" >"$root$out/expected"
program Example "$sources/main.swift"
run Example | diff "$root$out/expected" - || { echo "arm64.sh: README's example prints something else"; exit 1; }
echo "arm64.sh: README's example prints what README says"

# Unoptimised, but the library.
module ConcurrentObserveInspection "$sources/Sources/ConcurrentObserveInspection" "${strict[@]}"
module ConcurrentObserveTesting "$sources/Sources/ConcurrentObserveTesting" "${strict[@]}" "${testing[@]}"
tests="$root$sources/Tests/ConcurrentObserveTests"
# The first looks into the library, which is not built for that. The second is about processes.
rm "$tests"/{Delivery/MailboxMachineTests,Reclamation/P18ForkTests}.swift
without_processes "$tests"/*/*.swift
# The emulator is slower.
sed -i 's/patience = Duration.seconds(20)/patience = Duration.seconds(120)/' "$tests/Support/Signal.swift"
cat >"$tests/Runner.swift" <<END
import Testing
@main struct Runner { static func main() async { await Testing.__swiftPMEntryPoint() as Never } }
END
echo 'module HeapSize { header "HeapSize.h" export * }' >"$root$sources/Tests/HeapSize/include/module.modulemap"
program ConcurrentObserveTests "${strict[@]}" "${testing[@]}" -parse-as-library -Onone \
    $(files "$sources/Tests/ConcurrentObserveTests" swift) "$out"/ConcurrentObserve{Inspection,Testing}.o
# A failure ends the script only after `stress`.
failed=0
run ConcurrentObserveTests --filter "/P[0-9][0-9]" || failed=1

module ArgumentParserToolInfo "$sources/ArgumentParserToolInfo"
module ArgumentParser "$sources/ArgumentParser"
module StressKit "$sources/Sources/StressKit" "${strict[@]}"
module ExplorerKit "$sources/Sources/ExplorerKit" "${strict[@]}"
program stress "${strict[@]}" -parse-as-library $(files "$sources/Sources/stress" swift) "$out/ArgumentParser.o" \
    "$out"/{ArgumentParserToolInfo,StressKit,ExplorerKit}.o
if [ $# -eq 0 ]; then
    # These two fork or start the program again, which the emulator does too slowly, or not at all.
    scenarios=$(run stress list | sed -n 's/^\([a-z-]*\): .*/\1/p' | grep -vxE 'forking|thread-famine')
    set -- run $scenarios --profile smoke --threads 4
fi
run stress "$@" || failed=1
exit "$failed"
