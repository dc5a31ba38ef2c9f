#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Servers on an etcd that asks for certificates and a password, given by the command line, the environment and a file: secured.py SERVER.

Exit codes: 0 all holds, 1 something does not.
"""

import json
import os
import subprocess
import sys
import tempfile

from members import Process, ServerWithFlagd, ask, eventually, free_ports, request
from streams import Broken


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, **options)
    if done.returncode != 0:
        raise Broken(f"{command} exits with {done.returncode}: {done.stderr}")


def make_certificates(folder):
    """An authority, and what it has signed: etcd's certificate and a client's."""
    key = ["openssl", "req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    run(*key, "-x509", "-days", "2", "-subj", "/CN=authority", "-keyout", "ca.key", "-out", "ca.pem", cwd=folder)
    for name, extension in [("server", "subjectAltName=DNS:localhost,IP:127.0.0.1"), ("client", "extendedKeyUsage=clientAuth")]:
        with open(f"{folder}/{name}.ext", "w") as file:
            file.write(extension)
        run(*key, "-subj", f"/CN={name}", "-keyout", f"{name}.key", "-out", f"{name}.csr", cwd=folder)
        run("openssl", "x509", "-req", "-days", "2", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial",
            "-extfile", f"{name}.ext", "-out", f"{name}.pem", cwd=folder)


def start_etcd(folder, url, peer):
    etcd = Process("etcd", folder)
    etcd.launch(["etcd", "--data-dir", f"{folder}/data", "--listen-client-urls", url, "--advertise-client-urls", url, "--listen-peer-urls", peer,
                 "--initial-advertise-peer-urls", peer, "--initial-cluster", f"default={peer}", "--client-cert-auth", "--log-level", "error",
                 "--trusted-ca-file", f"{folder}/ca.pem", "--cert-file", f"{folder}/server.pem", "--key-file", f"{folder}/server.key"])
    control = ["etcdctl", "--endpoints", url, "--cacert", f"{folder}/ca.pem", "--cert", f"{folder}/client.pem", "--key", f"{folder}/client.key"]
    environment = os.environ | {"ETCDCTL_API": "3"}
    eventually("etcd answers", lambda: subprocess.run([*control, "get", "x"], capture_output=True, env=environment).returncode == 0, 60)
    for command in ["user add root:secret", "user grant-role root root", "user add flags:word", "role add flags",
                    "role grant-permission flags --prefix=true readwrite /flags/", "user grant-role flags flags", "auth enable"]:
        run(*control, *command.split(), env=environment)
    return etcd


def check(program):
    with tempfile.TemporaryDirectory() as folder:
        make_certificates(folder)
        client, peer = free_ports(2)
        url = f"https://localhost:{client}"
        etcd = start_etcd(folder, url.replace("localhost", "127.0.0.1"), f"http://127.0.0.1:{peer}")
        files = {part: f"{folder}/{name}" for part, name in [("ca", "ca.pem"), ("certificate", "client.pem"), ("key", "client.key")]}
        settings = f"{folder}/settings.json"
        with open(settings, "w") as file:
            json.dump({"etcd": {"endpoints": [url], "user": "flags", "password": "word", **files}}, file)
        options = [word for part, path in files.items() for word in (f"--etcd-{part}", path)]
        variables = [f"FLAGSERVER_ETCD_{part.upper()}={path}" for part, path in files.items()]
        ways = [("the command line", ["--etcd", url, *options, "--etcd-user", "flags", "--etcd-password", "word"], []),
                ("the environment", [], ["env", f"FLAGSERVER_ETCD_ENDPOINTS={url}", "FLAGSERVER_ETCD_USER=flags", "FLAGSERVER_ETCD_PASSWORD=word", *variables]),
                ("a file", ["--config", settings], [])]
        try:
            for number, (way, given, before) in enumerate(ways):
                server = ServerWithFlagd(program, folder, options=given, before=before)
                try:
                    eventually(f"by {way}: the server is ready", lambda: request("GET", f"{server.url}/readyz")[0] == 200, 60)
                    status, text, headers = ask("PUT", f"{server.url}/flags/dark-mode", {"enabled": True, "rollout": number})
                    if status != 200 or not headers["ETag"].startswith('"etcd:'):
                        raise Broken(f"by {way}: a PUT is answered {status}: {text}")
                finally:
                    server.kill()
            # The command line comes before the file.
            for wrong, code in [(["--etcd-password", "another"], "unauthenticated"), (["--etcd-ca", files["certificate"]], "untrusted")]:
                server = ServerWithFlagd(program, folder, options=["--config", settings, *wrong])
                try:
                    eventually(f"{wrong}: the cause is reported", lambda: code in request("GET", f"{server.url}/source")[1], 60)
                    if request("GET", f"{server.url}/readyz")[0] != 503:
                        raise Broken(f"with {wrong} the server is ready")
                finally:
                    server.kill()
        finally:
            etcd.kill()
    print("secured: certificates and a password, by the command line, the environment and a file; wrong ones are named")


if __name__ == "__main__":
    try:
        check(sys.argv[1])
    except Broken as broken:
        sys.exit(f"secured: BROKEN: {broken}")
