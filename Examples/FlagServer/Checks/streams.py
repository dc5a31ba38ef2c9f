#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Clients of GET /events that check what they receive."""

import functools
import json
import os
import select
import socket
import subprocess


class Broken(Exception):
    """The server has broken a promise; the text says which."""


@functools.lru_cache(maxsize=4_096)
def decode(event):
    """An event's kind and its data. Many streams receive the same bytes: nothing changes what this returns."""
    fields = dict(line.split(b": ", 1) for line in event.split(b"\n"))
    return fields[b"event"], json.loads(fields[b"data"])


# The rule by which each derived flag is computed from the flags.
RULES = {"checkout-open": lambda flags: flags["new-checkout"]["enabled"] and not flags["maintenance"]["enabled"]}


# Versions that change no flag: revisions of etcd with a malformed value.
NO_COMMITS = set()


def between(last, version):
    """How many commits there are between two versions."""
    return version - last - 1 - sum(1 for other in NO_COMMITS if last < other < version)


class Stream:
    """One client. Decodes what arrives, and checks it: the state first, then commits whose versions only grow; each version that is
    missing is among those that the server has counted as dropped. After each event the derived flags are those of the flags."""

    def __init__(self, name):
        self.name = name
        self.version = None  # the last that was received; None before the state
        self.flags = {}  # by name, as the server's listing has them
        self.derived = {}  # by name, whether it is on
        self.gaps = 0  # how many versions were missing
        self.dropped = 0  # how many the server says it has dropped
        self.early = 0  # how many of these may have been dropped before the state
        self.events = 0
        self.ended = False  # received the end
        self.closed = False
        self.text = b""

    def fileno(self):
        raise NotImplementedError

    def read(self):
        raise NotImplementedError

    def accept(self, text):
        """Takes a piece of the event stream, of any length."""
        *events, self.text = (self.text + text).split(b"\n\n")
        for event in events:
            self.handle(event)

    def handle(self, event):
        if event.startswith(b":"):
            return
        kind, data = decode(event)
        if self.ended:
            raise Broken(f"{self.name}: {kind} after the end")
        if kind == b"change":
            self.need_state(kind)
            self.change(data)
        elif kind == b"state":
            if self.version is not None:
                raise Broken(f"{self.name}: a second state")
            self.version, self.dropped, self.early = data["version"], data["dropped"], data["dropped"]
            self.flags = {flag["name"]: flag for flag in data["flags"]}
            self.take_derived(data)
        elif kind == b"end":
            self.ended = True
        else:
            raise Broken(f"{self.name}: an event of an unknown kind, {kind}")

    def need_state(self, kind):
        if self.version is None:
            raise Broken(f"{self.name}: a {kind.decode()} before the state")

    def change(self, commit):
        version, last = commit["version"], self.version
        if version <= last:
            raise Broken(f"{self.name}: from version {last} to {version}")
        if not any(flag["version"] == version for flag in commit["flags"]):
            raise Broken(f"{self.name}: version {version} has changed nothing")
        for flag in commit["flags"]:
            if not last < flag["version"] <= version:
                raise Broken(f"{self.name}: from version {last} to {version}, {flag['name']} is of version {flag['version']}")
            self.flags[flag["name"]] = flag
        self.take_derived(commit)
        self.version = version
        self.gaps += between(last, version)
        self.dropped = commit["dropped"]
        self.events += 1
        if self.dropped < self.gaps:
            raise Broken(f"{self.name}: {self.gaps} lost, {self.dropped} counted as dropped")

    def take_derived(self, data):
        self.derived = {flag["name"]: flag["enabled"] for flag in data["derived"]}
        for name, enabled in self.derived.items():
            if name in RULES and enabled != RULES[name](self.flags):
                raise Broken(f"{self.name}: with version {data['version']} {name} is {enabled}, which its flags contradict")

    def has_received(self, final):
        """Whether the stream has come to this listing."""
        derived = {flag["name"]: flag["enabled"] for flag in final["derived"]}
        return self.version is not None and self.version >= final["version"] and self.derived == derived

    def check(self, final):
        """Checks that the last state was the right one, and that exactly the missing commits were counted as dropped."""
        flags = {flag["name"]: flag for flag in final["flags"]}
        if self.flags != flags:
            raise Broken(f"{self.name}: it ends as {self.flags}: not {flags}")
        if not 0 <= self.dropped - self.gaps <= self.early:
            raise Broken(f"{self.name}: {self.gaps} lost, {self.dropped} counted as dropped")


