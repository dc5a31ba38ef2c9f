#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Two servers on one etcd, behind a proxy that gives each connection to the next of them: versions.py SERVER.

etcd's answers reach the second server late. No client may see an older version, unless it accepts what a server has, and a writer that says
what it has read must change nothing that it has not read.

Exit codes: 0 all holds, 1 something does not.
"""

import asyncio
import json
import sys
import tempfile
import threading
import time
import urllib.request

from members import Server, ask, encoded, eventually, make_members
from streams import Broken

FLAGS = ["new-checkout", "search-suggestions", "dark-mode", "bulk-export", "maintenance"]


def must(condition, text):
    if not condition:
        raise Broken(text)


class Relay:
    """Forwards each connection to the next of some ports. What comes back is `delay` seconds late."""

    def __init__(self, *ports):
        self.ports, self.delay, self.count, self.tasks, loop = ports, 0, 0, set(), asyncio.new_event_loop()
        threading.Thread(target=loop.run_forever, daemon=True).start()
        listening = asyncio.run_coroutine_threadsafe(asyncio.start_server(self.accept, "127.0.0.1", 0), loop).result()
        self.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}"

    async def accept(self, reader, writer):
        self.count += 1
        # A loop refers to its tasks weakly.
        self.tasks.add(asyncio.current_task())
        back, to = await asyncio.open_connection("127.0.0.1", self.ports[self.count % len(self.ports)])
        await asyncio.gather(self.forward(reader, to, False), self.forward(back, writer, True))

    async def forward(self, reader, writer, is_late):
        loop, due, data = asyncio.get_running_loop(), 0, b"first"
        while data:
            try:
                data = await reader.read(65_536)
            except OSError:
                data = b""
            # In order, also when the delay becomes shorter.
            due = max(due + 1e-6, loop.time() + (self.delay if is_late else 0))
            loop.call_at(due, *((writer.write, data) if data else (writer.close,)))


def version(tag):
    return int(tag.strip('"').rpartition(":")[2])


def read(url, path, tag=None, accepts_stale=False):
    """The tag of what is there, and what it is; None if that is what the tag says. Asks again where a server is behind."""
    for _ in range(5):
        headers = {"If-None-Match": tag} if tag else {"Cache-Control": "max-stale"} if accepts_stale else {}
        status, text, headers = ask("GET", url + path, headers=headers)
        if status != 503:
            break
    must(status in (200, 304), f"GET {path} with {tag} is answered {status}: {text}")
    must(status == 200 or headers["ETag"] == tag, f"GET {path} with {tag} is answered 304 for {headers['ETag']}")
    return headers["ETag"], json.loads(text) if text else None


def write(url, flags, tag=None):
    """The status of an answer to a PATCH, and the tag. 503 is that of a change that was made, or not: on a busy machine a session may end."""
    body = {name: {"enabled": True, "rollout": rollout} for name, rollout in flags.items()}
    status, text, headers = ask("PATCH", f"{url}/flags", body, {"If-Match": tag} if tag else {})
    must(status in (200, 412, 503), f"PATCH {flags} with {tag} is answered {status}: {text}")
    return status, headers["ETag"]


def events(url, seen, count):
    """The kinds and identifiers of a stream's next events; fewer if it ends before, or nothing comes for long."""
    asked = urllib.request.Request(f"{url}/events", headers={"Last-Event-ID": seen} if seen else {})
    found, kind, begun = [], None, time.monotonic()
    with urllib.request.urlopen(asked, timeout=30) as answer:
        while len(found) < count and time.monotonic() - begun < 20 and (line := answer.readline().decode()):
            if line.startswith("event: "):
                kind = line[7:].strip()
            elif line.startswith("id: "):
                found.append((kind, line[4:].strip()))
    return found


class Parallel:
    """Threads that run functions again and again until time is up, or one of them breaks. The others run until these have ended."""

    def __init__(self, *bodies, until, others=()):
        self.broken, self.ended = None, False
        first, second = (self.start(bodies, until), self.start(others, lambda: self.ended))
        for thread in first:
            thread.join()
        self.ended = True
        for thread in second:
            thread.join()
        if self.broken:
            raise self.broken

    def start(self, bodies, until):
        threads = [threading.Thread(target=self.repeat, args=(body, until)) for body in bodies]
        for thread in threads:
            thread.start()
        return threads

    def repeat(self, body, until):
        try:
            while not self.broken and not until():
                body()
        except Exception as broken:
            self.broken = broken


