#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a FlagServer says to a client that falls behind, to one that comes before the flags, and to requests with mistakes: clients.py SERVER.

Exit codes: 0 all holds, 1 something does not.
"""

import json
import socket
import sys
import tempfile
import time

from members import ServerWithFlagd, eventually, free_ports, request
from shutdown import PREFACE, frame, sync_flags
from streams import Audience, Broken, ProviderStream

CHANGES = 6_000


def must(condition, text):
    if not condition:
        raise Broken(text)


class SlowProvider(ProviderStream):
    """Keeps the names of all flags that its events have named."""

    def __init__(self, name, address):
        super().__init__(name, address)
        self.named = set()

    def configuration(self, data):
        super().configuration(data)
        self.named |= set(data["flagsChanged"])


def check_slow_provider(server):
    """Events are left out for a client that does not read. The next event says how many, and names each flag that has changed."""
    audience, slow = Audience(), SlowProvider("slow", ("127.0.0.1", server.port))
    audience.add(slow)
    eventually("the slow client has the state", lambda: slow.states, meanwhile=lambda: audience.serve(0.02))
    server.change(100)
    request("PUT", f"{server.url}/flags/maintenance", {"enabled": True})
    server.change(CHANGES)
    last = CHANGES + 101
    eventually("the slow client has every change", lambda: slow.version == last, meanwhile=lambda: audience.serve(0.02))
    metrics = request("GET", f"{server.url}/metrics")[1]
    must(0 < slow.dropped < CHANGES, f"{slow.dropped} dropped")
    must("maintenance" in slow.named, "the change of 'maintenance' was never named")
    must(f"flag_provider_events_dropped_total {slow.dropped}.0\n" in metrics, f"{slow.dropped} dropped, the metrics have another number")
    print(f"clients: {slow.dropped} of {last} events left out for a client that did not read, all of them counted, every flag named")


def check_bodies(server):
    """A mistake is refused, and what is right is not."""
    path = f"{server.url}/flags/dark-mode"
    for body, text in [({"enabled": True, "rolout": 5}, "'rolout' is not known"), ({"enabled": True, "rollout": 25.5}, "'rollout' has no allowed value"),
                       ({"enabled": True, "rollout": 10**20}, "'rollout' has no allowed value")]:
        status, answer = request("PUT", path, body)
        must(status == 400 and text in answer, f"{body} is answered {status}: {answer}")
    must(request("GET", f"{server.url}/flags/dark%2Dmode")[0] == 200, "a name in another writing is not found")
    status, answer = request("POST", f"{server.url}/ofrep/v1/evaluate/flags/dark-mode", {"context": {"targetingKey": "u", "more": "x" * 3_000}})
    must(status == 200, f"a context of 3,000 bytes is answered {status}: {answer}")


def answer(client, end, seconds=10):
    """What a server sends until it has sent this, or has closed the connection."""
    client.settimeout(seconds)
    received = b""
    while end not in received and (data := client.recv(65_536)):
        received += data
    return received


def is_closed(client):
    """Whether the server has closed the connection. What it has sent before is read, and left out."""
    client.setblocking(False)
    try:
        return client.recv(65_536) == b""
    except BlockingIOError:
        return False


class FlagdClient:
    """A client of SyncFlags, which answers pings."""

    def __init__(self, server):
        self.socket, self.rest = server.connect(sync_flags(), flagd=True), b""

    def wait_for(self, text, seconds=10):
        """Reads until a message has this."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.read(0.1) and text in self.data:
                return
        raise Broken(f"flagd's port does not send {text}")

    def read(self, seconds):
        """Handles what comes within this time. Returns whether that was a message."""
        self.socket.settimeout(seconds)
        try:
            received = self.socket.recv(65_536)
        except socket.timeout:
            return False
        must(received, "flagd's port has closed a stream")
        self.rest, self.data = self.rest + received, b""
        while len(self.rest) >= 9 and len(self.rest) >= (length := 9 + int.from_bytes(self.rest[:3])):
            kind, flags, payload, self.rest = self.rest[3], self.rest[4], self.rest[9:length], self.rest[length:]
            if kind == 6 and not flags & 1:
                self.socket.sendall(frame(6, 1, 0, payload))
            if kind == 0:
                self.data += payload
        return self.data != b""


