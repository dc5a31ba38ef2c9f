#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compares the Swift code in an article with the files that it is quoted from, but for indentation and empty lines.
#
#   Scripts/check-quotations.sh [ARTICLE]    by default the article about embedding in a service
#
# A line `<!-- from PATH -->` before a block names the file, from the root of the repository; every ```swift block needs one. A line `// …` in a block stands for
# code that is left out.
#
# Exit codes: 0 all agree, 1 one does not, 2 nothing is quoted.
set -euo pipefail
root=$(cd -P "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
article=${1:-$root/Sources/ConcurrentObserve/ConcurrentObserve.docc/EmbeddingInAService.md}

# Without indentation and empty lines, each line between two line breaks.
plain() { echo; sed -E 's/^[[:space:]]+//; s/[[:space:]]+$//; /^$/d' "$@"; }

count=0 number=0 from= block= inside=false

# found: whether what is in `block` stands in the file.
found() {
    if [ -z "$block" ]; then return; fi
    if [ -z "$from" ] || [ ! -f "$root/$from" ]; then
        echo "check-quotations: ${article##*/}:$number: the block that ends here is quoted from '${from:-nowhere}', which is no file" >&2
        exit 1
    fi
    if [[ "$(plain "$root/$from")"$'\n' != *"$(plain <<<"$block")"$'\n'* ]]; then
        echo "check-quotations: ${article##*/}:$number: this is not in $from:$block" >&2
        exit 1
    fi
    block= count=$((count + 1))
}

while IFS= read -r line; do
    number=$((number + 1))
    case $inside,$line in
    false,'<!-- from '*' -->') from=${line#<!-- from } from=${from% -->} ;;
    false,'```swift') inside=true ;;
    true,'```') found; inside=false from= ;;
    true,*'// …') found ;;
    true,*) block+=$'\n'$line ;;
    esac
done <"$article"

if [ "$count" -eq 0 ]; then
    echo "check-quotations: $article quotes nothing" >&2
    exit 2
fi
echo "check-quotations: ok, $count quotations"