class Reader:
    """Reads a path again and again. Says what it has seen, or does not, or accepts what a server has."""

    def __init__(self, url, path, is_silent=False, accepts_stale=False):
        self.url, self.path, self.is_silent, self.accepts_stale = url, path, is_silent or accepts_stale, accepts_stale
        self.tag, self.seen, self.answers, self.unchanged, self.back = None, 0, 0, 0, 0

    def __call__(self):
        self.tag, content = read(self.url, self.path, None if self.is_silent else self.tag, self.accepts_stale)
        now = version(self.tag)
        self.answers, self.unchanged = self.answers + 1, self.unchanged + (content is None)
        self.back += now < self.seen
        must(self.accepts_stale or now >= self.seen, f"{self.path} is of version {now} for a client that has seen {self.seen}")
        must(content is None or content["version"] == now, f"{self.path} has the tag {self.tag} and is of version {content and content['version']}")
        self.seen = now


class Follower:
    """Follows the events for a while, then comes again. Says what it has seen, or does not."""

    def __init__(self, url, is_silent=False):
        self.url, self.is_silent, self.seen, self.comings, self.received = url, is_silent, None, 0, 0

    def __call__(self):
        known = None if self.is_silent else self.seen
        for number, (kind, identifier) in enumerate(events(self.url, known, 3)):
            is_first = number == 0 and not known
            must(kind == ("state" if is_first else "change"), f"a stream sends '{kind}' to a client that has said {known}")
            must(self.seen is None or version(identifier) >= version(self.seen) + (not is_first), f"a stream goes from {self.seen} to {identifier}")
            self.seen, self.received = identifier, self.received + 1
        self.comings += 1


def check_readers(proxy, seconds=8):
    """While flags change, what a client reads here and there never goes back, whether or not it says what it has seen."""
    paths = ["/flags", "/flags/dark-mode"]
    readers, silent = [Reader(proxy.url, path) for path in paths], [Reader(proxy.url, path, is_silent=True) for path in paths]
    stale, followers = Reader(proxy.url, "/flags", accepts_stale=True), [Follower(proxy.url, is_silent) for is_silent in (False, True)]
    numbers, begun = iter(range(100_000)), time.monotonic()

    def change():
        write(proxy.url, {FLAGS[number % 5]: number % 101 for number in [next(numbers)]})
        time.sleep(0.02)

    # A follower waits for changes, also when time is up.
    Parallel(*readers, *silent, stale, *followers, until=lambda: time.monotonic() - begun > seconds, others=[change] * 4)
    must(stale.back > 0, "a client that accepts what a server has never went back: the check shows nothing")
    for reader in readers + silent:
        must(reader.answers > 20, f"{reader.path} was answered {reader.answers} times")
    comings, received = sum(one.comings for one in followers), sum(one.received for one in followers)
    must(comings > 4, f"the followers came {comings} times")
    print(f"versions: {next(numbers)} changes; {sum(reader.answers for reader in readers)} answers to clients that said what they had seen, "
          f"{sum(reader.unchanged for reader in readers)} of them 304, and {received} events in {comings} streams: none went back. "
          f"Nor did {sum(reader.answers for reader in silent)} answers to clients that said nothing. "
          f"{stale.back} of {stale.answers} did for a client that accepted what a server had")


def check_writers(proxy, total=60):
    """Several count in two flags by what they have read. Nothing is lost, and each stale writer is refused."""
    write(proxy.url, {"dark-mode": 0, "bulk-export": 0})
    tags, statuses, ends = {}, [], []

    def count():
        me = threading.get_ident()
        tag, content = read(proxy.url, "/flags", tags.get(me))
        if content is None:
            tag, content = read(proxy.url, "/flags")
        rollout = next(flag["rollout"] for flag in content["flags"] if flag["name"] == "dark-mode")
        if rollout >= total:
            return ends.append(tag)
        status, written = write(proxy.url, {"dark-mode": rollout + 1, "bulk-export": rollout + 1}, tag)
        tags[me] = written if status == 200 else tag
        statuses.append(status)

    Parallel(*[count] * 4, until=lambda: ends)
    made, unknown = statuses.count(200), statuses.count(503)
    must(made <= total <= made + unknown, f"{made} writers were answered 200, {unknown} 503, and the flags have counted to {total}")
    must(statuses.count(412) > 0, "no writer was refused: the check shows nothing")
    print(f"versions: {len(statuses)} writers said what they had read, {statuses.count(412)} were refused, no change was lost")


