#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Writes the Swift code of etcd's messages and services again, from
# Sources/ConcurrentObserveEtcd/Generated/etcd.proto. Only needed after a change of that file: the
# code is part of the repository. Needs protoc (Debian: protobuf-compiler); builds its two plugins,
# which takes some minutes the first time.
#
#   Scripts/generate-etcd.sh            writes the files
#   Scripts/generate-etcd.sh --check    writes none; fails if they would differ
set -euo pipefail
cd "$(dirname "$0")/.."

case "$*" in "" | --check) ;; *) echo "usage: Scripts/generate-etcd.sh [--check]" >&2; exit 2 ;; esac
command -v protoc >/dev/null || Scripts/install.sh protobuf-compiler

readonly folder=Sources/ConcurrentObserveEtcd/Generated tools=.build-etcd-plugins
mkdir -p "$tools/Sources/Plugins"
cat >"$tools/Package.swift" <<'END'
// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "Plugins",
    dependencies: [
        .package(url: "https://github.com/apple/swift-protobuf", from: "1.39.0", traits: []),
        .package(url: "https://github.com/grpc/grpc-swift-protobuf", from: "2.4.1"),
    ],
    targets: [.target(name: "Plugins")]
)
END
echo >"$tools/Sources/Plugins/Plugins.swift"
for tool in protoc-gen-swift protoc-gen-grpc-swift-2; do
    swift build --package-path "$tools" --product "$tool"
done
bin=$(swift build --package-path "$tools" --show-bin-path)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
protoc --proto_path="$folder" etcd.proto \
    --plugin="$bin/protoc-gen-swift" --swift_out="$work" --swift_opt=Visibility=Internal \
    --plugin="$bin/protoc-gen-grpc-swift-2" --grpc-swift-2_out="$work" \
    --grpc-swift-2_opt=Visibility=Internal,Client=true,Server=true
for file in "$work"/*.swift; do
    name=${file##*/}
    # Without the trait there is nothing to import.
    { echo "// SPDX-License-Identifier: Apache-2.0"; echo "// swift-format-ignore-file"; echo; echo "#if Etcd"; cat "$file"; echo "#endif"; } >"$work/whole"
    if [ "$*" = --check ]; then
        cmp "$work/whole" "$folder/$name" || { echo "generate-etcd: $folder/$name is not what etcd.proto yields" >&2; exit 1; }
    else
        cp "$work/whole" "$folder/$name"
    fi
done
