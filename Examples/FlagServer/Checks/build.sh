# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Sourced by the scripts beside the manifest: builds the server, in the configuration that CONFIGURATION names (release), with the traits that
# TRAITS names (none). Leaves its path in `program`.

build=(swift build -c "${CONFIGURATION:-release}" --product FlagServer)
# As the Dockerfile builds it.
[ "${CONFIGURATION:-release}" = debug ] || build+=(--static-swift-stdlib)
# What the traits bring in takes minutes to build: in the folder of the library's own tests of etcd it is built once.
[ -z "${TRAITS:-}" ] || build+=(--scratch-path ../../.build-etcd --traits "$TRAITS")
"${build[@]}" >&2
program=$("${build[@]}" --show-bin-path)/FlagServer
