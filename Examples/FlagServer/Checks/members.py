#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The processes of a fleet: members of etcd, and servers on it."""

import base64
import json
import os
import random
import re
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path

from streams import Broken

TICKS = os.sysconf("SC_CLK_TCK")


def free_ports(count):
    """All at once, so that they differ. Below what the system gives to outgoing connections: one of those could take the port of a server that
    is down for a moment."""
    sockets = []
    while len(sockets) < count:
        one = socket.socket()
        try:
            one.bind(("127.0.0.1", random.randrange(10_000, 32_000)))
            sockets.append(one)
        except OSError:
            one.close()
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def request(method, url, body=None, seconds=30):
    """The status and the text of an answer."""
    return ask(method, url, body, seconds=seconds)[:2]


def ask(method, url, body=None, headers={}, seconds=30):
    """The status, the text and the headers of an answer."""
    asked = urllib.request.Request(url, None if body is None else json.dumps(body).encode(), headers, method=method)
    try:
        with urllib.request.urlopen(asked, timeout=seconds) as answer:
            return answer.status, answer.read().decode(), answer.headers
    except urllib.error.HTTPError as answer:
        return answer.code, answer.read().decode(), answer.headers


def fetch(url, headers={}):
    status, text, _ = ask("GET", url, headers=headers)
    if status != 200:
        raise Broken(f"GET {url} is answered {status}: {text}")
    return json.loads(text)


def eventually(text, condition, seconds=30, meanwhile=lambda: time.sleep(0.05)):
    """Waits until something is so, and returns how long that took."""
    begun = time.monotonic()
    while True:
        try:
            if condition():
                return time.monotonic() - begun
        except OSError:
            pass
        if time.monotonic() - begun > seconds:
            raise Broken(f"not within {seconds} s: {text}")
        meanwhile()


def metric(url, name):
    text = request("GET", f"{url}/metrics")[1]
    found = re.search(rf"^{name} (\S+)$", text, re.MULTILINE)
    return int(float(found.group(1))) if found else 0


class Process:
    def __init__(self, name, folder):
        self.name, self.log, self.process = name, Path(folder) / f"{name}.log", None

    def launch(self, command):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def send(self, number):
        self.process.send_signal(number)

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    def memory(self):
        """Resident, in MiB."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(r"VmRSS:\s+(\d+)", status)
        if not found:
            # A process that has ended has no memory.
            raise Broken(f"{self.name} has ended: exit {self.process.wait()}")
        return int(found.group(1)) / 1024

    def processor_seconds(self):
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


class Member(Process):
    """One of etcd's servers. Its data outlive its process."""

    def __init__(self, number, folder, ports, cluster):
        super().__init__(f"etcd{number}", folder)
        self.url, peer = (f"http://127.0.0.1:{port}" for port in ports)
        self.command = ["etcd", "--name", self.name, "--data-dir", f"{folder}/{self.name}", "--log-level", "error",
                        "--listen-client-urls", self.url, "--advertise-client-urls", self.url, "--listen-peer-urls", peer,
                        "--initial-advertise-peer-urls", peer, "--initial-cluster", cluster]

    def start(self):
        self.launch(self.command)

    def call(self, path, **body):
        status, text = request("POST", f"{self.url}/v3/{path}", body, seconds=5)
        if status != 200:
            raise ConnectionError(f"{self.name} answers {path} with {status}: {text}")
        return json.loads(text)

    def put(self, key, value):
        """Returns the revision."""
        return int(self.call("kv/put", key=encoded(key), value=encoded(value))["header"]["revision"])

    def is_leader(self):
        status = self.call("maintenance/status")
        return status.get("leader") == status["header"]["member_id"]

    def watches(self):
        """How many servers follow this member: each draws its own."""
        return metric(self.url, "etcd_debugging_mvcc_watcher_total")

    def read(self, revision=0):
        """The flags as a range read of a revision has them, with the revision of each."""
        answer = self.call("kv/range", key=encoded("/flags/"), range_end=encoded("/flags0"), revision=revision)
        for pair in answer.get("kvs", []):
            key, value = (base64.b64decode(pair[part]).decode() for part in ("key", "value"))
            yield key.removeprefix("/flags/"), json.loads(value), int(pair["mod_revision"])

    def flags(self):
        """The flags as they are now, by name."""
        return {name: flag for name, flag, _ in self.read()}

    def change(self, version):
        """Returns the flags that a version has changed, in the form of the streams. The version is etcd's revision."""
        return [{"name": name, **flag, "version": version} for name, flag, revision in self.read(version) if revision == version]


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def make_members(count, folder):
    ports = free_ports(2 * count)
    cluster = ",".join(f"etcd{n}=http://127.0.0.1:{ports[2 * n + 1]}" for n in range(count))
    return [Member(number, folder, ports[2 * number : 2 * number + 2], cluster) for number in range(count)]


class Server(Process):
    """One FlagServer, on a free port."""

    def __init__(self, number, folder, program, members):
        super().__init__(f"server{number}", folder)
        self.launch([program, "--port", "0", "--stale-limit", "10", *(word for member in members for word in ("--etcd", member.url))])
        self.url = self.address = None

    def wait_until_listening(self):
        def listening():
            if self.process.poll() is not None:
                raise Broken(f"{self.name} exits with {self.process.returncode}")
            return re.search(r"listening on 127\.0\.0\.1:(\d+)", self.log.read_text())

        eventually(f"{self.name} listens", listening)
        self.address = "127.0.0.1", int(listening().group(1))
        self.url = f"http://127.0.0.1:{self.address[1]}"

    def state(self):
        return fetch(f"{self.url}/source")["state"]

    def is_ready(self):
        return self.state() == "ready"

    def flags(self):
        """Lists the flags of the server, although etcd may not confirm them, in the form of a range read of etcd."""
        listed = fetch(f"{self.url}/flags", {"Cache-Control": "max-stale"})["flags"]
        return {flag["name"]: {"enabled": flag["enabled"], "rollout": flag["rollout"]} for flag in listed if flag["version"] > 0}

    def stop(self):
        self.send(signal.SIGTERM)


class ServerWithFlagd(Process):
    """One FlagServer without etcd, unless the options name one, with a port for flagd's protocol."""

    def __init__(self, program, folder, host="127.0.0.1", options=(), before=()):
        super().__init__("server", folder)
        self.port, self.flagd_port = free_ports(2)
        self.launch([*before, program, "--host", host, "--port", str(self.port), "--flagd-port", str(self.flagd_port), "--log-level", "error", *options])
        # 0.0.0.0 is every address of this machine.
        host = "127.0.0.1" if host == "0.0.0.0" else host
        self.url = f"http://{host}:{self.port}"
        eventually("the server answers", lambda: request("GET", f"{self.url}/livez")[0] == 200)
        eventually("flagd's port answers", lambda: socket.create_connection((host, self.flagd_port)).close() is None)

    def connect(self, text=b"", flagd=False):
        """A client with a small receive buffer, which has sent this and reads nothing."""
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
        client.connect(("127.0.0.1", self.flagd_port if flagd else self.port))
        client.sendall(text)
        return client

    def change(self, count):
        """Changes a flag so often, on one connection, as fast as the answers come."""
        body = b'{"enabled":true}'
        one = b"PUT /flags/dark-mode HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        with socket.create_connection(("127.0.0.1", self.port)) as writer:
            writer.settimeout(30)
            for _ in range(count // 100):
                writer.sendall(one * 100)
                answers = b""
                while answers.count(b"HTTP/1.1 200") < 100:
                    answers += writer.recv(65_536)
