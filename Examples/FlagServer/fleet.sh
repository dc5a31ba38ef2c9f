#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Several servers show the same flags: starts etcd and servers on it, changes flags at a steady rate
# while streams read, kills and stops members of etcd, and heals them. Checks that every stream has
# every change, in one order, and prints how long they took. Installs etcd where it is missing.
#
#   ./fleet.sh                  three members, four servers with 250 streams each, 20 changes a
#                               second: two to three minutes once built. The first build, gRPC above
#                               all, takes two processors 10 to 20 minutes
#   ./fleet.sh --short          one member, two servers with 25 streams each: half a minute
#   ./fleet.sh --plot FOLDER    also draws the times there, fleet.svg and fleet~dark.svg
#
# CONFIGURATION is release unless it says debug, which is for the short form: a thousand streams
# need the optimiser. Called from any directory.
#
# Exit codes: 0 all holds, 1 something does not, 2 usage or a missing tool.
set -euo pipefail
usage() {
    echo "usage: $0 [--short | --plot FOLDER]" >&2
    exit 2
}
plot=
case "$#${1:-}" in
0 | 1--short) ;;
2--plot) plot=$(cd "$2" && pwd) || usage ;;
*) usage ;;
esac
if [ "${CONFIGURATION:-release}" = debug ] && [ "${1:-}" != --short ]; then
    echo "fleet.sh: unoptimised servers do not keep up with a thousand streams: give --short, or CONFIGURATION=release" >&2
    exit 2
fi
cd "$(dirname "${BASH_SOURCE[0]}")"
command -v python3 >/dev/null || { echo "fleet.sh: no python3: apt-get install python3" >&2; exit 2; }
command -v etcd >/dev/null || ../../Scripts/install.sh etcd-server
[ -z "$plot" ] || command -v gnuplot >/dev/null || ../../Scripts/install.sh gnuplot-nox
# Before anything is built: that the checks can fail.
python3 Checks/test_streams.py --quiet
python3 Checks/test_ledger.py --quiet
# Each stream takes a descriptor here, and one in its server.
ulimit -n "$(ulimit -Hn)"
export TRAITS=${TRAITS:-Etcd,Flagd}
SECONDS=0
source Checks/build.sh
echo "built in $SECONDS s"
SECONDS=0

# Far more than it takes: what takes longer has hung.
timeout 600 python3 Checks/fleet.py --server "$program" ${plot:+--plot "$plot"} ${1:+$([ "$1" != --short ] || echo --short)}
[ -z "$plot" ] || for dark in 0 1; do
    suffix=fleet$([ $dark = 0 ] || echo '~dark')
    (cd ../.. && gnuplot -e "data = '$plot/fleet.tsv'; marks = '$plot/fleet.marks.tsv'; out = '$plot/$suffix.svg'; dark = $dark" \
        Examples/FlagServer/Checks/fleet.gnuplot)
done
echo "fleet.sh: ok, $SECONDS s after the build"
