#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""OpenFeature's Python provider for flagd as a client of a FlagServer: provider.py SERVER COUNT.

Changes flags COUNT times, every other time several as one commit, and checks that the provider receives every commit, in order and whole,
and evaluates each as the rules of OpenFeature say. Needs openfeature-provider-flagd. Exit codes: 0 all holds, 1 something does not.
"""

import json
import logging
import signal
import sys
import tempfile
import threading
import time

from openfeature import api
from openfeature.contrib.provider.flagd import FlagdProvider
from openfeature.contrib.provider.flagd.config import ResolverType
from openfeature.evaluation_context import EvaluationContext
from openfeature.event import ProviderEvent

from members import Process, eventually, free_ports, request

# It warns of every user without a key.
logging.getLogger("openfeature.contrib").setLevel(logging.CRITICAL)

FLAGS = ["new-checkout", "search-suggestions", "dark-mode", "bulk-export", "maintenance"]


def patch(url, flags):
    status, text = request("PATCH", f"{url}/flags", flags)
    assert status == 200, text
    return json.loads(text)


class Listener(FlagdProvider):
    """The provider, and what it has received. Its own thread records it, in order: the SDK runs handlers on several."""

    def __init__(self, port):
        self.states = []  # (version, changed flags, values by name) of each configuration
        self.changed = threading.Condition()
        super().__init__(host="127.0.0.1", port=port, resolver_type=ResolverType.IN_PROCESS, deadline_ms=60_000, retry_grace_period=2,
                         retry_backoff_ms=200, retry_backoff_max_ms=200)

    def emit_provider_configuration_changed(self, details):
        values = {name: self.resolve_boolean_details(name, None).value for name in [*FLAGS, "checkout-open"]}
        with self.changed:
            self.states.append((details.metadata["version"], sorted(details.flags_changed), values))
            self.changed.notify_all()
        super().emit_provider_configuration_changed(details)

    def wait_for(self, version, seconds=60):
        with self.changed:
            reached = lambda: self.states and self.states[-1][0] >= version
            assert self.changed.wait_for(reached, seconds), f"version {version} has not come, the last is {self.states[-1:]}"


class Events:
    """The events that the SDK has handed to a handler."""

    def __init__(self, client, *kinds):
        self.seen = []
        self.changed = threading.Condition()
        for kind in kinds:
            client.add_handler(kind, lambda details, kind=kind: self.add(kind))

    def add(self, kind):
        with self.changed:
            self.seen.append(kind)
            self.changed.notify_all()

    def wait_for(self, kind, count=1, seconds=60):
        """Waits until so many of a kind have come since the last that was waited for."""
        with self.changed:
            assert self.changed.wait_for(lambda: self.seen.count(kind) >= count, seconds), f"no {kind}: {self.seen}"
            del self.seen[: self.seen.index(kind) + 1]


class FlagdServer(Process):
    """A FlagServer with flagd's protocol, on the same ports however often it starts."""

    def __init__(self, program, folder):
        super().__init__("server", folder)
        ports = free_ports(2)
        self.command = [program, "--port", str(ports[0]), "--flagd-port", str(ports[1])]
        self.flagd_port, self.url = ports[1], f"http://127.0.0.1:{ports[0]}"

    def start(self):
        self.launch(self.command)
        eventually("the server answers", lambda: request("GET", f"{self.url}/flags")[0] == 200)


def values_of(listing):
    flags = {flag["name"]: flag["enabled"] and flag["rollout"] == 100 for flag in listing["flags"]}
    return flags | {flag["name"]: flag["enabled"] for flag in listing["derived"]}


