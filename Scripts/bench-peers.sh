#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Measures the library beside Boost.Signals2, Qt 5, libsigc++, Java, Rust's arc-swap and
# tokio::sync::watch, and the transactional memories of Clojure and GHC, in one run.
#
#   Scripts/bench-peers.sh [--quick] [--only TEXT] [--publish]
#
# Installs what is missing, with the system's package manager; a peer that it does not have is left
# out, and the table says so. Writes peers.md and peers.tsv, which has the spread of every figure,
# to Benchmarks/results. With --publish the article PerformancePeers shows the table; with --only
# there is nothing to publish, since the table has the operations alone whose titles contain the
# text.
#
# Exit codes: 0 measured, 1 wrong usage, 3 anything else went wrong.
set -Eeuo pipefail
cd "$(dirname "$0")/.."

usage() { # usage MESSAGE
    echo "bench-peers.sh: $1: Scripts/bench-peers.sh [--quick] [--only TEXT] [--publish]" >&2
    exit 1
}

arguments=()
publish=no
only=no
while [ $# -gt 0 ]; do
    case "$1" in
    --quick) arguments+=(--quick) ;;
    --publish) publish=yes ;;
    --only)
        [ $# -gt 1 ] || usage '--only needs a part of the titles'
        only=yes
        arguments+=(--only "$2")
        shift
        ;;
    *) usage "unknown argument '$1'" ;;
    esac
    shift
done
[ "$publish$only" != yesyes ] || usage '--publish shows all operations'
trap 'exit 3' ERR

Scripts/install.sh
swift build --package-path Benchmarks -c release --product bench

sources=Benchmarks/Peers
build=Benchmarks/.build/peers
results=Benchmarks/results
mkdir -p "$build" "$results"
programs=()
left_out=()

# Whether a test holds, if need be after packages have been installed: has NAME TEST PACKAGE...
has() {
    "$2" 2>/dev/null || Scripts/install.sh "${@:3}" || true
    "$2" 2>/dev/null || { left_out+=("$1 (packages ${*:3})") && return 1; }
}

has_boost() { echo '#include <boost/signals2.hpp>' | g++ -E -x c++ - >/dev/null; }
has_qt() { command -v g++ && pkg-config --exists Qt5Core; } >/dev/null
has_sigc() { command -v g++ && pkg-config --exists sigc++-2.0; } >/dev/null
has_java() { command -v java && command -v javac; } >/dev/null
has_clojure() { command -v clojure && command -v java; } >/dev/null
has_ghc() { command -v ghc; } >/dev/null
# The crates as Debian packages them, for a cargo that fetches nothing.
crates=/usr/share/cargo/registry
has_crates() { command -v cargo && compgen -G "$crates/arc-swap-*" && compgen -G "$crates/tokio-[0-9]*"; } >/dev/null

cpp() { # name, arguments of the compiler
    g++ -O2 -std=c++17 -fPIC -pthread "$sources/cpp/$1.cpp" -o "$build/$1" "${@:2}"
}

if has Boost.Signals2 has_boost g++ libboost-dev; then
    cpp boost
    version=$(echo BOOST_LIB_VERSION | g++ -E -P -include boost/version.hpp -x c++ - | tail -n 1 | tr -d '"')
    programs+=("Boost.Signals2 ${version/_/.}=$build/boost")
fi
if has 'Qt 5' has_qt g++ pkg-config qtbase5-dev; then
    "$(pkg-config --variable=host_bins Qt5Core)/moc" "$sources/cpp/qt.cpp" -o "$build/qt.moc"
    read -ra flags < <(pkg-config --cflags --libs Qt5Core)
    cpp qt -I"$build" "${flags[@]}"
    programs+=("Qt $(pkg-config --modversion Qt5Core)=$build/qt")
fi
if has 'libsigc++' has_sigc g++ pkg-config libsigc++-2.0-dev; then
    read -ra flags < <(pkg-config --cflags --libs sigc++-2.0)
    cpp sigc "${flags[@]}"
    programs+=("libsigc++ $(pkg-config --modversion sigc++-2.0)=$build/sigc")
fi
if has Java has_java openjdk-17-jdk-headless; then
    javac -d "$build" "$sources/java/Peer.java"
    programs+=("Java $(java --version | awk 'NR == 1 { print $2 }')=java -cp $build Peer")
fi
if has Rust has_crates rustc cargo librust-arc-swap-dev librust-tokio-dev; then
    debian=(--offline --config 'source.crates-io.replace-with="debian"' --config "source.debian.directory=\"$crates\"")
    # In a copy: cargo writes beside the manifest.
    cp -R "$sources/rust" "$build"
    manifest=$build/rust/Cargo.toml
    cargo build --release "${debian[@]}" --manifest-path "$manifest" --target-dir "$build/rust/target"
    version() { cargo tree "${debian[@]}" --manifest-path "$manifest" | awk -v name="$1" '$2 == name { print substr($3, 2) }'; }
    programs+=("arc-swap $(version arc-swap)=$build/rust/target/release/arc-swap")
    programs+=("tokio \`watch\` $(version tokio)=$build/rust/target/release/tokio-watch")
fi
if has Clojure has_clojure clojure; then
    # The process itself is what the benchmark asks and ends: not the shell that the command is.
    jars=$(printf '%s:' /usr/share/java/{clojure,spec.alpha,core.specs.alpha}.jar)
    version=$(java -cp "$jars" clojure.main -e '(print (clojure-version))')
    programs+=("Clojure $version=java -cp $jars clojure.main $sources/clojure/peer.clj")
fi
if has GHC has_ghc ghc; then
    ghc -v0 -O2 -threaded -with-rtsopts=-N -outputdir "$build/haskell" -o "$build/stm" "$sources/haskell/Peer.hs"
    programs+=("GHC $(ghc --numeric-version)=$build/stm")
fi

Benchmarks/.build/release/bench peers "${arguments[@]}" --markdown "$results/peers.md" "${programs[@]}" |
    tee "$results/peers.tsv"
for name in "${left_out[@]}"; do printf '\nLeft out, because it could not be installed: %s.\n' "$name" >>"$results/peers.md"; done
cat "$results/peers.md"
if [ "$publish" = yes ]; then
    Scripts/splice.sh Sources/ConcurrentObserve/ConcurrentObserve.docc/PerformancePeers.md peers "$results/peers.md"
fi
echo "bench-peers.sh: peers.md and peers.tsv are in $results"
