#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Starts etcd and servers that share flags on it, changes flags while streams read, breaks and heals the fleet, and checks every event.

See ../fleet.sh. Exit codes: 0 all holds, 1 something does not, 2 usage.
"""

import argparse
import json
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from ledger import FleetStream, Ledger
from members import Server, ask, eventually, fetch, make_members, metric, request
from streams import NO_COMMITS, Audience, Broken, ProviderStream

HERE = Path(__file__).parent
RATE = 20  # changes a second


class Writer:
    """The process that changes flags, read as the streams are."""

    def __init__(self, ledger, servers):
        ports = [str(server.address[1]) for server in servers]
        ledger.begin = time.monotonic() + 0.5
        self.ledger, self.closed, self.text = ledger, False, b""
        self.process = subprocess.Popen([sys.executable, str(HERE / "writer.py"), str(ledger.rate), str(ledger.begin), *ports],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)

    def fileno(self):
        return self.process.stdout.fileno()

    def read(self):
        data = self.process.stdout.read(65_536)
        *lines, self.text = (self.text + data).split(b"\n")
        for line in lines:
            number, status, delay = line.split()
            self.ledger.answered[int(number)] = int(status)
            self.ledger.answers[int(number)] = float(delay)
        if not data:
            self.process.stdout.close()
            self.closed = True
            if self.process.wait() != 0:
                raise Broken(f"the writer exits with {self.process.returncode}")

    def stop(self):
        """No change is due from now on; those that were are still answered."""
        self.process.stdin.close()


class Fleet:
    def __init__(self, members, servers, program, folder):
        self.members = make_members(members, folder)
        self.program, self.folder, self.count = program, folder, servers
        self.servers, self.streams = [], {}  # the streams of each server
        self.providers = []  # one for each server
        self.audience, self.ledger, self.writer = Audience(), Ledger(RATE), None
        self.first = None  # the version before the first change
        self.memory = []  # pairs of a second and each server's memory in MiB then, at most once a second
        self.marks = []  # names of the actions, with the seconds since the first change

    # --- Running ---

    def start(self, streams):
        for member in self.members:
            member.start()
        self.wait("etcd answers", lambda: all(member.flags() == {} for member in self.members))
        # Every server begins with the same version.
        self.members[0].put("/flags/dark-mode", '{"enabled": false, "rollout": 100}')
        self.servers = [Server(number, self.folder, self.program, self.members) for number in range(self.count)]
        for server in self.servers:
            server.wait_until_listening()
        self.wait_until_ready()
        for server in self.servers:
            self.streams[server] = []
            self.providers.append(self.add_provider(server))
            for number in range(streams):
                stream = FleetStream(f"{server.name} stream {number}", server.address, self.ledger)
                self.streams[server].append(stream)
                self.audience.add(stream)
                if number % 50 == 0:
                    self.audience.serve(0)
        self.wait("every stream has the state", lambda: all(stream.version is not None for stream in self.all()))
        versions = {stream.version for stream in self.all()}
        if len(versions) != 1:
            raise Broken(f"streams of one fleet begin with the versions {versions}")
        [self.first] = versions
        self.writer = Writer(self.ledger, self.servers)
        self.audience.add(self.writer)

    def add_provider(self, server):
        """A client of OpenFeature's events. It comes late, and receives that of the present state at once."""
        provider = ProviderStream(f"{server.name} provider", server.address)
        self.audience.add(provider)
        self.wait(f"{provider.name} has the state", lambda: provider.states)
        if provider.states != ["READY"]:
            raise Broken(f"{provider.name}: begins with {provider.states}")
        return provider

    def all(self):
        return [stream for streams in self.streams.values() for stream in streams]

    def wait(self, text, condition, seconds=180):
        return eventually(text, condition, seconds, lambda: self.audience.serve(0.02))

    def wait_until_ready(self):
        return self.wait("every server is ready", lambda: all(server.is_ready() for server in self.servers))

    def serve(self, seconds):
        """Serves the streams for so long, and samples the servers' memory."""
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            self.audience.serve(0.02)
            second = now - self.ledger.begin
            if not self.memory or second >= self.memory[-1][0] + 1:
                self.memory.append((second, [server.memory() for server in self.servers]))

    def second(self):
        return time.monotonic() - self.ledger.begin

    def mark(self, text):
        self.marks.append((self.second(), text))

    def leader(self):
        return next(member for member in self.members if member.is_leader())

    def kill(self):
        for process in [*self.servers, *self.members, *([self.writer.process] if self.writer else [])]:
            process.kill()

    # --- Breaking ---

    def kill_member(self, member, seconds):
        """Kills a member, starts it again after so many seconds, and returns how long the healing took."""
        print(f"servers that follow the member to be killed: {member.watches()}")
        member.kill()
        self.mark("killed")
        self.serve(seconds)
        member.start()
        self.mark("started")
        healed = self.wait("the member answers", lambda: member.flags() is not None)
        return healed + self.wait_until_ready()

    def stop_member(self, member, seconds):
        """Stops a member's process for so many seconds: its connections stay open, and say nothing."""
        print(f"servers that follow the member to be stopped: {member.watches()}")
        member.send(signal.SIGSTOP)
        self.mark("stopped")
        self.serve(seconds)
        member.send(signal.SIGCONT)
        self.mark("continued")
        return self.wait_until_ready()

    # --- Checking ---

    def converge(self):
        """The writer ends. Then all streams show what their servers do, and these what a range read of etcd does."""
        self.writer.stop()
        self.wait("every change is answered", lambda: self.writer.closed)
        kept = self.members[0].flags()

        def are_equal():
            for server in self.servers:
                if server.flags() != kept:
                    return False
                listing = fetch(f"{server.url}/flags")
                if not all(stream.has_received(listing) for stream in self.streams[server]):
                    return False
            return True

        seconds = self.wait("every stream shows what etcd has", are_equal)
        for server in self.servers:
            listing = fetch(f"{server.url}/flags")
            for stream in self.streams[server]:
                stream.check(listing)
        if len(versions := {fetch(f"{server.url}/flags")["version"] for server in self.servers}) != 1:
            raise Broken(f"the servers show the same flags as versions {versions}")
        result = self.ledger.check(self.first, listing["version"], self.members[0].change)
        events, gaps = sum(stream.events for stream in self.all()), sum(stream.gaps for stream in self.all())
        counted = sum(metric(server.url, "flag_events_dropped_total") for server in self.servers)
        if counted < gaps:
            raise Broken(f"the servers count {counted} commits as dropped; the streams miss {gaps}")
        print(f"changes: {result}")
        print(f"events: {events} received, {gaps} dropped, all of them counted; {seconds:.1f} s after the last answer every stream was equal "
              "to a range read")
        self.ledger.close()

    def check_memory(self, seconds):
        """While all was well no server's memory grew."""
        taken = [memory for second, memory in self.memory if second < seconds]
        # A busy machine takes fewer than one a second.
        third = len(taken) // 3
        if third == 0:
            raise Broken(f"the memory was looked at only {len(taken)} times in {seconds} seconds: the machine is too busy")
        for number, server in enumerate(self.servers):
            samples = [sample[number] for sample in taken]
            middle, last = max(samples[third : 2 * third]), max(samples[2 * third :])
            print(f"memory: {server.name} {samples[0]:.0f} MiB at first, {middle:.0f} in the middle, {last:.0f} at the end")
            if last > middle * 1.1 + 16:
                raise Broken(f"the memory of {server.name} grows")

    def check_values(self):
        """A malformed value leaves the last good one in place, and others go on."""
        member, (first, *_, last) = self.members[0], self.servers
        member.put("/flags/maintenance", '{"enabled": true, "rollout": 7}')
        NO_COMMITS.add(member.put("/flags/maintenance", "nonsense"))
        member.put("/flags/bulk-export", '{"enabled": true, "rollout": 8}')
        for server in self.servers:
            self.wait(f"{server.name} goes on", lambda: server.flags()["bulk-export"] == {"enabled": True, "rollout": 8})
            if (flag := server.flags()["maintenance"]) != {"enabled": True, "rollout": 7}:
                raise Broken(f"{server.name} shows {flag} in place of a malformed value")
            wrong = fetch(f"{server.url}/source").get("malformed", {})
            if list(wrong) != ["maintenance"] or "malformed" not in server.log.read_text():
                raise Broken(f"{server.name} says of the malformed value: {wrong}")
        # A writer that has read it at one server, and is late at another.
        stale = ask("GET", f"{last.url}/flags/dark-mode")[2]["ETag"]
        status, text = request("PUT", f"{first.url}/flags/dark-mode", {"enabled": True, "rollout": 25})
        if status != 200 or '"rollout":25' not in text:
            raise Broken(f"a PUT is answered {status}: {text}")
        self.wait("the last server shows the first's change", lambda: last.flags()["dark-mode"]["rollout"] == 25)
        for server, tag, expected in [(last, stale, 412), (last, ask("GET", f"{first.url}/flags/dark-mode")[2]["ETag"], 200)]:
            status, text, _ = ask("PUT", f"{server.url}/flags/dark-mode", {"enabled": True, "rollout": 26}, {"If-Match": tag})
            if status != expected:
                raise Broken(f"If-Match {tag} is answered {status} by {server.name}: {text}")
        self.check_versions()

    def check_versions(self):
        """A client that goes from server to server says what it has seen, and never sees a version that is older."""
        seen, number = "", 0
        for step in range(20):
            server, other = self.servers[step % len(self.servers)], self.servers[(step + 1) % len(self.servers)]
            request("PUT", f"{other.url}/flags/dark-mode", {"enabled": True, "rollout": step})
            headers = {"Last-Event-ID": seen} if seen else {}
            with urllib.request.urlopen(urllib.request.Request(f"{server.url}/events", headers=headers), timeout=30) as answer:
                while not (line := answer.readline()).startswith(b"id: "):
                    if not line:
                        raise Broken(f"{server.name} sends nothing to a client that has seen {seen}")
            seen = line[4:].decode().strip()
            if (version := int(seen.rpartition(":")[2])) < number:
                raise Broken(f"{server.name} shows version {version} to a client that has seen {number}")
            number = version

    def check_outage(self):
        """Without etcd every server keeps its flags, says that they are old, and changes nothing. It shows them to those that accept old ones."""
        for member in self.members:
            member.kill()
        for server in self.servers:
            shown = server.flags()
            self.wait(f"{server.name} is stale", lambda: server.state() == "stale")
            status, text = request("PUT", f"{server.url}/flags/dark-mode", {"enabled": False})
            if status != 503 or server.flags() != shown:
                raise Broken(f"without etcd {server.name} answers a PUT {status}: {text}")
            if (status := request("GET", f"{server.url}/flags")[0]) != 503:
                raise Broken(f"without etcd {server.name} answers a GET that accepts nothing old {status}")
        self.wait("no server says that it is ready", lambda: all(request("GET", f"{server.url}/readyz")[0] == 503 for server in self.servers))
        self.wait("every provider is stale", lambda: all(provider.states[-1] != "READY" for provider in self.providers))
        for member in self.members:
            member.start()
        self.wait_until_ready()
        self.wait("every server says that it is ready", lambda: all(request("GET", f"{server.url}/readyz")[0] == 200 for server in self.servers))
        self.wait("every provider is ready", lambda: all(provider.states[-1] == "READY" for provider in self.providers))
        for server, provider in zip(self.servers, self.providers):
            if "STALE" not in provider.states:
                raise Broken(f"{provider.name}: {provider.states}")
            self.wait(f"{provider.name} has every commit", lambda: provider.version == fetch(f"{server.url}/flags")["version"])
            if provider.dropped:
                raise Broken(f"{provider.name}: {provider.dropped} commits were dropped, though it reads")
            self.add_provider(server)

    def check_end(self):
        for server in self.servers:
            server.stop()
        self.wait("every stream ends", lambda: all(stream.closed for stream in self.all()))
        if silent := [stream for stream in self.all() if not stream.ended]:
            raise Broken(f"{len(silent)} streams did not receive the end, one is {silent[0].name}")
        for server in self.servers:
            if (status := server.process.wait(60)) != 0:
                raise Broken(f"{server.name} exits with {status}")

    # --- Figures ---

    def print_row(self, text, seconds):
        figures = self.ledger.percentiles(seconds)
        if figures is None:
            raise Broken(f"no change of the phase '{text}' has come to a stream")
        times, count = figures
        print(f"| {text} | {count:,} | " + " | ".join(f"{time * 1000:,.1f} ms" for time in times) + " |")

    def print_stations(self, text, seconds):
        """Where the changes of a phase waited: a late answer is etcd's or the server's, a late first stream the mirror's, a late last one the
        streams' and their reader's."""
        if not self.ledger.due_in(seconds):
            return
        parts, status, answer, first, last = self.ledger.stations(seconds)
        shown = [f"{name} {times[0] * 1000:,.0f} and {times[1] * 1000:,.0f} ms" for name, times in zip(("answered", "first stream", "last stream"), parts)]
        print(f"stations, {text}: median and p99 {', '.join(shown)}; the longest was answered {status} after {answer:.3f} s, its first stream had it after {first:.3f} s, its last "
              f"after {last:.3f} s")

    def write_plot(self, folder):
        with open(folder / "fleet.tsv", "w") as file:
            print("second", "median", "p99", "longest", sep="\t", file=file)
            for second in sorted({number // RATE for number in self.ledger.delays}):
                median, p99, _, longest = self.ledger.percentiles([second])[0]
                print(second, *(f"{time * 1e9:.0f}" for time in (median, p99, longest)), sep="\t", file=file)
        with open(folder / "fleet.marks.tsv", "w") as file:
            for second, text in self.marks:
                print(f"{second:.1f}", text, sep="\t", file=file)


def run(fleet, options):
    """The phases, and the table of what was measured in each."""
    seconds = options.seconds
    fleet.start(options.streams)
    fleet.serve(seconds + 0.5)
    used = [server.processor_seconds() / fleet.second() for server in fleet.servers]
    reader = time.process_time() / fleet.second()
    rows = [("all is well", range(seconds))]
    leader = fleet.leader()
    for text, action in [
        ("the leader is killed" if len(fleet.members) > 1 else "etcd is killed", lambda: fleet.kill_member(leader, options.broken)),
        # Not the one that was killed: it has no server left.
        ("a member is stopped", lambda: fleet.stop_member(next(m for m in fleet.members if m is not leader and not m.is_leader()), 12)),
    ][: 1 if len(fleet.members) == 1 else 2]:
        begun = int(fleet.second())
        healed = action()
        print(f"{text}: {healed:.1f} s after it was back every server was ready")
        fleet.serve(3)
        rows.append((text, range(begun, int(fleet.second()))))
    begun = int(fleet.second())
    fleet.serve(5)
    rows.append(("healed", range(begun, int(fleet.second()))))
    fleet.converge()
    fleet.check_memory(seconds)
    print(f"processors: {', '.join(f'{100 * share:.0f} %' for share in used)} of one for each server, {100 * reader:.0f} % for the reader of all streams")
    for text, phase in rows:
        fleet.print_stations(text, phase)
    print("\n| | events | p50 | p99 | p99.9 | longest |\n| --- | --- | --- | --- | --- | --- |")
    for text, phase in rows:
        fleet.print_row(text, phase)
    print()
    if options.plot:
        fleet.write_plot(options.plot)
    fleet.check_values()
    fleet.check_outage()
    fleet.check_end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", required=True, help="the FlagServer, built with the trait Etcd")
    parser.add_argument("--short", action="store_true", help="one member, two servers, seconds")
    parser.add_argument("--plot", type=Path, help="a folder for the figures of each second")
    options = parser.parse_args()
    members, servers, options.streams, options.seconds, options.broken = (1, 2, 25, 6, 2) if options.short else (3, 4, 250, 60, 8)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        fleet = Fleet(members, servers, options.server, folder)
        try:
            run(fleet, options)
        except (Broken, OSError) as broken:
            for process in [*fleet.servers, *fleet.members]:
                print(f"--- {process.name}\n" + "".join(process.log.read_text().splitlines(True)[-10:]), file=sys.stderr)
            sys.exit(f"fleet: BROKEN: {broken}")
        finally:
            fleet.kill()


if __name__ == "__main__":
    main()
