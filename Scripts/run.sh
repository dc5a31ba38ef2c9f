#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Installs what is missing, builds the release `stress`, and runs its smoke profile to the final
# table. Arguments go to `stress`: Scripts/run.sh list
set -euo pipefail
cd "$(dirname "$0")/.."
Scripts/install.sh
swift build -c release --product stress
exec .build/release/stress "$@"
