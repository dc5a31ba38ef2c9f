# SPDX-License-Identifier: Apache-2.0
# What a notification costs against the observers of its registry. Called with `data` and `out` set.
set terminal svg size 720,420 font "sans-serif,13" background "white"
set output out
set title "One notification, one thread"
set logscale xy
set xlabel "observers"
set ylabel "nanoseconds"
set format x "10^{%L}"
set format y "10^{%L}"
set key outside right top
set grid
set datafile separator "\t"
set datafile missing "NaN"
plot for [column = 2:7] data using 1:column with linespoints linewidth 2 title columnheader(column)
