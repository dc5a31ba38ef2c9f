# SPDX-License-Identifier: Apache-2.0
# When notifications that are due at a fixed rate are done. Called with `data`, `out` and `columns` set.
set terminal svg size 900,420 font "sans-serif,13" background "white"
set output out
set title "Latency from the due time, open loop, 100,000 notifications a second"
set logscale xy
set xlabel "percentile"
set ylabel "nanoseconds"
set xtics ("50" 2, "90" 10, "99" 100, "99.9" 1000, "99.99" 10000)
set format y "10^{%L}"
set key outside right top
set xrange [2:10000]
set grid
set datafile separator "\t"
plot for [column = 2:columns] data using 1:column with linespoints linewidth 2 title columnheader(column)
