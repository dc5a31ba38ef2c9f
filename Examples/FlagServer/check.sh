#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks the example in a few minutes: its answers, a short load, its page in a browser, its end, a
# small fleet on etcd, and OpenFeature's provider for flagd as a client. Installs etcd, wrk, curl
# and Chromium where they are missing. Called from any directory.
#
#   ./check.sh            what continuous integration runs
#   ./check.sh --tests    the tests as well, whose framework takes several minutes to build
#
# Exit codes: 0 all holds, 1 something does not, 2 usage or a missing tool.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

case "$#${1:-}" in
0 | 1--tests) ;;
*) echo "usage: $0 [--tests]" >&2; exit 2 ;;
esac

for tool in python3 curl wrk chromium etcd etcdctl openssl; do
    command -v "$tool" >/dev/null && continue
    # A page without a font has no text to show.
    ../../Scripts/install.sh python3 python3-venv curl wrk chromium fonts-dejavu-core etcd-server etcd-client openssl
    break
done

# Unoptimised, with every check that the compiler then leaves in: what it must do does not depend on
# its speed.
export CONFIGURATION=${CONFIGURATION:-debug} TRAITS=Etcd,Flagd
# However busy the machine is: the changes may take longer, but none may be lost.
./load.sh --clients 200 --rate 50 --seconds 10 --burst 2 --grace 300
./check-page.sh
./check-clients.sh
./fleet.sh --short
./check-provider.sh
if [ "${1:-}" = --tests ]; then swift test; fi
