#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks a FlagServer to end while a client keeps a connection open, and checks that it does, whatever the client does: shutdown.py SERVER.

Exit codes: 0 all holds, 1 something does not.
"""

import re
import signal
import socket
import subprocess
import sys
import tempfile
import time

from members import Process, ServerWithFlagd, eventually
from streams import Broken

LIMIT = 5  # seconds, of each port
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


def frame(kind, flags, stream, payload):
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


def sync_flags():
    """A call of SyncFlags, in HTTP/2: the settings, the headers, and a message without members."""
    fields = {":method": "POST", ":scheme": "http", ":path": "/flagd.sync.v1.FlagSyncService/SyncFlags", ":authority": "x",
              "te": "trailers", "content-type": "application/grpc"}
    headers = b"".join(bytes([0, len(name)]) + name.encode() + bytes([len(value)]) + value.encode() for name, value in fields.items())
    return PREFACE + frame(4, 0, 0, b"") + frame(1, 4, 1, headers) + frame(0, 1, 1, bytes(5))


def clients():
    """Yields for each client: its description, the bytes that it sends, whether to flagd's port, and how many changes it does not read."""
    for path in ["/events", "/provider/events"]:
        yield f"a client of {path} that does not read", f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(), False, 20_000
    yield "a client of SyncFlags that does not read", sync_flags(), True, 2_000
    yield "half a body", b"PUT /flags/dark-mode HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50\r\n\r\n{", False, 0
    yield "half a head", b"PUT /flags/dark", False, 0
    yield "nothing", b"", False, 0
    yield "HTTP/2 without a call", PREFACE + frame(4, 0, 0, b""), True, 0
    yield "nothing to flagd's port", b"", True, 0


def check_shutdown(program, folder, name, text, flagd, changes):
    server = ServerWithFlagd(program, folder)
    try:
        client = server.connect(text, flagd)
        time.sleep(0.3)
        server.change(changes)
        begun = time.monotonic()
        server.send(signal.SIGTERM)
        try:
            status = server.process.wait(4 * LIMIT)
        except subprocess.TimeoutExpired:
            raise Broken(f"{name}: the server does not end") from None
        if status != 0:
            raise Broken(f"{name}: the server exits with {status}:\n{server.log.read_text()}")
        print(f"shutdown: {name}: {time.monotonic() - begun:.1f} s")
        client.close()
    finally:
        server.kill()


def check_ports(program, folder):
    """A port that is in use is named; a host may be a name."""
    ServerWithFlagd(program, folder, host="localhost").kill()
    free = Process("server", folder)
    free.launch([program, "--host", "::1", "--port", "0", "--flagd-port", "0"])
    try:
        eventually("both ports are logged", lambda: re.search(r"flagd's protocol at ::1:[1-9]", free.log.read_text())
                   and re.search(r"listening on ::1:[1-9]", free.log.read_text()))
    finally:
        free.kill()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for options in [["--port", str(port)], ["--port", "0", "--flagd-port", str(port)]]:
            ended = subprocess.run([program, *options], capture_output=True, text=True, timeout=60)
            if ended.returncode == 0 or f"cannot listen at 127.0.0.1:{port}: " not in ended.stderr or "in use" not in ended.stderr:
                raise Broken(f"{options} with the port in use: exit {ended.returncode}, {ended.stderr}")


def check(program):
    with tempfile.TemporaryDirectory() as folder:
        for client in clients():
            check_shutdown(program, folder, *client)
        check_ports(program, folder)


if __name__ == "__main__":
    try:
        check(sys.argv[1])
    except Broken as broken:
        sys.exit(f"shutdown: BROKEN: {broken}")
