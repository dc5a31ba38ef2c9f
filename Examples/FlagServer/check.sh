#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks the example in a few minutes: a short load, and the page if there is a browser. Called from any directory.
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

# However busy the machine is: the changes may take longer, but none may be lost.
./load.sh --clients 50 --rate 50 --seconds 5 --burst 2 --grace 120
if command -v chromium >/dev/null; then ./check-page.sh; else echo "check.sh: no chromium, the page is not checked"; fi
if [ "${1:-}" = --tests ]; then swift test -c release; fi
