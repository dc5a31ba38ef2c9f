# SPDX-License-Identifier: Apache-2.0
# How many times longer a notification takes when two threads notify than when one does. Called with `data`, `out` and `dark` set.
set terminal svg size 720,320 font "sans-serif,13"
load "Benchmarks/Plots/style.gnuplot"
set title "A notification of one observer, two threads against one (1: no loss)"
set ylabel "times longer"
set ytics autofreq
set yrange [0:]
set offsets 0, 0, graph 0.1, 0
set boxwidth 0.6
set style fill solid 0.8
unset key
plot data using 0:2:xtic(1) skip 1 with boxes linecolor rgb ours, \
    data using 0:2:(sprintf("%.2f", $2)) skip 1 with labels offset 0,0.7 textcolor rgb text