def check_head(server):
    """HEAD is answered as GET, without the body, and counted as it is."""
    for path in ["/", "/flags", "/flags/dark-mode", "/source", "/metrics", "/flags/absent", "/absent"]:
        end = b"\r\n\r\n"
        with server.connect(b"HEAD %s HTTP/1.1\r\nHost: x\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n" % path.encode()) as client:
            head, _, rest = answer(client, b"nothing is at GET").partition(end)
        with server.connect(b"GET %s HTTP/1.1\r\nHost: x\r\n\r\n" % path.encode()) as client:
            expected = answer(client, end).partition(end)[0]

        def without_date(text):
            return [line for line in text.splitlines() if not line.lower().startswith((b"date:", b"content-length:", b"transfer-encoding:"))]

        must(without_date(head) == without_date(expected), f"HEAD {path} is answered {head}, GET {expected}")
        must(rest.startswith(b"HTTP/1.1 404"), f"HEAD {path} is followed by {rest}")
    metrics = request("GET", f"{server.url}/metrics")[1].splitlines()
    active = [line for line in metrics if line.startswith("http_server_active_requests") and "HEAD" in line]
    must(active and all(line.endswith(" 0.0") for line in active), f"HEAD goes on: {active}")


def check_continue(server):
    """A client that asks before it sends the body is asked for it, after the answers to what it has asked before."""
    body = b'{"enabled":true}'
    head = b"PUT /flags/dark-mode HTTP/1.1\r\nHost: x\r\nExpect: 100-Continue\r\nContent-Length: %d\r\n\r\n" % len(body)
    with server.connect(head) as client:
        got = answer(client, b"\r\n\r\n")
        must(got == b"HTTP/1.1 100 Continue\r\n\r\n", f"a client that waits for it receives {got}")
        client.sendall(body + b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 20 + head)
        got = answer(client, b"100 Continue\r\n\r\n")
        must(got.count(b"HTTP/1.1 200 OK\r\n") == 21 and got.endswith(b"HTTP/1.1 100 Continue\r\n\r\n"), f"the second time it receives {got[-200:]}")
        client.sendall(body)
        must(b'"name":"dark-mode"' in answer(client, b"}"), "the second body is not taken")


def check_upgrade(server):
    """A client that asks for another protocol is answered, and its connection ends: what it goes on to send is not kept."""
    before = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
    for head, body in [(b"CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n", b"nothing is at CONNECT"),
                       (b"GET /flags HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", b'"flags"')]:
        with server.connect(before + head) as client:
            got = answer(client, b"the end of the connection").partition(b"HTTP/1.1 ")[2].partition(b"HTTP/1.1 ")
            must(got[0].startswith(b"200") and b"Connection: close" in got[2] and body in got[2], f"{head} is answered {got}")
    memory = server.memory()
    with server.connect(b"GET /events HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n") as client:
        answer(client, b"event: state")
        client.settimeout(2)
        try:
            for _ in range(200):
                client.sendall(bytes(1 << 20))
        except OSError:
            pass
        must(server.memory() - memory < 50, f"the server keeps {server.memory() - memory:.0f} MiB of what a client has sent")


def check_pipelining(server):
    """Requests that are sent without an end, and whose answers are not read, take little memory, and others are served."""
    memory = server.memory()
    many = [server.connect() for _ in range(100)]
    for client in many:
        client.setblocking(False)
        try:
            client.send(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 2_000)
        except OSError:
            # More than the system takes at once, or closed already.
            pass
    must(request("GET", f"{server.url}/flags")[0] == 200, "another client is not answered")
    must(server.memory() - memory < 120, f"100 clients that pipeline take {server.memory() - memory:.0f} MiB")
    for client in many:
        client.close()


