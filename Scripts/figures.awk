# SPDX-License-Identifier: Apache-2.0
#
# Prints the few figures of a report of Scripts/bench.sh that a page shows:
# awk -f Scripts/figures.awk report.md Benchmarks/Figures/PAGE.txt
# Exits with 3 if the report lacks a case.

# This space stands between a number and its unit, so that no line breaks there.
BEGIN { space = "\302\240" }

# A multiple, with two digits or more.
function multiple(ratio) { return sprintf(ratio >= 10 ? "%.0f" : ratio >= 1 ? "%.1f" : "%.2f", ratio) space "×" }

# The figure of a cell such as "1313 ns", in its unit.
function number(cell) { sub(/ .*/, "", cell); return cell }

# "MACHINE, 2 processors, SYSTEM, Swift version 6.3.1 (…); 2026-11-26T00:50:19Z. …", which a page
# may wrap.
FNR == NR && !described && /./ { description = description (description == "" ? "" : " ") $0 }

FNR == NR && !described && /^$/ {
    described = 1
    machine = description
    sub(/;.*/, "", machine)
    sub(/Swift version /, "Swift ", machine)
    sub(/ \(swift-[^)]*\)/, "", machine)
    match(description, /[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]T/)
    printf "%s; %s.\n\n| operation | ours, and the alternatives |\n| --- | --- |\n", machine, substr(description, RSTART, 10)
}

FNR == NR && /^\| `/ {
    split($0, cells, / *\| */)
    name = cells[2]
    gsub(/`/, "", name)
    if (!(name in ours)) { ours[name] = cells[3]; reference[name] = cells[4] }
}

FNR != NR && /^[^#]/ {
    split($0, fields, / \| /)
    count = split(fields[2], parts, /; /)
    shown = ""
    for (i = 1; i <= count; i++) {
        split(parts[i], sides, / = /)
        name = sides[1]
        if (!(name in ours)) { print "figures: the report has no case " name >"/dev/stderr"; exit 3 }
        if (i == 1) time = ours[name]
        if (sides[2] != "") shown = shown "; " sides[2] ": " multiple(number(reference[name]) / number(ours[name]))
        delete sides
    }
    # Only the table shows a spread in brackets.
    sub(/ \(.*/, "", time)
    sub(/ /, space, time)
    printf "| %s | **%s**%s |\n", fields[1], time, shown
}

END { print "" }
