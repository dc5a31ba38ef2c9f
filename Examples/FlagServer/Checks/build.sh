# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Sourced by the scripts beside the manifest: builds the server, in the configuration that
# CONFIGURATION names (release), with the traits that TRAITS names (none). Leaves its path in
# `program`.

build=(swift build -c "${CONFIGURATION:-release}" --product FlagServer)
# As the Dockerfile builds it.
[ "${CONFIGURATION:-release}" = debug ] || build+=(--static-swift-stdlib)
# The traits bring in packages that take minutes to build. They are built once, in the folder that
# the library's own tests of etcd use.
[ -z "${TRAITS:-}" ] || build+=(--scratch-path ../../.build-etcd --traits "$TRAITS")
"${build[@]}" >&2
program=$("${build[@]}" --show-bin-path)/FlagServer
