#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the changes that a fleet's streams show with the changes that were made."""

import time
from array import array
from collections import Counter

from streams import Broken, SocketStream, decode

NAMES = ["new-checkout", "search-suggestions", "dark-mode", "bulk-export", "maintenance"]
# The number of values that a flag can have.
VALUES = 202
# The number of changes that differ. At 20 a second they last for more than three minutes.
CHANGES = 10 * 2 * VALUES


def flags_of(number):
    """Returns the flags that change `number` sets, by name. No other change sets the same. Every tenth change sets one of the last two flags, the one
    after the other; the others set two of the first three as one commit."""
    if number >= CHANGES:
        raise Broken(f"change {number} would be like change {number - CHANGES}")
    if number % 10 == 0:
        count = number // 10
        return {NAMES[3 + count % 2]: value(count // 2)}
    return {NAMES[number % 3]: value(number % VALUES), NAMES[(number + 1) % 3]: value(number // VALUES)}


def value(code):
    return {"enabled": code > 100, "rollout": code % 101}


def code(flag):
    return flag["rollout"] + 101 * flag["enabled"]


def number_of(flags):
    """The change that sets this, by name; None if none does."""
    names = list(flags)
    if len(names) == 1:
        numbers = [10 * (2 * code(flags[name]) + NAMES.index(name) - 3) for name in names]
    elif len(names) == 2:
        numbers = [code(flags[low]) + VALUES * code(flags[high]) for low, high in (names, names[::-1])]
    else:
        return None
    return next((number for number in numbers if 0 <= number < CHANGES and flags_of(number) == flags), None)


class Ledger:
    """The changes of all streams of all servers. A version is etcd's revision, and so the same change everywhere. Which change it is says etcd, at the
    end; until then a stream's events are compared with those of the others."""

    def __init__(self, rate):
        self.rate = rate
        self.begin = None  # when change 0 was due
        self.answered = {}  # by number: the status of its answer
        self.answers = {}  # by number: how long after it was due it was answered, in seconds
        self.known = {}  # by version and name: the flag as the streams show it
        self.arrivals = {}  # by version: when each stream had it
        self.is_open = True
        # By event: the version, the number of dropped changes before it, the flags, the derived
        # flags, and the arrivals of the version.
        self.whole = {}
        # By number of the change: the seconds after which each stream had it. Filled by the check.
        self.delays = {}

    def due(self, number):
        return self.begin + number / self.rate

    def close(self):
        """Ignores all commits that arrive from now on."""
        self.is_open = False
        self.whole.clear()

    def receive(self, commit, now):
        if not self.is_open:
            return
        for flag in commit["flags"]:
            key = flag["version"], flag["name"]
            if (known := self.known.setdefault(key, flag)) != flag:
                raise Broken(f"version {key[0]} of {key[1]} is {flag} here and {known} there")
        # With those of a version that the stream has dropped.
        for version in {flag["version"] for flag in commit["flags"]}:
            self.arrivals.setdefault(version, array("d")).append(now)

    def keep(self, event, commit):
        """An event that has come to a stream, and whose checks have passed."""
        if self.is_open and all(flag["version"] == commit["version"] for flag in commit["flags"]):
            flags = {flag["name"]: flag for flag in commit["flags"]}
            derived = {flag["name"]: flag["enabled"] for flag in commit["derived"]}
            self.whole[event] = commit["version"], commit["dropped"], flags, derived, self.arrivals[commit["version"]]

    def check(self, first, last, read):
        """Every version is what etcd has of it, every change that was answered 200 is one, and none is two.

        - first: The version before the first change.
        - read: What etcd has of a version, as the streams show flags. A version that every stream has counted as dropped is only there.
        """
        versions, numbers = range(first + 1, last + 1), Counter()
        if beyond := sorted(set(self.arrivals) - set(versions)):
            raise Broken(f"the streams show version {beyond[0]}; etcd has {first + 1} to {last}")
        for version in versions:
            kept = {flag["name"]: flag for flag in read(version)}
            for name, flag in kept.items():
                if (known := self.known.get((version, name), flag)) != flag:
                    raise Broken(f"version {version} of {name} is {flag} in etcd and {known} in the streams")
            if more := [name for name in NAMES if (version, name) in self.known and name not in kept]:
                raise Broken(f"version {version} changes {more} in the streams, and not in etcd")
            number = number_of({name: {"enabled": flag["enabled"], "rollout": flag["rollout"]} for name, flag in kept.items()})
            if number is None:
                raise Broken(f"version {version} is {kept} in etcd: no change has made it")
            numbers[number] += 1
            self.delays[number] = [time - self.due(number) for time in self.arrivals.get(version, [])]
        missing = sum(1 for version in versions if version not in self.arrivals)
        if twice := [number for number, count in numbers.items() if count > 1]:
            raise Broken(f"{len(twice)} changes came twice: {twice[:5]}")
        if lost := [number for number, status in self.answered.items() if status == 200 and number not in numbers]:
            raise Broken(f"{len(lost)} changes were answered 200, and are nowhere: {lost[:5]}")
        unknown = sum(1 for number in numbers if self.answered.get(number) != 200)
        refused = sum(1 for status in self.answered.values() if status != 200)
        return (f"{len(versions)} versions, as etcd has them; {refused} changes were not answered 200, {unknown} of them made nevertheless; "
                f"{missing} versions were dropped by every stream")

    def due_in(self, seconds):
        """The numbers of the changes that were due in these seconds and came to a stream."""
        return [number for second in seconds for number in range(second * self.rate, (second + 1) * self.rate) if self.delays.get(number)]

    def percentiles(self, seconds):
        """The median, 99 and 99.9 of 100, and the longest, of what was due in these seconds; and of how many."""
        delays = [delay for number in self.due_in(seconds) for delay in self.delays[number]]
        return (percentiles(delays), len(delays)) if delays else None

    def stations(self, seconds):
        """Where the changes of these seconds were when: the percentiles of the answers, of the first stream and of the last; and the same of
        the one change that was the longest on its way, with its answer's status. Every change has been answered."""
        numbers = self.due_in(seconds)
        stations = [[self.answers[number] for number in numbers],
                    [min(self.delays[number]) for number in numbers], [max(self.delays[number]) for number in numbers]]
        longest = max(numbers, key=lambda number: max(self.delays[number]))
        return ([percentiles(times) for times in stations], self.answered[longest], self.answers[longest],
                min(self.delays[longest]), max(self.delays[longest]))


def percentiles(times):
    """The median, 99 and 99.9 of 100, and the longest."""
    times = sorted(times)
    return [times[min(len(times) - 1, int(len(times) * part))] for part in (0.5, 0.99, 0.999, 1)]


class FleetStream(SocketStream):
    """A client whose changes are in a ledger."""

    def __init__(self, name, address, ledger):
        super().__init__(name, address)
        self.ledger = ledger
        self.now = None

    def read(self):
        self.now = time.monotonic()
        super().read()

    def handle(self, event):
        # Nearly every event is the one after the last, and another stream has received it: it is
        # known to be right.
        version, dropped, flags, derived, arrivals = self.ledger.whole.get(event, (None,) * 5)
        if version is None or version - 1 != self.version or dropped != self.dropped or self.ended:
            super().handle(event)
            if event.startswith(b"event: change"):
                self.ledger.keep(event, decode(event)[1])
            return
        self.version = version
        self.events += 1
        self.flags.update(flags)
        self.derived = derived
        arrivals.append(self.now)

    def change(self, commit):
        super().change(commit)
        self.ledger.receive(commit, self.now)
