#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that the checks of ledger.py can fail, and that they pass what is right."""

import unittest

from ledger import CHANGES, Ledger, flags_of, number_of
from streams import Broken


FIRST = 2


def commit(version, number):
    """An event of the version so far after the first, by this change."""
    flags = [{"name": name, "version": FIRST + version, **flag} for name, flag in flags_of(number).items()]
    return {"version": FIRST + version, "flags": flags}


class LedgerTests(unittest.TestCase):
    def setUp(self):
        self.ledger = Ledger(20)
        self.ledger.begin = 100

    def receive(self, *commits, after=0.25):
        for one in commits:
            self.ledger.receive(one, 100 + after)

    def broken(self, text, body):
        with self.assertRaisesRegex(Broken, text):
            body()

    def check(self, *numbers):
        """Checks against an etcd that has these changes."""
        def read(version):
            return commit(version - FIRST, numbers[version - FIRST - 1])["flags"]

        return self.ledger.check(FIRST, FIRST + len(numbers), read)

    def answer(self, statuses):
        self.ledger.answered.update(statuses)

    def test_every_change_is_another(self):
        changes = [flags_of(number) for number in range(CHANGES)]
        self.assertEqual([number_of(flags) for flags in changes], list(range(CHANGES)))
        self.assertEqual(len({repr(sorted((name, *flag.items()) for name, flag in flags.items())) for flags in changes}), CHANGES)
        self.broken("would be like change 0", lambda: flags_of(CHANGES))

    def test_what_is_right(self):
        count = 1_800
        for number in range(count):
            one = commit(number + 1, number)
            self.ledger.receive(one, 100 + number / 20 + 0.25)
            self.ledger.receive(one, 100 + number / 20 + 0.5)
            self.answer({number: 200})
        self.assertIn(f"{count} versions, as etcd has them; 0 changes", self.check(*range(count)))
        times, received = self.ledger.percentiles(range(100))
        self.assertEqual(received, 2 * count)
        self.assertAlmostEqual(times[0], 0.5)
        self.assertAlmostEqual(self.ledger.percentiles([3])[0][3], 0.5)

    def test_where_changes_have_waited(self):
        for number in range(40):
            one = commit(number + 1, number)
            for delay in (0.1, 0.1 + number / 100):
                self.ledger.receive(one, 100 + number / 20 + delay)
            self.answer({number: 200})
            self.ledger.answers[number] = 0.05
        self.check(*range(40))
        parts, status, answer, first, last = self.ledger.stations(range(2))
        for station, expected in zip(parts, ([0.05, 0.05], [0.1, 0.1], [0.3, 0.49])):
            self.assertAlmostEqual(station[0], expected[0])
            self.assertAlmostEqual(station[1], expected[1])
        self.assertEqual((status, answer), (200, 0.05))
        self.assertAlmostEqual(first, 0.1)
        self.assertAlmostEqual(last, 0.49)
        # Only what was due in these seconds.
        self.assertAlmostEqual(self.ledger.stations([0])[4], 0.29)

    def test_changes_that_come_late_and_those_without_an_outcome(self):
        self.receive(commit(1, 1), commit(2, 3), commit(3, 2))
        self.answer({1: 200, 2: 503, 3: 200, 4: 503})
        self.assertIn("2 changes were not answered 200, 1 of them made", self.check(1, 3, 2))

    def test_a_change_that_comes_a_minute_late(self):
        # Whichever change is late, the ledger reads it correctly, and its delay is right.
        for late in range(0, 1_800, 149):
            self.setUp()
            order = [number for number in range(1_800) if number != late] + [late]
            for version, number in enumerate(order, 1):
                self.ledger.receive(commit(version, number), 100 + version / 20)
            self.answer({number: 200 for number in order})
            self.assertIn("1800 versions, as etcd has them; 0 changes", self.check(*order))
            self.assertAlmostEqual(self.ledger.delays[late][0], (1_800 - late) / 20)

    def test_two_servers_that_differ(self):
        self.receive(commit(1, 1))
        self.broken("here and", lambda: self.receive(commit(1, 7)))

    def test_a_change_that_was_lost(self):
        self.receive(commit(1, 1), commit(2, 3))
        self.answer({1: 200, 2: 200, 3: 200})
        self.broken(r"1 changes were answered 200, and are nowhere: \[2\]", lambda: self.check(1, 3))

    def test_a_version_that_every_stream_has_dropped(self):
        numbers = range(1, 1_000)
        self.receive(*(commit(number, number) for number in numbers if number != 2))
        self.answer({number: 200 for number in numbers})
        self.assertIn("1 versions were dropped by every stream", self.check(*numbers))

    def test_a_version_that_etcd_does_not_have(self):
        self.receive(commit(1, 1), commit(2, 2))
        self.broken("show version 4; etcd has 3 to 3", lambda: self.check(1))

    def test_a_version_that_is_another_in_etcd(self):
        self.receive(commit(1, 1), commit(2, 2))
        self.broken("in etcd and", lambda: self.check(1, 8))
        self.setUp()
        self.receive(commit(1, 1), commit(2, 2))
        self.broken("and not in etcd", lambda: self.check(1, 10))

    def test_a_change_that_comes_twice(self):
        self.receive(commit(1, 1), commit(2, 1))
        self.broken("came twice", lambda: self.check(1, 1))

    def test_half_of_a_change(self):
        half = commit(1, 11)
        half["flags"].pop()
        self.receive(half)
        self.broken("no change has made it", lambda: self.ledger.check(FIRST, FIRST + 1, lambda _: half["flags"]))

    def test_two_changes_as_one(self):
        both = commit(1, 10)["flags"] + commit(1, 3)["flags"]
        self.broken("no change has made it", lambda: self.ledger.check(FIRST, FIRST + 1, lambda _: both))


if __name__ == "__main__":
    unittest.main()
