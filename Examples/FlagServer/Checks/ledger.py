#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a fleet's streams show, against the changes that were made."""

import time
from array import array
from collections import Counter

from streams import Broken, SocketStream, decode

NAMES = ["new-checkout", "search-suggestions", "dark-mode", "bulk-export", "maintenance"]
# So many values differ, before they come again.
VALUES = 202


def flags_of(number):
    """What change `number` sets, by name: one flag, or every tenth time two as one commit. The value gives its number among so many."""
    code = number % VALUES
    flag = {"enabled": code > 100, "rollout": code % 101}
    names = [NAMES[(number + n) % len(NAMES)] for n in range(2 if number % 10 == 0 else 1)]
    return {name: flag for name in names}


class Ledger:
    """The changes of all streams of all servers. Every server numbers the revisions from the same beginning, so a version is the same change
    everywhere: it is identified once, and compared from then on."""

    def __init__(self, rate):
        self.rate = rate
        self.begin = None  # when change 0 was due
        self.answered = {}  # by number: the status of its answer
        self.answers = {}  # by number: how long after it was due it was answered, in seconds
        self.known = {}  # by version and name: the flag as the streams show it, its delays, when it was due
        self.numbers = {}  # by version: the change's number
        self.ahead = 0  # how much larger than its version a change's number was at most: so many changes before it were not made, or wait
        self.is_open = True
        self.whole = {}  # by event: its version, what was dropped before it, its flags, and their delays with when they were due
        self.delays = {}  # by number: how long after it was due each stream had it, in seconds

    def due(self, number):
        return self.begin + number / self.rate

    def close(self):
        """What comes from now on is not looked at."""
        self.is_open = False
        self.whole.clear()

    def receive(self, commit, now):
        if not self.is_open:
            return
        names = {flag["name"] for flag in commit["flags"] if flag["version"] == commit["version"]}
        for flag in commit["flags"]:
            key = flag["version"], flag["name"]
            # Of an older version a later one may have replaced a part.
            known = self.known.get(key) or self.identify(key, flag, names if key[0] == commit["version"] else None)
            if known[0] != flag:
                raise Broken(f"version {key[0]} of {key[1]} is {flag} here and {known[0]} there")
            known[1].append(now - known[2])

    def keep(self, event, commit):
        """An event that has come to a stream, and whose checks have passed."""
        if self.is_open and all(flag["version"] == commit["version"] for flag in commit["flags"]):
            known = [self.known[commit["version"], flag["name"]] for flag in commit["flags"]]
            flags = {flag["name"]: flag for flag in commit["flags"]}
            self.whole[event] = commit["version"], commit["dropped"], flags, [entry[1:] for entry in known]

    def identify(self, key, flag, names):
        """- names: Of the flags that the version has changed, if they are known."""
        version, name = key
        code = flag["rollout"] + 101 * flag["enabled"]
        # The one nearest to where the versions lead: changes come about in the order in which they were due, but for those that wait. One that has
        # waited leads nowhere.
        near = version + self.ahead
        around = near // VALUES
        candidates = [code + VALUES * n for n in range(max(0, around - 5), around + 6)]
        value = {"enabled": flag["enabled"], "rollout": flag["rollout"]}
        candidates = [number for number in candidates if flags_of(number).get(name) == value]
        candidates = [number for number in candidates if set(flags_of(number)) == names] or candidates
        number = min(candidates, key=lambda number: abs(number - near), default=None)
        if number is None:
            raise Broken(f"version {version} of {name} is {flag}: no change has made it")
        if self.numbers.setdefault(version, number) != number:
            raise Broken(f"version {version} is of the changes {number} and {self.numbers[version]}")
        self.ahead = max(self.ahead, number - version)
        self.known[key] = flag, self.delays.setdefault(number, array("d")), self.due(number)
        return self.known[key]

    def check(self, last, read):
        """Every version is what etcd has of it, every change that was answered 200 is one, and none is two.

        - read: What etcd has of a version, as the streams show flags. A version that every stream has counted as dropped is only there.
        """
        missing = sum(1 for version in range(1, last + 1) if version not in self.numbers)
        for version in range(1, last + 1):
            kept = read(version)
            names = {flag["name"] for flag in kept}
            for flag in kept:
                known = self.known.get((version, flag["name"])) or self.identify((version, flag["name"]), flag, names)
                if known[0] != flag:
                    raise Broken(f"version {version} of {flag['name']} is {flag} in etcd and {known[0]} in the streams")
            if not kept or {flag["name"] for flag in kept} != set(flags_of(self.numbers[version])):
                raise Broken(f"version {version} is {kept} in etcd: not one change")
        shown = Counter(self.numbers.values())
        if len(self.numbers) != last:
            raise Broken(f"the streams show {len(self.numbers)} versions, etcd has {last}")
        if twice := [number for number, count in shown.items() if count > 1]:
            raise Broken(f"{len(twice)} changes came twice: {twice[:5]}")
        if lost := [number for number, status in self.answered.items() if status == 200 and number not in shown]:
            raise Broken(f"{len(lost)} changes were answered 200, and are nowhere: {lost[:5]}")
        unknown = sum(1 for number in shown if self.answered.get(number) != 200)
        refused = sum(1 for status in self.answered.values() if status != 200)
        return (f"{last} versions, as etcd has them; {refused} changes were not answered 200, {unknown} of them made nevertheless; "
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
        # Nearly every event is the one after the last, and another stream has received it: it is known to be right.
        version, dropped, flags, delays = self.ledger.whole.get(event, (None, None, None, None))
        if version is None or version - 1 != self.version or dropped != self.dropped or self.ended:
            super().handle(event)
            if event.startswith(b"event: change"):
                self.ledger.keep(event, decode(event)[1])
            return
        self.version = version
        self.events += 1
        self.flags.update(flags)
        for times, due in delays:
            times.append(self.now - due)

    def change(self, commit):
        super().change(commit)
        self.ledger.receive(commit, self.now)
