# SPDX-License-Identifier: Apache-2.0
# When notifications that are due at a fixed rate are done: what the library adds shows where its line leaves that of the same
# load without it. Called with `data`, `out` and `dark` set.
set terminal svg size 720,460 font "sans-serif,13"
load "Benchmarks/Plots/style.gnuplot"
set title "Latency from the due time, 100,000 notifications a second"
set logscale xy
set xlabel "percentile" offset 0,0.4
set xtics ("50" 2, "90" 10, "99" 100, "99.9" 1000, "99.99" 10000)
set xrange [2:10000]
# Below: wherever it stands inside, a line of some run crosses it.
set key below Left reverse
plot data using "tail":"timer.quiet" with linespoints linestyle 2 title "the machine: nothing is notified", \
    data using "tail":"notify.quiet" with linespoints linestyle 1 title "a notification, other threads quiet", \
    data using "tail":"notify.3-busy-threads" with linespoints linestyle 4 title "beside 3 busy threads without the library", \
    data using "tail":"notify.churn" with linespoints linestyle 3 title "beside 3 threads of churn"
