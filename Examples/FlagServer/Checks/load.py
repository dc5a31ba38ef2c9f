#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Loads a running FlagServer, checks what its clients receive, and stops it. See ../load.sh.

Exit codes: 0 all holds, 1 a promise is broken or the server does not keep up, 2 usage.
"""

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

from streams import Audience, Broken, CurlStream, SocketStream

HERE = Path(__file__).parent


class Load:
    def __init__(self, options):
        self.options = options
        self.address = (options.host, options.port)
        self.audience = Audience()
        self.all = []
        self.slow = []  # the streams that read nothing until they are woken
        self.memory = []  # resident, in MiB, one a second

    def add(self, kind, name, reads=True):
        stream = kind(name, self.address)
        self.audience.add(stream, reads)
        self.all.append(stream)
        if not reads:
            self.slow.append(stream)

    def fetch(self, path):
        with urllib.request.urlopen(f"http://{self.options.host}:{self.options.port}{path}", timeout=60) as answer:
            return answer.read().decode()

    def listing(self):
        return json.loads(self.fetch("/flags"))

    def resident(self):
        status = Path(f"/proc/{self.options.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status).group(1)) / 1024

    def run_beside(self, process, seconds, join=0):
        """Serves the clients until a process ends; `join` more come meanwhile, spread over so many seconds."""
        begun, joined, sampled = time.monotonic(), 0, 0
        while process.poll() is None or joined < join:
            self.audience.serve(0.05)
            elapsed = time.monotonic() - begun
            if elapsed > 4 * seconds + 60 + self.options.grace:
                process.kill()
                raise Broken(f"the server does not keep up: after {elapsed:.0f} s there are still changes that it has not answered")
            if joined < join and elapsed > seconds * joined / join:
                self.add(SocketStream, f"late client {joined}")
                joined += 1
            if elapsed > sampled:
                self.memory.append(self.resident())
                sampled += 1
        if process.returncode != 0:
            raise Broken(f"{process.args[0]} exits with {process.returncode}: {process.stderr.read() or process.stdout.read()}")
        return process.stdout.read()

    def start(self, *command):
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait(self, what, streams, condition, seconds=300):
        """Serves the clients until all of these are so."""
        deadline, left = time.monotonic() + seconds, streams
        while left := [stream for stream in left if not condition(stream)]:
            self.audience.serve(0.05)
            if time.monotonic() > deadline:
                raise Broken(f"{len(left)} of {len(streams)} clients {what} after {seconds} s, one is {left[0].name}")

    def connect(self):
        options = self.options
        for number in range(options.clients):
            self.add(SocketStream, f"client {number}")
            if number % 50 == 0:
                self.audience.serve(0)
        for number in range(options.slow):
            self.add(SocketStream, f"slow client {number}", reads=False)
        for number in range(options.curl):
            self.add(CurlStream, f"curl {number}")
        self.wait("have no state", self.reading(), lambda stream: stream.version is not None)

    def reading(self):
        return [stream for stream in self.all if stream not in self.slow]

    def check_changes(self):
        """Paced changes: none is lost, and all clients receive the last."""
        options = self.options
        before = self.listing()
        arguments = [options.host, options.port, options.rate, options.rate * options.seconds, *(flag["name"] for flag in before["flags"])]
        process = self.start(sys.executable, str(HERE / "changes.py"), *map(str, arguments))
        result = json.loads(self.run_beside(process, options.seconds, join=options.late))
        made = self.listing()["version"] - before["version"]
        print(f"changes: {made} in {result['seconds']:.1f} s, {made / result['seconds']:.0f} a second; answered after "
              f"{result['median'] * 1000:.0f} ms (median), {result['p99'] * 1000:.0f} ms (99 of 100)")
        if made != result["changes"]:
            raise Broken(f"{result['changes']} changes were answered, {made} versions were made")
        if result["seconds"] > options.seconds * 1.1 + options.grace:
            raise Broken(f"the server does not keep up with {options.rate} changes a second")
        self.converge(self.reading())

    def check_burst(self):
        """Changes as fast as wrk makes them."""
        if not shutil.which("wrk"):
            raise Broken("wrk is not installed")
        url = f"http://{self.options.host}:{self.options.port}"
        process = self.start("wrk", "-t1", "-c16", "--timeout", "60s", f"-d{self.options.burst}s", "-s", str(HERE / "put.lua"), url)
        output = self.run_beside(process, self.options.burst)
        rate = re.search(r"Requests/sec:\s*([\d.]+)", output)
        if not rate or "Non-2xx" in output or "Socket errors" in output:
            raise Broken(f"wrk says:\n{output}")
        print(f"burst: {float(rate.group(1)):.0f} changes a second by wrk for {self.options.burst} s")
        # Changes that wrk has left unanswered may still come.
        self.converge(self.reading())

    def check_slow(self):
        """Clients that have read nothing until now: the system's buffers are full of old changes, then comes the last."""
        self.audience.wake()
        self.converge(self.slow)

    def converge(self, streams):
        begun, final, latest = time.monotonic(), None, self.listing()
        while final != latest:
            final = latest
            self.wait("have not converged", streams, lambda stream: stream.has_received(final))
            latest = self.listing()
        for stream in streams:
            stream.check(final)
        print(f"converged: {len(streams)} clients, {time.monotonic() - begun:.1f} s after the last change; "
              f"{sum(s.events for s in streams)} commits received, {sum(s.gaps for s in streams)} dropped and counted")

    def check_memory(self):
        """While flags changed at a steady rate the server's memory did not grow."""
        thirds = [self.memory[n * len(self.memory) // 3 : (n + 1) * len(self.memory) // 3] for n in range(3)]
        print(f"memory: {self.memory[0]:.0f} MiB at first, {max(thirds[1]):.0f} in the middle, {max(thirds[2]):.0f} at the end")
        if max(thirds[2]) > max(thirds[1]) * 1.1 + 16:
            raise Broken("the server's memory grows")

    def check_end(self):
        """Shutdown ends every stream, then the process."""
        begun = time.monotonic()
        os.kill(self.options.pid, signal.SIGTERM)
        self.wait("are still connected", self.all, lambda stream: stream.closed)
        if silent := [stream for stream in self.all if not stream.ended]:
            raise Broken(f"{len(silent)} clients did not receive the end, one is {silent[0].name}")
        print(f"shutdown: all {len(self.all)} streams ended within {time.monotonic() - begun:.1f} s")


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])

    def number(least):
        def parse(text):
            if not text.isdecimal() or int(text) < least:
                raise argparse.ArgumentTypeError(f"{text} is not a number from {least} on")
            return int(text)

        return parse

    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=number(1), required=True)
    parser.add_argument("--pid", type=number(1), required=True, help="the server's process")
    parser.add_argument("--clients", type=number(1), default=1_000)
    parser.add_argument("--rate", type=number(1), default=200, help="changes a second")
    parser.add_argument("--seconds", type=number(1), default=30)
    parser.add_argument("--late", type=number(0), default=20, help="clients that come while flags change")
    parser.add_argument("--slow", type=number(0), default=10, help="clients that do not read while flags change")
    parser.add_argument("--curl", type=number(0), default=10, help="clients that are curl")
    parser.add_argument("--burst", type=number(1), default=5, help="seconds of changes by wrk")
    parser.add_argument("--check-usage", action="store_true", help="look at the arguments, and do nothing")
    parser.add_argument("--grace", type=number(0), default=0, help="seconds that the changes may take longer")
    return parser.parse_args()


def main():
    options = parse()
    if options.check_usage:
        return
    load = Load(options)
    try:
        load.connect()
        load.check_changes()
        load.check_memory()
        load.check_burst()
        load.check_slow()
        load.check_end()
    except Broken as broken:
        sys.exit(f"load: BROKEN: {broken}")


if __name__ == "__main__":
    main()
