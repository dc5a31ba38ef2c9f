# SPDX-License-Identifier: Apache-2.0
# How many times longer a notification takes when two threads notify than when one does. Called with `data` and `out` set.
set terminal svg size 720,320 font "sans-serif,13" background "white"
set output out
set title "One observer: a notification on two threads against one thread (1 is no loss)"
set ylabel "times longer"
set yrange [0:]
set boxwidth 0.6
set style fill solid 0.7
set grid ytics
unset key
set datafile separator "\t"
plot data using 0:2:xtic(1) skip 1 with boxes, data using 0:2:(sprintf("%.2f", $2)) skip 1 with labels offset 0,0.7