def check_idle(program, folder):
    """Connections without a request end; streams go on. The limit is longer than this process may wait for a processor: it has to answer pings."""
    server = ServerWithFlagd(program, folder, options=["--idle-limit", "3"])
    try:
        stream = server.connect(b"GET /events HTTP/1.1\r\nHost: x\r\n\r\n")
        sync = FlagdClient(server)
        answer(stream, b"event: state"), sync.wait_for(b"metadata")
        idle = [server.connect(), server.connect(b"GET /flags HTTP/1.1\r\nHost: x\r\n\r\n"), server.connect(b"PUT /flags/dark"),
                server.connect(PREFACE + frame(4, 0, 0, b""), flagd=True), server.connect(flagd=True)]
        begun, ended, count = time.monotonic(), 20, len(idle)
        while (seconds := time.monotonic() - begun) < 8 or idle:
            must(seconds < 20, f"{len(idle)} idle connections are not closed")
            idle = [client for client in idle if not is_closed(client)]
            ended = seconds if idle else min(ended, seconds)
            sync.read(0.1)
        server.change(100)
        # The last: of those before it a stream that is read late leaves some out.
        answer(stream, b'"version":100,'), sync.wait_for(b'"version":100}')
        print(f"clients: {count} idle connections were closed within {ended:.1f} s, streams were not")
    finally:
        server.kill()


def check_descriptors(program, folder):
    """With more connections than descriptors the server waits, instead of asking again and again, and goes on when some end."""
    server = ServerWithFlagd(program, folder, before=["prlimit", "--nofile=96:96"])
    try:
        clients = [server.connect(flagd=number % 2 == 1) for number in range(240)]
        time.sleep(0.5)
        used = server.processor_seconds()
        time.sleep(2)
        used = server.processor_seconds() - used
        must(used < 0.2, f"with more connections than descriptors the server takes {50 * used:.0f} % of a processor")
        for client in clients:
            client.close()
        eventually("the server answers again", lambda: request("GET", f"{server.url}/flags", seconds=5)[0] == 200)
        FlagdClient(server).wait_for(b"dark-mode")
        print(f"clients: 240 connections and 96 descriptors: {50 * used:.0f} % of a processor")
    finally:
        server.kill()


def check_before_flags(program, folder):
    """etcd was never reached: there is no value of any flag, and none is sent."""
    server = ServerWithFlagd(program, folder, options=["--etcd", f"http://127.0.0.1:{free_ports(1)[0]}"])
    try:
        for name in ["", "/dark-mode"]:
            status, answer = request("POST", f"{server.url}/ofrep/v1/evaluate/flags{name}", {})
            must(status == 503 and json.loads(answer)["errorCode"] == "PROVIDER_NOT_READY", f"an evaluation is answered {status}: {answer}")
        with server.connect(sync_flags(), flagd=True) as client:
            client.settimeout(2)
            received = b""
            try:
                while data := client.recv(65_536):
                    received += data
            except socket.timeout:
                pass
            must(received and b"dark-mode" not in received, f"SyncFlags is answered {received}")
    finally:
        server.kill()


def check(program):
    with tempfile.TemporaryDirectory() as folder:
        server = ServerWithFlagd(program, folder)
        try:
            check_slow_provider(server)
            check_bodies(server)
            check_head(server)
            check_continue(server)
            check_upgrade(server)
            check_pipelining(server)
        finally:
            server.kill()
        check_before_flags(program, folder)
        check_idle(program, folder)
        check_descriptors(program, folder)


if __name__ == "__main__":
    try:
        check(sys.argv[1])
    except Broken as broken:
        sys.exit(f"clients: BROKEN: {broken}")
