#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Checks the models of `Models/` with Spin, which it installs where it is missing; the rows are in
# Models/rows.txt.
#   Scripts/check-models.sh [--names | [--json FILE] [PATTERN]]
# --names: only the names. --json: every row, and what `stress report` reads. PATTERN: only the rows
# that match it.
exec "$(dirname "$0")/check.sh" models "$@"
