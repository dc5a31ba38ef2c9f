# SPDX-License-Identifier: Apache-2.0
# How long changes took to the streams of a fleet, second by second, while it was broken and healed. Called from the repository's root with
# `data`, `marks`, `out` and `dark` set.
set terminal svg size 720,440 font "sans-serif,13"
load "Benchmarks/Plots/style.gnuplot"
set title "From a change to its streams: 4 servers, 1,000 streams, 20 changes a second"
set logscale y
set yrange [1e6:3e10]
set ytics add ("10 s" 1e10)
set xlabel "seconds"
set key below Left reverse
plot data using "second":"longest" with linespoints linestyle 3 title "longest", \
    data using "second":"p99" with linespoints linestyle 4 title "99 of 100", \
    data using "second":"median" with linespoints linestyle 1 title "median", \
    marks using 1:(1e6):(0):(2.9e4 * 1e6) with vectors nohead linecolor rgb faint linewidth 1 notitle, \
    marks using 1:(int($0) % 2 ? 1.3e10 : 2.2e10):2 with labels rotate by 0 left offset 0.3,0 textcolor rgb text font ",11" notitle
