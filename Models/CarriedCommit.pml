// SPDX-License-Identifier: Apache-2.0
//
// Commits of either sides of two pairs, which bindings in both directions carry across: Transaction/CarriedCommit.swift, with
// Binding/Agreement.swift. A thread commits both properties of one side, under their locks. Then it locks those of the other side, decides
// for each pair whether its change is later than what the two have agreed upon, with no other decision in between, and publishes what is
// left as one. What it has made there is offered back, and refused without a lock.
//
// A property's value is the number of the thread that has set it. The locks of a side are taken in the order of their addresses.
//
//   LEFT, RIGHT  threads that commit the properties of that side, once each
//   SETTERS      threads that set the first left property alone, once each

#ifndef LEFT
#define LEFT 1
#endif
#ifndef RIGHT
#define RIGHT 1
#endif
#ifndef SETTERS
#define SETTERS 0
#endif
#define THREADS (LEFT + RIGHT + SETTERS)

#include "Marks.pml"

// What is claimed.
hidden byte changesAsOne;    // P21: both properties of a side change together
hidden byte pairConverges;   // P3: when all have returned, both sides of a pair are alike
hidden byte echoEnds;        // P3: what a pair has made is not news for the other side
hidden byte twoCommitsMeet;  // window

#define FIRST 0
#define SECOND 1
#define at(side, pair) (2 * (side) + (pair))

byte holder[4];  // 0, or the thread that has the property's lock, plus one
byte value[4];
byte version[4];
byte agreed[4];  // one more than the agreed version
byte decider;    // 0, or the thread that has the lock of the decisions, plus one
byte decided;    // threads that have decided
byte published;  // threads that have published their own change
byte busy;

#define acquire(property) atomic { holder[property] == 0 -> holder[property] = self + 1 }
#define release(property) holder[property] = 0

// A change of `side` at `seen`: whether the other side takes it. Under the other side's lock. One step: the lock of the agreement.
inline decide(side, pair, seen, isTaken) {
  inject("carry.deciding")
  d_step {
    isTaken = agreed[at(side, pair)] <= seen;
    if
    :: isTaken ->
       agreed[at(side, pair)] = seen + 1;
#ifndef A_PAIR_AGREES_ON_ONE_SIDE_ALONE
       agreed[at(1 - side, pair)] = version[at(1 - side, pair)] + 2
#endif
    :: else
    fi
  }
}

proctype committing(byte self; byte side) {
  byte seen[2];
  bool taken[2];
  acquire(at(side, FIRST));
  acquire(at(side, SECOND));
  d_step {
    value[at(side, FIRST)] = self + 1;
    value[at(side, SECOND)] = self + 1;
    version[at(side, FIRST)]++;
    version[at(side, SECOND)]++;
    seen[FIRST] = version[at(side, FIRST)];
    seen[SECOND] = version[at(side, SECOND)];
    published++
  }
  release(at(side, FIRST));
  release(at(side, SECOND));
  inject("carry.gathered")
#ifdef LOOK_FOR_COMMITS_THAT_MEET
  window(twoCommitsMeet, published == 2 && decided == 0);
#endif
#ifdef DESTINATIONS_ARE_LOCKED_BY_BINDING
  acquire(at(1 - side, SECOND));
  acquire(at(1 - side, FIRST));
#else
  acquire(at(1 - side, FIRST));
  acquire(at(1 - side, SECOND));
#endif
#ifndef A_COMMIT_IS_AGREED_UPON_PAIR_BY_PAIR
  atomic { decider == 0 -> decider = self + 1 };
#endif
  decide(side, FIRST, seen[FIRST], taken[FIRST]);
  decide(side, SECOND, seen[SECOND], taken[SECOND]);
#ifndef A_COMMIT_IS_AGREED_UPON_PAIR_BY_PAIR
  decider = 0;
#endif
  d_step {
    decided++;
    if
    :: taken[FIRST] ->
       value[at(1 - side, FIRST)] = self + 1;
       version[at(1 - side, FIRST)]++;
       seen[FIRST] = version[at(1 - side, FIRST)]
    :: else
    fi;
    if
    :: taken[SECOND] ->
       value[at(1 - side, SECOND)] = self + 1;
       version[at(1 - side, SECOND)]++;
       seen[SECOND] = version[at(1 - side, SECOND)]
    :: else
    fi;
    claim(changesAsOne, SETTERS > 0 || value[at(1 - side, FIRST)] == value[at(1 - side, SECOND)])
  }
  release(at(1 - side, FIRST));
  release(at(1 - side, SECOND));
  // Offered back, at any time later.
  claim(echoEnds, !taken[FIRST] || agreed[at(1 - side, FIRST)] > seen[FIRST]);
  claim(echoEnds, !taken[SECOND] || agreed[at(1 - side, SECOND)] > seen[SECOND]);
  d_step { seen[FIRST] = 0; seen[SECOND] = 0; taken[FIRST] = false; taken[SECOND] = false };
  busy--
}

// A plain change of the first left property, which its binding passes on by itself.
proctype setting(byte self) {
  byte seen;
  bool taken;
  acquire(at(0, FIRST));
  d_step {
    value[at(0, FIRST)] = self + 1;
    version[at(0, FIRST)]++;
    seen = version[at(0, FIRST)]
  }
  release(at(0, FIRST));
  inject("bind.passing")
  acquire(at(1, FIRST));
  decide(0, FIRST, seen, taken);
  d_step {
    if
    :: taken -> value[at(1, FIRST)] = self + 1; version[at(1, FIRST)]++
    :: else
    fi;
    seen = 0;
    taken = false
  }
  release(at(1, FIRST));
  busy--
}

init {
  byte each;
  atomic {
    busy = THREADS;
    // The bindings have begun: version 0 of both sides is agreed.
    do
    :: each < 4 -> agreed[each] = 1; each++
    :: else -> break
    od;
    each = 0;
    do
    :: each < LEFT -> run committing(each, 0); each++
    :: else -> break
    od;
    do
    :: each < LEFT + RIGHT -> run committing(each, 1); each++
    :: else -> break
    od;
    do
    :: each < THREADS -> run setting(each); each++
    :: else -> break
    od;
    each = 0
  }
  busy == 0;
  claim(pairConverges, value[at(0, FIRST)] == value[at(1, FIRST)] && value[at(0, SECOND)] == value[at(1, SECOND)]);
  claim(changesAsOne, SETTERS > 0 || value[at(0, FIRST)] == value[at(0, SECOND)])
}