def check_late(etcd, relay, first, second):
    """The second server does not know of the last change yet: etcd refuses the stale writer. A writer that has read it at the first is no stale one."""
    def present():
        tag, _ = read(first.url, "/flags")
        eventually("the second server has the last change", lambda: read(second.url, "/flags")[0] == tag)
        return tag

    def delete():
        etcd.call("kv/deleterange", key=encoded("/flags/maintenance"))
        eventually("the first server has the deletion", lambda: read(first.url, "/flags")[0] != stale)

    for change in (lambda: write(first.url, {"dark-mode": 7}), delete):
        relay.delay = 0
        stale = present()
        # The second server's answer to a change waits for the mirror, the refusal only for etcd.
        relay.delay = 1
        change()
        late = read(second.url, "/flags", accepts_stale=True)[0]
        must(late == stale, "the second server has the change at once: the check shows nothing")
        for tag, expected in [(lambda: stale, 412), (lambda: read(first.url, "/flags")[0], 200)]:
            for _ in range(5):
                status, _ = write(second.url, {"new-checkout": 9}, tag())
                if status != 503:
                    break
            must(status == expected, f"a writer with {tag()} is answered {status}; the second server was at {late}")
    relay.delay = 0
    print("versions: a server that is behind refuses a stale writer, also after a deletion, and waits for what a writer has read elsewhere")


def check_limits(relay, first, second):
    """A server that stays behind says so. A version that etcd does not have any more is waited for once."""
    tag, _ = read(first.url, "/flags")
    begun = time.monotonic()
    lost = f'"etcd:{version(tag) + 1_000_000}"'
    must(read(first.url, "/flags", lost)[0] == tag, f"a client that has seen {lost} receives another version")
    must(3 < time.monotonic() - begun < 15, f"that took {time.monotonic() - begun:.1f} s")
    relay.delay = 3_600
    _, tag = write(first.url, {"dark-mode": 8})
    for method, body, said in [("GET", None, {"If-None-Match": tag}), ("GET", None, {}), ("PATCH", {"dark-mode": {"enabled": True}}, {"If-Match": tag})]:
        status, text, headers = ask(method, f"{second.url}/flags", body, said)
        must(status == 503 and headers["Retry-After"], f"a server that is behind {tag} answers {method} with {said} {status}: {text}")
    must(version(read(second.url, "/flags", accepts_stale=True)[0]) < version(tag), "a server that is behind has the last change: the check shows nothing")
    kinds = [kind for kind, _ in events(second.url, None, 1)]
    must(kinds == ["state"], f"a server that is behind sends {kinds} to a new client")
    must(events(second.url, tag.strip('"'), 1) == [], "a server that is behind sends flags to a client that has seen more")
    print("versions: a server that stays behind answers 503, and ends the stream; a version that etcd has lost is waited for only once")


def check(program):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        [etcd] = make_members(1, folder)
        processes = [etcd]
        try:
            etcd.start()
            eventually("etcd answers", lambda: etcd.flags() == {})
            relay = Relay(int(etcd.url.rpartition(":")[2]))
            processes += [Server(number, folder, program, [place]) for number, place in enumerate([etcd, relay])]
            first, second = servers = processes[1:]
            for server in servers:
                server.wait_until_listening()
                eventually(f"{server.name} is ready", server.is_ready)
            write(first.url, dict.fromkeys(FLAGS, 1))
            proxy = Relay(*(server.address[1] for server in servers))
            relay.delay = 0.2
            check_readers(proxy)
            check_writers(proxy)
            check_late(etcd, relay, first, second)
            check_limits(relay, first, second)
        finally:
            for process in processes:
                process.kill()


if __name__ == "__main__":
    try:
        check(sys.argv[1])
    except Broken as broken:
        sys.exit(f"versions: BROKEN: {broken}")
