# SPDX-License-Identifier: Apache-2.0
# What a notification costs against the observers of its registry. Called with `data`, `out` and `dark` set.
set terminal svg size 720,420 font "sans-serif,13"
load "Benchmarks/Plots/style.gnuplot"
set title "Time of one notification, one thread"
set logscale xy
set xlabel "observers"
set xtics ("1" 1, "10" 10, "100" 100, "1,000" 1e3, "10,000" 1e4, "100,000" 1e5, "1,000,000" 1e6)
set xrange [0.9:1.2e6]
set key left top Left reverse
plot for [column in "5 6 4 3 2"] data using 1:int(column) with linespoints linestyle int(column) - 1 \
    title columnheader(int(column))
