#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks what clients cannot break. A server ends when it is asked to, also while clients do not
# read, or have sent half a request. The events of a client that falls behind say how far. Before
# the flags are known, no client is sent any. It also checks that an etcd with certificates and a
# password is reached, that two servers behind a proxy show no client an older version, and that the
# servers of compose.yaml run.
#
#   ./check-clients.sh
#
# CONFIGURATION is release unless it says debug. Called from any directory.
#
# Exit codes: 0 all holds, 1 something does not, 2 usage or a missing tool.
set -euo pipefail
[ $# = 0 ] || { echo "usage: $0" >&2; exit 2; }
cd "$(dirname "${BASH_SOURCE[0]}")"
for tool in python3 openssl etcd etcdctl; do
    command -v "$tool" >/dev/null || { echo "check-clients.sh: no $tool: apt-get install python3 openssl etcd-server etcd-client" >&2; exit 2; }
done
# Before anything is built: that the checks can fail.
python3 Checks/test_streams.py --quiet
export TRAITS=${TRAITS:-Etcd,Flagd}
source Checks/build.sh

# A check that takes longer has hung.
timeout 600 python3 Checks/shutdown.py "$program"
timeout 600 python3 Checks/clients.py "$program"
timeout 600 python3 Checks/secured.py "$program"
timeout 600 python3 Checks/versions.py "$program"
timeout 600 python3 Checks/compose.py "$program"
echo "check-clients.sh: ok"
