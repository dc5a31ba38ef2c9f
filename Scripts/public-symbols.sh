# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Sourced by the scripts that look at the public API, at the root of the repository, with a folder of theirs in `work`.

readonly modules="ConcurrentObserve ConcurrentObserveMacros ConcurrentObserveMetrics ConcurrentObserveLogging ConcurrentObserveServiceLifecycle"
# Without `stress` and the tests, and in the folder where the optional parts are built already if Scripts/traits.sh has run.
export CONCURRENT_OBSERVE_TESTS=traits
readonly folder=.build-traits

# extract: leaves the public symbols of each module in $work/MODULE. Reads them anew if a source has changed since the last time.
extract() {
    local log="$work/extract.log" stamp=$folder/public-symbols found module
    found=$(cat "$stamp" 2>/dev/null || true)
    if [ ! -d "$found" ] || [ -n "$(find Sources Package.swift -name '*.docc' -prune -o -newer "$stamp" -print -quit)" ]; then
        rm -rf "$folder"/*/symbolgraph
        mkdir -p "$folder"
        : >"$log.begun"
        # It fails where the tests are not built, which nobody asks it about: what counts is that each module's symbols are there, and are new.
        swift package --scratch-path "$folder" --enable-all-traits dump-symbol-graph --minimum-access-level public \
            --skip-synthesized-members >"$log" 2>&1 || true
        found=$(sed -nE 's/^Files written to (.*)$/\1/p' "$log")
        if [ -z "$found" ]; then
            cat "$log" >&2
            echo "${0##*/}: the symbols cannot be read" >&2
            return 1
        fi
        echo "$found" >"$stamp.begun"
        # As old as the sources that it is of, should one be changed meanwhile.
        touch -r "$log.begun" "$stamp.begun"
        mv "$stamp.begun" "$stamp"
    fi
    for module in $modules; do
        rm -rf "${work:?}/$module"
        mkdir "$work/$module"
        cp "$found/$module".symbols.json "$found/$module"@*.symbols.json "$work/$module/" 2>/dev/null || true
        if [ ! -f "$work/$module/$module.symbols.json" ]; then
            echo "${0##*/}: $module has no symbols" >&2
            return 1
        fi
    done
}
