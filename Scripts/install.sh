#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what the build needs and this machine lacks: Scripts/install.sh [package ...]
# Without arguments: liburcu's development package. Uses the system's package manager, and sudo only
# when not root.
set -euo pipefail

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; elif command -v sudo >/dev/null; then sudo "$@"; else
        echo "install.sh: not root, and no sudo: as root, run: $*" >&2
        exit 1
    fi
}

command -v swift >/dev/null || {
    echo "install.sh: no swift on the PATH: install Swift 6.2 or later from https://www.swift.org/install/linux" >&2
    exit 1
}

if [ $# -eq 0 ]; then
    # The header is what the build needs, wherever it came from.
    if echo '#include <urcu/urcu-bp.h>' | "${CC:-clang}" -E -x c - >/dev/null 2>&1; then exit 0; fi
    if command -v apt-get >/dev/null; then
        set -- liburcu-dev
    elif command -v dnf >/dev/null; then
        set -- userspace-rcu-devel
    else
        echo "install.sh: no liburcu: install userspace RCU's development package with your package manager" >&2
        exit 1
    fi
fi

if command -v apt-get >/dev/null; then
    as_root apt-get -qq update
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$@" >/dev/null
elif command -v dnf >/dev/null; then
    as_root dnf -q install -y "$@"
else
    echo "install.sh: neither apt-get nor dnf: install by hand: $*" >&2
    exit 1
fi
