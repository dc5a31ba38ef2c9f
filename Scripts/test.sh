#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing and runs the tests. Arguments go to `swift test`: Scripts/test.sh
# --filter P09
set -euo pipefail
cd "$(dirname "$0")/.."
Scripts/install.sh
exec swift test "$@"
