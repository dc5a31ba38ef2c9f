#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Carries out the steps of the Dockerfile without a container engine, and asks the server that comes
# of them for its flags:
#
#   ./check-dockerfile.sh    as root, on Debian 12 with Swift
#
# This machine and this checkout stand for the first stage, a Debian made by debootstrap for the
# second. So packages that the second stage does not install are missing there, as they would be in
# the image. Called from any directory.
#
# Exit codes: 0 the server answers, 1 a step fails or it does not, 2 a missing tool, or a step that
# this script does not know.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
checkout=$(cd -P ../.. && pwd)
dockerfile=$PWD/Dockerfile

for tool in debootstrap curl; do
    command -v "$tool" >/dev/null || { echo "check-dockerfile: no $tool: apt-get install $tool" >&2; exit 2; }
done
[ "$(id -u)" = 0 ] || { echo "check-dockerfile: only root can change its root" >&2; exit 2; }

work=$(mktemp -d)
image=$work/image
server=
trap '[ -z "$server" ] || kill -9 "$server" 2>/dev/null || true; umount "$image/proc" 2>/dev/null || true; rm -rf --one-file-system "$work"' EXIT

fail() {
    echo "check-dockerfile: $*" >&2
    exit 1
}

stage=0 user=root source= entry=

begin_stage() {
    stage=$((stage + 1))
    case "$stage $*" in
    "1 swift:"*"-bookworm AS build") grep -q '^VERSION_ID="12"' /etc/os-release || fail "this is no Debian 12, as $1 is" ;;
    "2 debian:bookworm-slim") debootstrap --variant=minbase bookworm "$image" >"$work/debootstrap.log" ||
        { tail "$work/debootstrap.log" >&2; fail "debootstrap fails"; } ;;
    *) echo "check-dockerfile: this script does not know FROM $*" >&2; exit 2 ;;
    esac
}

run() {
    # This machine keeps its lists of packages.
    if [ "$stage" = 1 ]; then (cd "$checkout" && bash -c "${1% && rm -rf /var/lib/apt/lists/\*}"); else chroot "$image" /bin/sh -c "$1"; fi
}

copy() {
    case "$stage $*" in
    "1 . .") ;;
    "2 --from=build $source/"*) cp "$checkout/${2#"$source/"}" "$image$3" ;;
    *) echo "check-dockerfile: this script does not know COPY $*" >&2; exit 2 ;;
    esac
}

while read -r step arguments; do
    [ -z "$step" ] || [ "${step:0:1}" = "#" ] && continue
    echo "--- $step $arguments"
    case $step in
    FROM) begin_stage $arguments ;;
    RUN) run "$arguments" >"$work/run.log" 2>&1 || { tail -n 30 "$work/run.log" >&2; fail "the step above fails"; } ;;
    WORKDIR) source=$arguments ;;
    COPY) copy $arguments ;;
    USER) user=$arguments ;;
    # The form of a list, the same to the shell but for brackets and commas.
    ENTRYPOINT) entry=$(tr -d '[],' <<<"$arguments") ;;
    EXPOSE | STOPSIGNAL) ;;
    *) echo "check-dockerfile: this script does not know $step" >&2; exit 2 ;;
    esac
done <"$dockerfile"

echo "--- what the server links"
eval "set -- $entry"
chroot "$image" ldd "/usr/local/bin/$1" | tee "$work/ldd"
if grep 'not found' "$work/ldd" >&2; then fail "the second stage lacks the libraries above"; fi

# As every container has it: Swift finds a program's arguments there.
mount -t proc proc "$image/proc" || fail "/proc cannot be mounted for the server"
chroot --userspec="$user" "$image" /usr/local/bin/"$@" --port 0 2>"$work/log" &
server=$!
port=
for _ in $(seq 300); do
    port=$(sed -n 's/.*listening on 0.0.0.0:\([0-9]*\).*/\1/p' "$work/log")
    [ -n "$port" ] && break
    kill -0 "$server" 2>/dev/null || { cat "$work/log" >&2; fail "the server has not started"; }
    sleep 0.1
done
[ -n "$port" ] || fail "the server does not listen"
curl --silent --fail --max-time 60 "http://127.0.0.1:$port/flags" | grep -q '"flags"' || fail "the server does not answer"
kill "$server"
wait "$server" || fail "the server exits with $?"
server=
echo "check-dockerfile: ok"
