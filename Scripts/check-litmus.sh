#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks the orderings of the library with litmus tests (`Models/Litmus`): every row of the protocol
# holds under Arm's model, x86-TSO and RC11, every ordering that is weakened by a notch violates a
# row or is kept for a reason that is given, and the code says what the tests say, and what the
# harness for arm64 says (`Models/Arm64/Harness`). Before that, the checker agrees with verdicts
# that others have published.
#
# usage: Scripts/check-litmus.sh [--self-test | --brief | --json FILE]
#   --self-test   shows that the check can fail
#   --brief       leaves out the executions of violations, which are tables of threads
#   --json FILE   is brief, and writes what was found, with seconds, for `stress report`
# Exit codes: 0 everything as expected, 1 something is not, 2 wrong usage, or the check itself is
# broken.

set -euo pipefail

scripts="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
checkout="$(dirname "$scripts")"

case "${1:-}" in
"" | --self-test | --brief) ;;
--json)
    : >"${2:?check-litmus: --json takes a file}" || exit 2
    set -- --json "$(realpath "$2")"
    ;;
*)
    echo "usage: $0 [--self-test | --brief | --json FILE]" >&2
    exit 2
    ;;
esac

log="$(mktemp)"
trap 'rm -f "$log"' EXIT
package=(--package-path "$checkout/Models/Litmus" --scratch-path "$checkout/.build/litmus")
swift build "${package[@]}" --product check-litmus >"$log" 2>&1 || {
    cat "$log" >&2
    exit 2
}
checker="$(swift build "${package[@]}" --show-bin-path)/check-litmus"
code=0
"$checker" "$checkout/Sources/ConcurrentObserve" "$checkout/Models/Arm64/Harness" "$@" || code=$?
exit "$code"
