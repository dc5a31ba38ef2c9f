#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs a package's tests over a copy of the library in which threads are delayed between the
# library's steps, and the system refuses threads and fails: races between the package's callbacks
# and the library become likely. The package is copied, too: only its .build/perturbed is written.
#
#   Scripts/perturbed.sh PACKAGE [ARGUMENT…]    the arguments go to `swift test`
#
#   PERTURB        the kinds: yield,stall,long,no-thread,late-barrier,fail-barrier,slow-deinit; all
#                  if it is not set
#   PERTURB_SEED   the seed; the tests print it first
#
# Linux only. The exit code comes from `swift test`; 2 for wrong usage.
set -euo pipefail
[ -n "${1:-}" ] && [ -d "$1" ] || {
    echo "usage: Scripts/perturbed.sh PACKAGE [ARGUMENT…]" >&2
    exit 2
}
package=$(cd "$1" && pwd -P)
shift
cd "$(dirname "$0")/.."
Scripts/check.sh perturb "$package" >&2
cd "$package/.build/perturbed/$(basename "$package")"
exec swift test "$@"
