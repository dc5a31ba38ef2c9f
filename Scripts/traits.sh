#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds and tests the package's optional parts: with all traits but Etcd, and with one each.
# Checks that a trait brings in the packages that it needs, and that the package without a trait
# brings in nothing.
#
#   Scripts/traits.sh [--only none|all|NAME]
#
# Etcd needs etcd and etcdctl, which it installs, and builds gRPC, which takes five minutes the
# first time: it is no part of "all".
#
# Exit codes: 0 all hold, 1 one does not (what was found follows), 2 wrong usage.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly names="Macros Metrics Logging ServiceLifecycle Configuration Collections Tracing"
# The tests of the optional parts, and not the library's own.
export CONCURRENT_OBSERVE_TESTS=traits
folder=.build-traits
# How many seconds the tests of one configuration may take. The longest, etcd's, take five minutes
# on a busy machine.
readonly limit=900

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "traits: $*" >&2
    exit 1
}

# The packages that each trait may bring in, those that they need themselves included.
packages_of() {
    case "$1" in
    Macros) echo swift-syntax ;;
    Metrics) echo swift-metrics ;;
    Collections) echo swift-collections ;;
    Logging) echo swift-log ;;
    Tracing) echo swift-distributed-tracing swift-log ;;
    Etcd)
        echo grpc-swift-2 grpc-swift-nio-transport grpc-swift-protobuf swift-algorithms swift-asn1 swift-async-algorithms \
            swift-atomics swift-certificates swift-collections swift-crypto swift-http-structured-headers swift-http-types swift-log \
            swift-metrics swift-nio swift-nio-extras swift-nio-http2 swift-nio-ssl swift-nio-transport-services swift-numerics \
            swift-protobuf swift-service-lifecycle swift-system
        ;;
    Configuration)
        echo swift-async-algorithms swift-collections swift-configuration swift-log swift-service-lifecycle swift-system
        ;;
    ServiceLifecycle) echo swift-async-algorithms swift-collections swift-log swift-service-lifecycle ;;
    esac
}

# check CONFIGURATION TRAIT…: resolves, builds and tests with these traits.
check() {
    local configuration=$1 started=$SECONDS joined expected found
    shift
    joined=$(IFS=,; echo "$*")
    # Named traits replace the default one, LibURCU, unless it is named, too.
    local traits=(--traits "default,$joined")
    [ -n "$joined" ] || traits=(--disable-default-traits)

    expected=$({ echo swift-argument-parser; for trait in "$@"; do packages_of "$trait" | tr ' ' '\n'; done; } | sort -u)
    swift package --scratch-path "$folder" "${traits[@]}" show-dependencies --format flatlist 2>"$work/resolve.log" |
        sort -u >"$work/found" || { cat "$work/resolve.log" >&2; fail "$configuration: does not resolve"; }
    found=$(cat "$work/found")
    [ "$found" = "$expected" ] ||
        fail "$configuration: resolves" $found", expected" $expected

    # Without a trait the package is built and tested by everything else.
    if [ $# -eq 0 ]; then
        echo "traits: $configuration: ok, it resolves nothing"
        return
    fi

    if ! swift build --scratch-path "$folder" "${traits[@]}" --build-tests >"$work/build.log" 2>&1; then
        cat "$work/build.log" >&2
        fail "$configuration: does not build"
    fi
    case " $* " in
    *" Macros "*) Scripts/check-macro.sh "$(swift build --scratch-path "$folder" "${traits[@]}" --show-bin-path)" ;;
    esac
    if grep -E "^$PWD/(Sources|Tests)/.*: warning:" "$work/build.log" | sort -u >&2; then
        fail "$configuration: the warnings above are errors"
    fi
    # One at a time: the figures of the library are the process's. What takes longer has hung.
    local code=0
    timeout --kill-after=10 "$limit" swift test --scratch-path "$folder" "${traits[@]}" --skip-build --no-parallel >"$work/test.log" 2>&1 ||
        code=$?
    if [ "$code" = 124 ] || [ "$code" = 137 ]; then
        tail -20 "$work/test.log" >&2
        fail "$configuration: the tests have not ended after $limit s; the last lines of their log are above"
    elif [ "$code" != 0 ]; then
        grep -E '✘|↳|error:' "$work/test.log" >&2 || tail -50 "$work/test.log" >&2
        fail "$configuration: a test fails"
    fi
    local tests
    tests=$(sed -nE 's/.*Test run with ([0-9]+) tests?.* passed.*/\1/p' "$work/test.log" | tail -1)
    if [ "${tests:-0}" -eq 0 ]; then fail "$configuration: no test has run"; fi
    echo "traits: $configuration: ok, ${tests:-0} tests, $((SECONDS - started)) s"
}

# The mirror's tests run against real servers. They are built without others, in a folder of their
# own: CI builds it beside the other. It has the traits of FlagServer, whose build is in the folder,
# too. With other traits the library would be compiled again for each.
check_etcd() {
    local missing=()
    command -v etcd >/dev/null || missing+=(etcd-server)
    command -v etcdctl >/dev/null || missing+=(etcd-client)
    [ ${#missing[@]} -eq 0 ] || Scripts/install.sh "${missing[@]}"
    CONCURRENT_OBSERVE_TESTS=etcd folder=.build-etcd check Etcd Etcd Metrics Logging ServiceLifecycle
}

case "$*" in
"")
    check none
    for name in $names; do check "$name" "$name"; done
    check all $names
    check_etcd
    ;;
"--only Etcd") check_etcd ;;
"--only none") check none ;;
"--only all") check all $names ;;
*)
    for name in $names; do
        if [ "$*" = "--only $name" ]; then
            check "$name" "$name"
            exit
        fi
    done
    echo "usage: Scripts/traits.sh [--only none|all|$(tr ' ' '|' <<<"$names")|Etcd]" >&2
    exit 2
    ;;
esac
