# SPDX-License-Identifier: Apache-2.0
# What the plots have in common: the colours of a documentation page, light or dark. Loaded with `out` and `dark` set.
text = dark ? "#f5f5f7" : "#1d1d1f"
faint = dark ? "#424245" : "#d2d2d7"
ours = dark ? "#2997ff" : "#0066cc"
reference = dark ? "#98989d" : "#6e6e73"
array peers[3] = [dark ? "#ff9f0a" : "#b25000", dark ? "#30d158" : "#1e7b34", dark ? "#bf5af2" : "#8944ab"]

set encoding utf8
set output out
set border 3 linecolor rgb faint
set tics nomirror textcolor rgb text scale 0.5
set grid ytics linetype 1 linecolor rgb faint linewidth 0.5
set key textcolor rgb text samplen 2 spacing 1.2
set title textcolor rgb text
set xlabel textcolor rgb text
set ylabel textcolor rgb text
set style line 1 linecolor rgb ours linewidth 3 pointtype 7 pointsize 0.6
set style line 2 linecolor rgb reference linewidth 2 dashtype 2 pointtype 7 pointsize 0.5
set style line 3 linecolor rgb peers[1] linewidth 1.5 pointtype 7 pointsize 0.5
set style line 4 linecolor rgb peers[2] linewidth 1.5 pointtype 7 pointsize 0.5
set style line 5 linecolor rgb peers[3] linewidth 1.5 pointtype 7 pointsize 0.5
set datafile separator "\t"
set datafile missing "NaN"
set ytics ("1 ns" 1, "10 ns" 10, "100 ns" 100, "1 µs" 1e3, "10 µs" 1e4, "100 µs" 1e5, "1 ms" 1e6, "10 ms" 1e7, "100 ms" 1e8, "1 s" 1e9)
