#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that the checks of streams.py can fail, and that they pass what is right."""

import json
import unittest

from streams import Broken, ProviderStream, Stream


def event(kind, **data):
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()


def flag(version, rollout=None):
    return {"name": "f", "enabled": True, "rollout": version if rollout is None else rollout, "version": version}


def change(version, dropped=0, flags=None, enabled=False):
    flags = [flag(version)] if flags is None else flags
    return event("change", version=version, dropped=dropped, flags=flags, derived=[{"name": "d", "enabled": enabled}])


def listing(version, rollout=None, enabled=False):
    return {"version": version, "flags": [flag(version, rollout)], "derived": [{"name": "d", "enabled": enabled}]}


def state(version, dropped=0):
    return event("state", dropped=dropped, **listing(version))


class StreamTests(unittest.TestCase):
    def read(self, *events):
        stream = Stream("test")
        for piece in b"".join(events).splitlines(keepends=True):
            stream.accept(piece)
        return stream

    def broken(self, text, *events):
        with self.assertRaisesRegex(Broken, text):
            self.read(*events)

    def test_what_is_right(self):
        stream = self.read(b":\n\n", state(3), change(4), change(7, dropped=2, enabled=True), event("end"))
        self.assertTrue(stream.ended)
        self.assertFalse(stream.has_received(listing(8, enabled=True)))
        self.assertFalse(stream.has_received(listing(7)))
        self.assertTrue(stream.has_received(listing(7, enabled=True)))
        stream.check(listing(7))

    def test_what_was_dropped_before_the_state(self):
        self.read(state(3, dropped=1), change(5, dropped=2)).check(listing(5))

    def test_the_order_of_events(self):
        self.broken("before the state", change(1))
        self.broken("second state", state(1), state(1))
        self.broken("after the end", state(1), event("end"), change(2))

    def test_versions(self):
        self.broken("from version 2 to 2", state(1), change(2), change(2))
        self.broken("from version 2 to 1", state(1), change(2), change(1))
        self.broken("f is of version 1", state(1), change(2, flags=[flag(1), flag(2)]))
        self.broken("version 2 has changed nothing", state(1), change(2, flags=[]))
        # One commit's changes arrive in two events.
        self.broken("from version 2 to 2", state(1), change(2), change(2, flags=[dict(flag(2), name="g")]))

    def test_derived(self):
        def checkout(version, new, maintenance, open):
            flags = [dict(flag(version), name=name, enabled=enabled) for name, enabled in [("new-checkout", new), ("maintenance", maintenance)]]
            return dict(version=version, dropped=0, flags=flags, derived=[{"name": "checkout-open", "enabled": open}])

        begin = event("state", **checkout(1, True, True, False))
        self.read(begin, event("change", **checkout(2, True, False, True)), event("change", **checkout(3, False, False, False)))
        self.broken("flags contradict", event("state", **checkout(1, True, False, False)))
        self.broken("flags contradict", begin, event("change", **checkout(2, True, False, False)))
        self.broken("unknown kind", begin, event("derived", name="checkout-open", enabled=True))

    def test_losses(self):
        self.broken("1 lost, 0 counted", state(1), change(3))
        for wrong in [listing(3, rollout=9), listing(4)]:
            with self.assertRaisesRegex(Broken, "ends as"):
                self.read(state(1), change(2), change(3)).check(wrong)
        with self.assertRaisesRegex(Broken, "0 lost, 1 counted"):
            self.read(state(1), change(2, dropped=1)).check(listing(2))

    def test_providers(self):
        def read(*kinds):
            stream = ProviderStream.__new__(ProviderStream)
            Stream.__init__(stream, "test")
            stream.states = []
            for kind in kinds:
                if isinstance(kind, str):
                    stream.accept(event(f"PROVIDER_{kind}"))
                    continue
                version, dropped = kind if isinstance(kind, tuple) else (kind, 0)
                stream.accept(event("PROVIDER_CONFIGURATION_CHANGED", version=version, flagsChanged=["f"], dropped=dropped))
            return stream

        stream = read("READY", 4, 5, "STALE", "READY", 6)
        self.assertEqual((stream.states, stream.version), (["READY", "STALE", "READY"], 6))
        self.assertEqual(read("READY", 4, (7, 2), (8, 2)).dropped, 2)
        for kinds in [("READY", 4, 6), ("READY", 4, 4), (4,), ("READY", 4, (7, 1)), ("READY", 4, (5, 1)), ("READY", (4, 1), (6, 1))]:
            with self.assertRaises(Broken):
                read(*kinds)


if __name__ == "__main__":
    unittest.main()
