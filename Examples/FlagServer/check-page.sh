#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Starts the server, opens its page in headless Chromium, changes flags on both sides, and stops it:
#
#   ./check-page.sh [FOLDER]    also leaves screenshots there, light-360.png and others
#
# Needs python3 and chromium. Called from any directory.
#
# Exit codes: 0 all holds, 1 something does not, 2 a missing tool.
set -euo pipefail
pictures=${1:+$(cd "$1" && pwd)}
cd "$(dirname "${BASH_SOURCE[0]}")"

for tool in python3 chromium; do
    command -v "$tool" >/dev/null || { echo "check-page.sh: no $tool: apt-get install $tool" >&2; exit 2; }
done
source Checks/server.sh

# A browser that does not answer must not hold up everything.
timeout 600 python3 Checks/page.py "$url" $pictures || fail "does not hold"
kill "$server"
must_stop
echo "check-page.sh: ok"
