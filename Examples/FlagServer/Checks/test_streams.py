#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that the checks of streams.py can fail, and that they pass what is right."""

import json
import unittest

from streams import Broken, Stream


def event(kind, **data):
    return f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode()


def flag(version, dropped=0, rollout=None):
    return {"name": "f", "enabled": True, "rollout": version if rollout is None else rollout, "version": version, "dropped": dropped}


def change(version, dropped=0):
    return event("change", **flag(version, dropped))


def state(version, dropped=0):
    return event("state", flags=[flag(version, dropped)])


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
        stream = self.read(b":\n\n", state(3), change(4), change(7, dropped=2), event("end"))
        self.assertTrue(stream.ended)
        self.assertFalse(stream.has_received({"f": flag(8)}))
        self.assertTrue(stream.has_received({"f": flag(7)}))
        stream.check({"f": flag(7)})

    def test_what_was_dropped_before_the_state(self):
        self.read(state(3, dropped=1), change(5, dropped=2)).check({"f": flag(5)})

    def test_the_order_of_events(self):
        self.broken("before the state", change(1))
        self.broken("second state", state(1), state(1))
        self.broken("after the end", state(1), event("end"), change(2))

    def test_versions(self):
        self.broken("from version 2 to 2", state(1), change(2), change(2))
        self.broken("from version 2 to 1", state(1), change(2), change(1))

    def test_losses(self):
        self.broken("1 lost, 0 counted", state(1), change(3))
        for wrong in [flag(3, rollout=9), flag(4)]:
            with self.assertRaisesRegex(Broken, "ends as"):
                self.read(state(1), change(2), change(3)).check({"f": wrong})
        with self.assertRaisesRegex(Broken, "0 lost, 1 counted"):
            self.read(state(1), change(2, dropped=1)).check({"f": flag(2)})


if __name__ == "__main__":
    unittest.main()