def check_changes(url, provider, count):
    """Every commit, in order, whole; as fast as the server answers."""
    expected = []
    for number in range(count):
        flags = {FLAGS[number % 5]: {"enabled": number // 5 % 2 == 0}}
        if number % 2 == 0:
            flags |= {"new-checkout": {"enabled": number % 4 == 0}, "maintenance": {"enabled": number % 8 != 0}}
        listing = patch(url, flags)
        expected.append((listing["version"], values_of(listing)))
    provider.wait_for(expected[-1][0])
    received = {version: values for version, _, values in provider.states}
    versions = [version for version, _, _ in provider.states]
    wrong = [pair for pair in zip(versions, versions[1:]) if pair[1] != pair[0] + 1]
    assert not wrong, f"not every commit once and in order: {wrong[:5]} of {len(versions)}"
    for version, values in expected:
        assert received[version] == values, f"version {version} is {received[version]}: not {values}"
    for (_, _, before), (version, changed, after) in zip(provider.states, provider.states[1:]):
        differing = sorted(name for name in after if after[name] != before[name])
        assert changed == differing, f"version {version} has changed {differing}, the provider says {changed}"


def evaluate(url, name, body):
    """Returns the server's answer by OpenFeature's protocol for evaluation over HTTP."""
    status, text = request("POST", f"{url}/ofrep/v1/evaluate/flags{name and '/' + name}", body)
    return status, json.loads(text)


def check_evaluation(url, provider, client):
    """Values, variants, reasons and errors are OpenFeature's, and the server's own evaluation comes to the same as the provider's."""
    on = {name: {"enabled": name != "maintenance"} for name in FLAGS}
    provider.wait_for(patch(url, on | {"dark-mode": {"enabled": True, "rollout": 25}})["version"])

    def check(name, default, key, *expected):
        details = client.get_boolean_details(name, default, EvaluationContext(targeting_key=key))
        assert (details.value, details.reason, details.variant) == expected, f"{details}: not {expected}"
        status, answer = evaluate(url, name, {"context": {"targetingKey": key} if key else {}})
        assert (answer["value"], answer["reason"], answer["variant"]) == expected and status == 200, f"{answer}: not {expected}"

    check("bulk-export", False, None, True, "STATIC", "on")
    check("maintenance", True, "user 1", False, "STATIC", "off")
    check("checkout-open", False, None, True, "STATIC", "on")
    # A user without a key is in no share, so the flag is off.
    check("dark-mode", True, None, False, "DEFAULT", "off")
    # A quarter of the users, always the same; of any length.
    users = [f"user {number}" for number in range(500)] + ["u" * length for length in (1, 2, 3, 20, 23, 24, 100, 255, 256, 700)] + ["ü", "日本"]
    share = [client.get_boolean_value("dark-mode", False, EvaluationContext(targeting_key=user)) for user in users]
    assert 90 <= sum(share[:500]) <= 160, f"{sum(share[:500])} of 500 users"
    for user, value in zip(users, share):
        check("dark-mode", False, user, value, "TARGETING_MATCH", "on" if value else "off")

    details = client.get_boolean_details("unknown", True)
    assert (details.value, details.reason, details.error_code) == (True, "ERROR", "FLAG_NOT_FOUND"), details
    details = client.get_string_details("bulk-export", "default")
    assert (details.value, details.reason, details.error_code) == ("default", "ERROR", "TYPE_MISMATCH"), details
    for name, body, *expected in [("unknown", {}, 404, "FLAG_NOT_FOUND"), ("dark-mode", {"context": 1}, 400, "PARSE_ERROR"), ("dark-mode", [], 400, "PARSE_ERROR")]:
        status, answer = evaluate(url, name, body)
        assert [status, answer["errorCode"]] == expected and answer["key"] == name and answer["errorDetails"], f"{answer}: not {expected}"
    status, answer = evaluate(url, "", {})
    assert status == 200 and sorted(flag["key"] for flag in answer["flags"]) == sorted([*FLAGS, "checkout-open"]), answer


def check_outage(server, provider, client, events):
    """A server that is killed and started again: the provider keeps the last values meanwhile."""
    value = client.get_boolean_value("bulk-export", False)
    server.kill()
    events.wait_for(ProviderEvent.PROVIDER_STALE)
    events.wait_for(ProviderEvent.PROVIDER_ERROR)
    assert client.get_boolean_value("bulk-export", not value) == value, "the provider has lost its flags"
    # Attached late: it runs at once, since the provider is in this state.
    late = Events(client, ProviderEvent.PROVIDER_ERROR, ProviderEvent.PROVIDER_STALE)
    eventually("a late handler runs", lambda: late.seen)
    count = len(provider.states)
    server.start()
    events.wait_for(ProviderEvent.PROVIDER_READY)
    version, _, values = provider.states[count]
    assert version == 0 and not any(values.values()), f"the new server's flags are {values}"


def check(program, count, folder):
    server, client = FlagdServer(program, folder), api.get_client()
    try:
        server.start()
        changes = Events(client, ProviderEvent.PROVIDER_CONFIGURATION_CHANGED)
        provider = Listener(server.flagd_port)
        api.set_provider_and_wait(provider)
        # Attached late: it runs at once if the provider is ready.
        events = Events(client, ProviderEvent.PROVIDER_READY, ProviderEvent.PROVIDER_STALE, ProviderEvent.PROVIDER_ERROR)
        events.wait_for(ProviderEvent.PROVIDER_READY, seconds=5)
        begun = time.monotonic()
        check_changes(server.url, provider, count)
        seconds = time.monotonic() - begun
        check_evaluation(server.url, provider, client)
        changes.wait_for(ProviderEvent.PROVIDER_CONFIGURATION_CHANGED, len(provider.states))
        check_outage(server, provider, client, events)
        api.shutdown()
        server.send(signal.SIGTERM)
        assert server.process.wait(60) == 0, "the server does not end as it should"
    except BaseException:
        print("".join(server.log.read_text().splitlines(True)[-10:]), file=sys.stderr)
        raise
    finally:
        server.kill()
    print(f"provider: {count} commits in {seconds:.1f} s, each received once, whole and in order; READY, STALE, ERROR, READY; values as they should be")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        check(sys.argv[1], int(sys.argv[2]), folder)
