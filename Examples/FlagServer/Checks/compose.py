#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the servers of compose.yaml without a container engine: etcd and two processes, with the variables and the arguments that the file and
the Dockerfile give them. Only names, ports and paths are this machine's: compose.py SERVER.

This does not show that the images can be pulled and built, nor the network between containers.

Exit codes: 0 all holds, 1 something does not.
"""

import json
import re
import socket
import sys
import tempfile
from pathlib import Path

from members import Process, ask, eventually, free_ports, make_members, request
from streams import Broken

HERE = Path(__file__).parent.parent


def check(program):
    compose = (HERE / "compose.yaml").read_text()
    variables = dict(re.findall(r'^    (FLAGSERVER_\w+): "?([^"\n]+)"?$', compose, re.MULTILINE))
    arguments = json.loads(re.search(r"^ENTRYPOINT (.*)$", (HERE / "Dockerfile").read_text(), re.MULTILINE).group(1))
    processes = []
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        try:
            [etcd] = processes = make_members(1, folder)
            etcd.start()
            eventually("etcd answers", lambda: etcd.flags() == {})
            token = Path(folder) / "write-token"
            token.write_text("a token of the checks\n")
            here = {"http://etcd:2379": etcd.url, "/run/secrets/write-token": str(token)}
            for name in re.findall(r"^  (server\d):$", compose, re.MULTILINE):
                port, flagd = free_ports(2)
                given = [f"{key}={(here | {'8015': flagd}).get(value, value)}" for key, value in variables.items()]
                server = Process(name, folder)
                processes.append(server)
                server.launch(["env", *given, f"FLAGSERVER_PORT={port}", program, *arguments[1:]])
                url = f"http://127.0.0.1:{port}"
                eventually(f"{name} is ready", lambda: request("GET", f"{url}/readyz")[0] == 200)
                for headers, expected in [({}, 401), ({"Authorization": "Bearer a token of the checks"}, 200)]:
                    status, text, _ = ask("PUT", f"{url}/flags/dark-mode", {"enabled": True}, headers)
                    if status != expected:
                        raise Broken(f"{name} answers a PUT with {headers} {status}: {text}")
                socket.create_connection(("127.0.0.1", flagd)).close()
                for line in server.log.read_text().splitlines():
                    json.loads(line)
            if etcd.flags()["dark-mode"]["enabled"] is not True or len(processes) != 3:
                raise Broken(f"{len(processes) - 1} servers of compose.yaml leave {etcd.flags()} in etcd")
        finally:
            for process in processes:
                process.kill()
    print("compose: the servers of compose.yaml run with what it gives them; no container engine was asked")


if __name__ == "__main__":
    try:
        check(sys.argv[1])
    except Broken as broken:
        sys.exit(f"compose: BROKEN: {broken}")
