#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# OpenFeature's Python provider for flagd, from PyPI, as a client of the server: it must receive
# every commit, in order.
#
#   ./check-provider.sh [COUNT]    so many commits, 1,000 unless given, as fast as they are answered
#
# Needs python3 with venv; installs the provider into .build/python. Called from any directory.
#
# Exit codes: 0 all holds, 1 something does not, 2 usage or a missing tool.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
count=${1:-1000}
[[ $# -le 1 && $count =~ ^[1-9][0-9]*$ ]] || { echo "usage: $0 [COUNT]" >&2; exit 2; }
command -v python3 >/dev/null || { echo "check-provider.sh: no python3: apt-get install python3 python3-venv" >&2; exit 2; }

python=.build/python/bin/python
if ! "$python" -c 'import openfeature.contrib.provider.flagd' 2>/dev/null; then
    python3 -m venv .build/python
    "$python" -m pip install --quiet openfeature-provider-flagd==0.6.1
fi
export TRAITS=${TRAITS:-Etcd,Flagd}
source Checks/build.sh

# A check that takes longer has hung.
timeout 600 "$python" Checks/provider.py "$program" "$count"
echo "check-provider.sh: ok"
