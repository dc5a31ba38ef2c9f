// SPDX-License-Identifier: Apache-2.0
//
// Changes of either side of a pair, which a two-way binding passes on: Binding/Agreement.swift. A
// thread sets one side, under its lock. Then it locks the other side, and decides whether its
// change is later than what the two have agreed upon. If it is, it sets the other side. What it has
// made there is offered back, and refused without a lock.
//
// A side's value is the number of the thread that has set it.
//
//   LEFT, RIGHT  threads that set that side, once each

#ifndef LEFT
#define LEFT 1
#endif
#ifndef RIGHT
#define RIGHT 1
#endif
#define THREADS (LEFT + RIGHT)

#include "Marks.pml"

// The model claims:
hidden byte pairConverges;   // P3: when all have returned, both sides of a pair are alike
hidden byte echoEnds;        // P3: what a pair has made is not news for the other side
hidden byte changesMeet;     // window

byte holder[2];  // 0, or the thread that has the side's lock, plus one
byte value[2];
byte version[2];
byte agreed[2];  // one more than the agreed version
byte decided;    // threads that have decided
byte published;  // threads that have published their own change
byte busy;

#define acquire(side) atomic { holder[side] == 0 -> holder[side] = self + 1 }
#define release(side) holder[side] = 0

// A change of `side` at `seen`: whether the other side takes it. Under the other side's lock. One
// step: the lock of the agreement.
inline decide(side, seen, isTaken) {
  d_step {
    isTaken = agreed[side] <= seen;
    if
    :: isTaken ->
       agreed[side] = seen + 1;
#ifndef A_PAIR_AGREES_ON_ONE_SIDE_ALONE
       agreed[1 - side] = version[1 - side] + 2
#endif
    :: else
    fi
  }
}

proctype setting(byte self; byte side) {
  byte seen;
  bool isTaken;
  acquire(side);
  d_step {
    value[side] = self + 1;
    version[side]++;
    seen = version[side];
    published++
  }
  release(side);
  inject("bind.passing")
#ifdef LOOK_FOR_CHANGES_THAT_MEET
  window(changesMeet, published == 2 && decided == 0);
#endif
#ifdef A_PAIR_DECIDES_OUTSIDE_THE_LOCK
  decide(side, seen, isTaken);
  acquire(1 - side);
#else
  acquire(1 - side);
  decide(side, seen, isTaken);
#endif
  d_step {
    decided++;
    if
    :: isTaken ->
       value[1 - side] = self + 1;
       version[1 - side]++;
       seen = version[1 - side]
    :: else
    fi
  }
  release(1 - side);
  // Offered back, at any time later.
  claim(echoEnds, !isTaken || agreed[1 - side] > seen);
  d_step { seen = 0; isTaken = false };
  busy--
}

init {
  byte each;
  atomic {
    busy = THREADS;
    // The binding has begun: version 0 of both sides is agreed.
    agreed[0] = 1;
    agreed[1] = 1;
    do
    :: each < LEFT -> run setting(each, 0); each++
    :: else -> break
    od;
    do
    :: each < THREADS -> run setting(each, 1); each++
    :: else -> break
    od;
    each = 0
  }
  busy == 0;
  claim(pairConverges, value[0] == value[1])
}
