#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the documentation with the toolchain's DocC. A warning is an error, and so is a public
# symbol without documentation.
#   Scripts/docs.sh [OUTPUT]    writes the archives to OUTPUT; to none if it is not given
exec "$(dirname "$0")/check.sh" docs "$@"