class SocketStream(Stream):
    """A client on a socket of its own, with a small receive buffer: what it has not read waits in the server."""

    path = "/events"

    def __init__(self, name, address):
        super().__init__(name)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 16_384)
        self.socket.settimeout(30)
        self.socket.connect(address)
        self.socket.sendall(f"GET {self.path} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".encode())
        self.socket.setblocking(False)
        self.bytes = b""
        self.in_body = False

    def fileno(self):
        return self.socket.fileno()

    def read(self):
        try:
            data = self.socket.recv(32_768)
        except BlockingIOError:
            return
        except ConnectionResetError:
            raise Broken(f"{self.name}: the connection was reset") from None
        if not data:
            self.closed = True
            self.socket.close()
            return
        self.bytes += data
        if not self.in_body and not self.read_head():
            return
        self.read_chunks()

    def read_head(self):
        end = self.bytes.find(b"\r\n\r\n")
        if end < 0:
            return False
        head, self.bytes = self.bytes[:end].lower(), self.bytes[end + 4 :]
        if not head.startswith(b"http/1.1 200 ") or b"content-type: text/event-stream" not in head:
            raise Broken(f"{self.name}: it was answered {head!r}")
        self.in_body = True
        return True

    def read_chunks(self):
        data, at, text = self.bytes, 0, []
        while (line := data.find(b"\r\n", at)) >= 0:
            begin = line + 2
            end = begin + int(data[at:line], 16)
            if end + 2 > len(data):
                break
            text.append(data[begin:end])
            at = end + 2
        self.bytes = data[at:]
        self.accept(b"".join(text))


class ProviderStream(SocketStream):
    """A client of GET /provider/events. Checks the events that OpenFeature names: that of the present state first, then every commit once and in
    order, or counted as dropped."""

    path = "/provider/events"

    def __init__(self, name, address):
        super().__init__(name, address)
        self.states = []  # the events of the state

    def handle(self, event):
        if event.startswith(b":"):
            return
        kind, data = decode(event)
        if kind == b"PROVIDER_CONFIGURATION_CHANGED":
            self.configuration(data)
        else:
            self.states.append(kind.decode().removeprefix("PROVIDER_"))

    def configuration(self, data):
        dropped = data["dropped"] - self.dropped
        if self.version is not None and (data["version"] <= self.version or between(self.version, data["version"]) != dropped):
            raise Broken(f"{self.name}: from version {self.version} to {data['version']}, {dropped} counted as dropped")
        if not self.states or not data["flagsChanged"]:
            raise Broken(f"{self.name}: {data} after the states {self.states}")
        self.version, self.dropped = data["version"], data["dropped"]


class CurlStream(Stream):
    """A client that is curl."""

    def __init__(self, name, address):
        super().__init__(name)
        url = f"http://{address[0]}:{address[1]}/events"
        self.process = subprocess.Popen(["curl", "--silent", "--no-buffer", url], stdout=subprocess.PIPE)
        os.set_blocking(self.fileno(), False)

    def fileno(self):
        return self.process.stdout.fileno()

    def read(self):
        data = os.read(self.fileno(), 262_144)
        if data:
            return self.accept(data)
        self.process.stdout.close()
        status = self.process.wait()
        if status != 0:
            raise Broken(f"{self.name}: curl exits with {status}")
        self.closed = True


class Audience:
    """All clients, served by one loop."""

    def __init__(self):
        self.streams = {}
        self.poll = select.epoll()

    def add(self, stream, reads=True):
        """Lets a client take part; one that does not read does so only after `wake`."""
        self.streams[stream.fileno()] = stream
        self.poll.register(stream.fileno(), select.EPOLLIN if reads else 0)

    def wake(self):
        """Every client reads from now on."""
        for number, stream in self.streams.items():
            if not stream.closed:
                self.poll.modify(number, select.EPOLLIN)

    def serve(self, seconds):
        """Reads what there is, and waits that long for more."""
        for number, _ in self.poll.poll(seconds):
            stream = self.streams[number]
            stream.read()
            if stream.closed:
                del self.streams[number]
