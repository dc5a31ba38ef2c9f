#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks how a FlagServer answers three kinds of clients: clients.py SERVER. One falls behind, one comes before the flags, and one sends requests
with mistakes.

Exit codes: 0 all holds, 1 something does not.
"""

import json
import socket
import subprocess
import sys
import tempfile
import time

from members import ServerWithFlagd, ask, eventually, free_ports, request
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
    """Returns the bytes that a server sends until it has sent `end`, or has closed the connection."""
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
    for path in ["/", "/flags", "/flags/dark-mode", "/source", "/metrics", "/readyz", "/flags/absent", "/absent"]:
        end = b"\r\n\r\n"
        with server.connect(b"HEAD %s HTTP/1.1\r\nHost: localhost\r\n\r\nGET /nowhere HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode()) as client:
            head, _, rest = answer(client, b"nothing is at GET").partition(end)
        with server.connect(b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path.encode()) as client:
            expected = answer(client, end).partition(end)[0]

        def without_date(text):
            return [line for line in text.splitlines() if not line.lower().startswith((b"date:", b"content-length:", b"transfer-encoding:"))]

        must(without_date(head) == without_date(expected), f"HEAD {path} is answered {head}, GET {expected}")
        must(rest.startswith(b"HTTP/1.1 404"), f"HEAD {path} is followed by {rest}")
    metrics = request("GET", f"{server.url}/metrics")[1].splitlines()
    active = [line for line in metrics if line.startswith("http_server_active_requests") and "HEAD" in line]
    must(active and all(line.endswith(" 0.0") for line in active), f"HEAD goes on: {active}")


def raw(server, text):
    """The first line of the answer to this."""
    with server.connect(text) as client:
        return answer(client, b"\r\n\r\n").partition(b"\r\n")[0].decode()


def check_requests(server):
    """A request is refused if it is malformed, is meant for another server, or comes from a page elsewhere."""
    get, put = b"GET /flags HTTP/1.1\r\n", b"PUT /flags/dark-mode HTTP/1.1\r\nContent-Length: 16\r\n"
    body, host = b'{"enabled":true}', b"Host: 127.0.0.1:%d\r\n" % server.port
    for text, status in [(get + b"\r\n", 400), (get + host + host + b"\r\n", 400), (get + host + b"Host: evil.test\r\n\r\n", 400),
                         (get + b"Host: evil.test\r\n\r\n", 421), (get + b"Host: LOCALHOST:1\r\n\r\n", 200), (get + b"Host: [::1]:80\r\n\r\n", 200),
                         (put + b"Host: evil.test\r\n\r\n" + body, 421), (put + host + b"Origin: http://evil.test\r\n\r\n" + body, 403),
                         (put + host + b"Origin: null\r\n\r\n" + body, 403),
                         (put + host + b"Origin: http://127.0.0.1:%d\r\n\r\n" % server.port + body, 200)]:
        got = raw(server, text)
        must(got.split()[1:2] == [str(status)], f"{text} is answered {got}: not {status}")
    for method, path, allowed in [("DELETE", "/flags/dark-mode", "GET, HEAD, PUT"), ("POST", "/flags", "GET, HEAD, PATCH"), ("POST", "/events", "GET, HEAD"),
                                  ("GET", "/ofrep/v1/evaluate/flags/dark-mode", "POST")]:
        status, text, headers = ask(method, server.url + path)
        must((status, headers["Allow"]) == (405, allowed), f"{method} {path} is answered {status}, {headers['Allow']}: {text}")
    got = raw(server, b"HEAD /events HTTP/1.1\r\n" + host + b"\r\n")
    must(got.split()[1:2] == ["200"], f"HEAD /events is answered {got}")
    headers = ask("GET", f"{server.url}/")[2]
    policy = headers["Content-Security-Policy"]
    must("frame-ancestors 'none'" in policy and "unsafe" not in policy and headers["X-Content-Type-Options"] == "nosniff", f"the page's headers: {headers}")


def check_tags(server):
    """A writer says what it has read: it changes nothing if that is not there any more."""
    def put(tag, rollout):
        return ask("PUT", f"{server.url}/flags/bulk-export", {"enabled": True, "rollout": rollout}, {"If-Match": tag})

    _, _, headers = ask("GET", f"{server.url}/flags/bulk-export")
    status, _, after = put(headers["ETag"], 1)
    must(status == 200 and after["ETag"] != headers["ETag"], f"a writer that is up to date is answered {status}")
    for tag, expected in [(headers["ETag"], 412), ('"another:1"', 412), ("W/" + after["ETag"], 412), (f'{headers["ETag"]}, {after["ETag"]}', 200), ("*", 200)]:
        status, text, _ = put(tag, 2)
        must(status == expected, f"If-Match {tag} is answered {status}: {text}")
    tag = ask("GET", f"{server.url}/flags")[2]["ETag"]
    for expected in (200, 412):
        status, text, _ = ask("PATCH", f"{server.url}/flags", {"bulk-export": {"enabled": False}, "dark-mode": {"enabled": False}}, {"If-Match": tag})
        must(status == expected, f"a PATCH with If-Match {tag} is answered {status}: {text}")
    for path in ["/flags", "/flags/dark-mode"]:
        tag = ask("GET", server.url + path)[2]["ETag"]
        for known, expected in [(tag, 304), ("W/" + tag, 304), (f'"another:1", {tag}', 304), ('"another:1"', 200), ("1", 200), ("*", 200)]:
            status, text, headers = ask("GET", server.url + path, headers={"If-None-Match": known})
            must((status, headers["ETag"], bool(text)) == (expected, tag, expected == 200), f"GET {path} with If-None-Match {known} is answered {status}: {text}")


def events(server, count, *headers):
    """The first events of a stream, as they are sent."""
    head = b"GET /events HTTP/1.1\r\nHost: localhost\r\n%s\r\n" % b"".join(b"%s\r\n" % line for line in headers)
    with server.connect(head) as client:
        client.settimeout(20)
        received = b""
        while received.count(b"\n\n") < count and (data := client.recv(65_536)):
            received += data
    # Each comes as a chunk of its own.
    return [part.split(b"\r\n")[-1] for part in received.split(b"\r\n\r\n", 1)[1].split(b"\n\n")[:count]]


def check_resumption(server):
    """A client that comes again receives what it has missed, and not everything."""
    [state] = events(server, 1)
    must(b"event: state" in state, f"a stream begins with {state}")
    last = state.rpartition(b"id: ")[2]
    [nothing] = events(server, 1, b"Last-Event-ID: " + last)
    must(nothing == b":", f"a client that has everything receives {nothing}")
    request("PUT", f"{server.url}/flags/search-suggestions", {"enabled": True})
    [missed] = events(server, 1, b"Last-Event-ID: " + last)
    must(b"event: change" in missed and missed.count(b'"rollout"') == 1 and b"search-suggestions" in missed, f"it has missed one change, and receives {missed}")
    for other in (b"another:1", b"1", b""):
        [state] = events(server, 1, b"Last-Event-ID: " + other)
        must(b"event: state" in state, f"a client of another server receives {state}")
    # No other server has this count of versions.
    series, _, version = last.rpartition(b":")
    [state] = events(server, 1, b"Last-Event-ID: %s:%d" % (series, int(version) + 1_000))
    must(b"event: state" in state, f"a client from the future receives {state}")


def check_metrics(server):
    """Prometheus's text format: each name below its type, and histograms whose buckets add up."""
    text = request("GET", f"{server.url}/metrics")[1]
    kinds, buckets = {}, {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split()
            must(name not in kinds, f"the type of {name} comes twice")
            kinds[name] = kind
            continue
        measure, value = line.rsplit(" ", 1)
        name, _, labels = measure.partition("{")
        family = name if name in kinds else name.rsplit("_", 1)[0]
        must(family in kinds, f"{line} has no type")
        if kinds[family] == "histogram" and name.endswith("_bucket"):
            rest, _, bound = labels.rpartition('le="')
            buckets.setdefault((family, rest.rstrip(",")), []).append((float(bound.rstrip('"}')), float(value)))
        elif kinds[family] == "histogram" and name.endswith("_count"):
            known = buckets[family, labels.rstrip("}")]
            must(known == sorted(known) and sorted(n for _, n in known) == [n for _, n in known], f"{measure}: the buckets are {known}")
            must(known[-1] == (float("inf"), float(value)), f"{measure} is {value}, the last bucket {known[-1]}")
    for name, kind in [("flag_changes_total", "counter"), ("flag_streams_open", "gauge"), ("flag_change_duration_seconds", "histogram"),
                       ("http_server_request_duration", "histogram"), ("concurrent_observe_observers", "gauge")]:
        must(kinds.get(name) == kind, f"{name} is {kinds.get(name)}: not a {kind}")


def check_token(program, folder):
    """On an address that others reach, no client changes a flag without the token. It logs JSON, as the environment says, and its file the token."""
    token, settings = f"{folder}/token", f"{folder}/settings.json"
    with open(token, "w") as file:
        file.write("a token of the checks\n")
    with open(settings, "w") as file:
        json.dump({"write": {"token": {"file": token}}, "stale": {"limit": 7}}, file)
    for options, right in [([], 403), (["--write-token-file", token], 200), (["--config", settings], 200)]:
        server = ServerWithFlagd(program, folder, host="0.0.0.0", options=options, before=["env", "FLAGSERVER_LOG_FORMAT=json"])
        try:
            path, body = f"http://127.0.0.1:{server.port}/flags/dark-mode", {"enabled": True}
            for headers, expected in [({}, 401), ({"Authorization": "Bearer a token of the check"}, 401), ({"Authorization": "Bearer a token of the checks"}, right)]:
                status, text, answered = ask("PUT", path, body, headers)
                must(status == (expected if options else 403), f"with {options} and {headers} a PUT is answered {status}: {text}")
                must(status != 401 or answered["WWW-Authenticate"] == "Bearer", "401 without a challenge")
            must(request("GET", path)[0] == 200, "reading needs a token")
        finally:
            server.kill()
    ended = [subprocess.run([program, *options], capture_output=True, text=True, timeout=60)
             for options in (["--write-token-file", "/nowhere"], ["--config", token], ["--idle-limit", "0"], ["--log-level", "loud"], ["--etcd-user", "x"])]
    for one in ended:
        must(one.returncode == 64, f"{one.args} exits with {one.returncode}: {one.stderr}")


def check_continue(server):
    """A client that asks before it sends the body is asked for it, after the answers to what it has asked before."""
    body = b'{"enabled":true}'
    head = b"PUT /flags/dark-mode HTTP/1.1\r\nHost: localhost\r\nExpect: 100-Continue\r\nContent-Length: %d\r\n\r\n" % len(body)
    with server.connect(head) as client:
        got = answer(client, b"\r\n\r\n")
        must(got == b"HTTP/1.1 100 Continue\r\n\r\n", f"a client that waits for it receives {got}")
        client.sendall(body + b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20 + head)
        got = answer(client, b"100 Continue\r\n\r\n")
        must(got.count(b"HTTP/1.1 200 OK\r\n") == 21 and got.endswith(b"HTTP/1.1 100 Continue\r\n\r\n"), f"the second time it receives {got[-200:]}")
        client.sendall(body)
        must(b'"name":"dark-mode"' in answer(client, b"}"), "the second body is not taken")


def check_upgrade(server):
    """A client that asks for another protocol is answered, and its connection ends: what it goes on to send is not kept."""
    before = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
    for head, body in [(b"CONNECT x:1 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"nothing is at CONNECT"),
                       (b"GET /flags HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n\r\n", b'"flags"')]:
        with server.connect(before + head) as client:
            got = answer(client, b"the end of the connection").partition(b"HTTP/1.1 ")[2].partition(b"HTTP/1.1 ")
            must(got[0].startswith(b"200") and b"Connection: close" in got[2] and body in got[2], f"{head} is answered {got}")
    memory = server.memory()
    with server.connect(b"GET /events HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n") as client:
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
            client.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n" * 2_000)
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
        stream = server.connect(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
        sync = FlagdClient(server)
        answer(stream, b"event: state"), sync.wait_for(b"metadata")
        idle = [server.connect(), server.connect(b"GET /flags HTTP/1.1\r\nHost: localhost\r\n\r\n"), server.connect(b"PUT /flags/dark"),
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
        for path in ["/flags", "/flags/dark-mode"]:
            status, answer, headers = ask("GET", server.url + path)
            must(status == 503 and "no flags from etcd yet" in answer and headers["Retry-After"], f"GET {path} is answered {status}: {answer}")
        must(request("GET", f"{server.url}/readyz")[0] == 503, "a server without flags says that it is ready")
        [waiting] = events(server, 1)
        must(b"event: waiting" in waiting and b'"source":"etcd"' in waiting, f"a stream begins with {waiting}")
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
            check_requests(server)
            check_tags(server)
            check_resumption(server)
            check_metrics(server)
            check_head(server)
            check_continue(server)
            check_upgrade(server)
            check_pipelining(server)
        finally:
            server.kill()
        check_token(program, folder)
        check_before_flags(program, folder)
        check_idle(program, folder)
        check_descriptors(program, folder)


if __name__ == "__main__":
    try:
        check(sys.argv[1])
    except Broken as broken:
        sys.exit(f"clients: BROKEN: {broken}")
