#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Puts a file between the markers <!-- NAME: --> and <!-- :NAME --> of a page: Scripts/splice.sh
# PAGE NAME FILE
# Exit codes: 0 done, 3 the page has no such marker.
set -euo pipefail
grep -q "^<!-- $2: -->$" "$1" || { echo "splice.sh: $1 has no marker '$2'" >&2; exit 3; }
awk -v name="$2" -v file="$3" '
    $0 == "<!-- :" name " -->" { skips = 0 }
    !skips
    $0 == "<!-- " name ": -->" { while ((getline line < file) > 0) print line; skips = 1 }
' "$1" >"$1.new"
mv "$1.new" "$1"
